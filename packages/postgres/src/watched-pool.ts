import { currentCourse, during } from '@keystead/tracing';
import pg from 'pg';
import { watchForStandby } from './standby';

type Query = (...args: unknown[]) => unknown;

/**
 * Records, for watched callers, how long they waited for a connection and how long each statement took. A statement is
 * labelled by its name, or by its first word and its table, never by a value. Unwatched work costs nothing extra.
 */
export function watchPool(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as Query;
  const query = pool.query.bind(pool) as Query;
  pool.connect = ((...args: unknown[]) => {
    if (args.length > 0 || currentCourse() === undefined) return connect(...args);
    return during('waiting', 'connection', undefined, () => connect() as Promise<pg.PoolClient>);
  }) as pg.Pool['connect'];
  pool.query = ((...args: unknown[]) => {
    if (typeof args.at(-1) === 'function' || currentCourse() === undefined) return query(...args);
    return queryOn(pool, args);
  }) as pg.Pool['query'];
}

/**
 * Runs the pool's own query. Does not use the pool's callbacks, because they run in the context of the caller that
 * returned the connection.
 */
async function queryOn(pool: pg.Pool, args: unknown[]): Promise<unknown> {
  const client = await pool.connect();
  try {
    const result = await (client.query as Query)(...args);
    client.release();
    return result;
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
}

/** A read-only connection to any server. Its statements are recorded like those of its pool. */
export class ReadingClient extends pg.Client {}
ReadingClient.prototype.query = function (this: ReadingClient, ...args: unknown[]) {
  const query = () => (pg.Client.prototype.query as Query).apply(this, args);
  if (typeof args.at(-1) === 'function' || isSubmittable(args[0]) || currentCourse() === undefined) return query();
  const attributes = { 'db.system.name': 'postgresql' };
  return during('database', nameOf(args[0]), attributes, () => query() as Promise<unknown>);
} as pg.Client['query'];

/** A `ReadingClient` that also records whether its server is a standby. */
export class WatchedClient extends ReadingClient {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    watchForStandby(this);
  }
}

const isSubmittable = (statement: unknown): boolean =>
  typeof (statement as { submit?: unknown } | null)?.submit === 'function';

const table = /\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:"?\w+"?\.)?"?([a-z_]\w*)"?/i;
const verb = /[A-Za-z]+/;

/** The name of a statement, or only its verb and table. */
function nameOf(statement: unknown): string {
  const { name, text } =
    typeof statement === 'string'
      ? { name: undefined, text: statement }
      : (statement as { name?: string; text: string });
  if (name !== undefined) return name;
  const word = verb.exec(text)?.[0].toUpperCase() ?? 'statement';
  const of = table.exec(text)?.[1];
  return of === undefined ? word : `${word} ${of}`;
}
