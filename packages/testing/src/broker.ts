/**
 * The environment variable with the location of a test run's PostgreSQL. The global set-up sets it, and Jest's workers
 * inherit it.
 */
export const BROKER_VARIABLE = 'KEYSTEAD_TEST_BROKER';

export type Service = 'secrets' | 'workspaces';

/** The keeper's answer about its server and one service's template database. */
export interface Ready {
  /** Connection string of the maintenance database. */
  adminUrl: string;
  /** The owner of this run's databases, with no other rights, like a customer's role on a managed server. */
  owner: { readonly name: string; readonly password: string };
  /** The migrated database to clone; absent when no service was requested. */
  template?: string;
  /** The prefix of all databases of this run, which are removed at its end. */
  prefix: string;
  /** The server's files and its log, when the run has its own server. */
  dataDir?: string;
  logFile?: string;
  /** The folder of the server's socket, when the tests use the socket instead of the port. */
  socketFolder?: string;
}

type Served = Pick<Ready, 'adminUrl' | 'owner' | 'socketFolder'>;

/** The keeper's answer if the work failed. */
export interface Failed {
  error: string;
}

/**
 * The connection string of a database of this run, as its owner. It contains the server's port even if it leads to the
 * socket.
 */
export function ownersUrl({ adminUrl, owner, socketFolder }: Served, database: string): string {
  const url = new URL(adminUrl);
  if (socketFolder !== undefined) url.searchParams.set('host', socketFolder);
  url.pathname = `/${database}`;
  url.username = owner.name;
  url.password = owner.password;
  return url.href;
}
