import pg from 'pg';
import { isStandby, ReadOnlyServer } from './standby';
import { ReadingClient, WatchedClient, watchPool } from './watched-pool';

export interface PoolOptions {
  url: string;
  /** The maximum number of connections; default 10. */
  max?: number;
  /** Shown by the server in its list of connections. */
  applicationName?: string;
  /** The longest a statement may run; default 30 s, 0 for no limit. */
  statementSeconds?: number;
  /**
   * Pipelining: statements are sent without waiting for earlier ones. Use it for reads, and for statements that are
   * sent together.
   */
  pipeline?: boolean;
  /**
   * Named statements use a generic plan. Use it for look-ups by a list of keys. Otherwise the server plans them again
   * each time, because it estimates a higher cost for an unknown list than for a known one.
   */
  planOnce?: boolean;
  /**
   * Tables are read through their indexes. Use it for look-ups by key. A plan that was made while a table was almost
   * empty may read the whole table, and PostgreSQL keeps such a plan until it has analysed the table again.
   */
  throughIndexes?: boolean;
  /** Its connections are read-only and may lead to a standby, which other pools refuse. */
  standby?: boolean;
  /** Called when an idle connection breaks, for example when the server restarts. */
  onIdleError?: (error: Error) => void;
}

/**
 * How long to wait for the server's own report after a statement's time limit. The server cancels a slow statement
 * itself. If it does not report this in time, it will not answer at all.
 */
const ANSWER_MS = 5000;

/**
 * A pool of connections with limits on waiting and running. `int8` stays a string. A broken idle connection is replaced
 * at the next use, so the service survives a restart of its database. A connection is also replaced if its server does
 * not even report a timeout, for example because the network drops packets. A connection to a standby is refused unless
 * `standby` is set, because its answers may be outdated.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const statementMs = (options.statementSeconds ?? 30) * 1000;
  const settings = settingsOf(options);
  const pool = new pg.Pool({
    Client: options.standby ? ReadingClient : WatchedClient,
    connectionString: options.url,
    max: options.max ?? 10,
    application_name: options.applicationName ?? 'keystead',
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementMs,
    query_timeout: statementMs > 0 ? statementMs + ANSWER_MS : undefined,
    keepAlive: true,
    verify(client, callback) {
      if (!options.standby && isStandby(client)) callback(new ReadOnlyServer());
      else if (settings === '') callback();
      else client.query(settings, (error) => callback(error ?? undefined));
    },
    pipeline: options.pipeline ?? false,
  });
  watchPool(pool);
  // Without a listener, a broken connection would end the process if it is idle or checked out between two statements;
  // its user gets the error from the next statement.
  pool.on('error', (error) => options.onIdleError?.(error));
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * The server settings of each connection, as statements, because a pool in front of the server may ignore start-up
 * options.
 */
function settingsOf({ planOnce, throughIndexes, standby }: PoolOptions): string {
  const settings = [
    ...(planOnce ? ['plan_cache_mode = force_generic_plan'] : []),
    // If no index fits, PostgreSQL 15 to 17 estimate such a high cost for the plan that they would compile it first.
    ...(throughIndexes ? ['enable_seqscan = off', 'jit = off'] : []),
    // On a primary and on a standby.
    ...(standby ? ['default_transaction_read_only = on'] : []),
  ];
  return settings.map((setting) => `SET ${setting}`).join('; ');
}
