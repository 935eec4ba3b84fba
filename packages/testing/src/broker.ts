/** Tells a test run's processes where its PostgreSQL is; set by the global set-up, inherited by Jest's workers. */
export const BROKER_VARIABLE = 'KEYSTEAD_TEST_BROKER';

export type Service = 'secrets' | 'workspaces';

/** What the keeper tells about its server and about one service's template database. */
export interface Ready {
  /** Connection string of the maintenance database. */
  adminUrl: string;
  /** Who owns the databases of this run, and may do nothing beyond them: what a managed server gives to its customers. */
  owner: { readonly name: string; readonly password: string };
  /** The migrated database to clone; absent when no service was asked for. */
  template?: string;
  /** All databases of this run begin with it and go away at its end. */
  prefix: string;
  /** The server's files and its log, when the run has its own server. */
  dataDir?: string;
  logFile?: string;
}

/** What the keeper prints when the work that was asked for failed. */
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
