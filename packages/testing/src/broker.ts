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
}

/** The keeper's answer if the work failed. */
export interface Failed {
  error: string;
}

/** The connection string of a database of this run, as its owner. */
export function ownersUrl(adminUrl: string, database: string, owner: Ready['owner']): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  url.username = owner.name;
  url.password = owner.password;
  return url.href;
}
