import pg from 'pg';

export interface PoolOptions {
  url: string;
  /** Connections at most; 10 unless told. */
  max?: number;
  /** Shown by the server in its list of connections. */
  applicationName?: string;
  /** The longest a statement may run; 30 s unless told, 0 for no limit. */
  statementSeconds?: number;
  /** Statements are sent without waiting for those before them; for reads alone. */
  pipeline?: boolean;
  /** Told when a connection that nobody uses breaks, for example at a restart of the server. */
  onIdleError?: (error: Error) => void;
}

/**
 * A pool of connections with limits on waiting and running. `int8` stays a string. A broken idle connection is
 * dropped and replaced at the next use, so that the service outlives a restart of its database.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max ?? 10,
    application_name: options.applicationName ?? 'keystead',
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: (options.statementSeconds ?? 30) * 1000,
    keepAlive: true,
    pipeline: options.pipeline ?? false,
  });
  // Without a listener a broken idle connection would end the process.
  pool.on('error', (error) => options.onIdleError?.(error));
  return pool;
}
