import { isConnectionLoss, isStalePlan, withFreshPlan } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import type pg from 'pg';
import type { Tx } from './types';

/** A statement prepared once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Told how long statements took, for the metrics. */
export type ObserveStorage = (operation: 'read' | 'commit' | 'list', seconds: number) => void;

// Text with a character that PostgreSQL keeps in no text (zero) or in no JSON (half of a surrogate pair).
const UNSTORABLE = new Set(['22021', '22P05']);
const OUT_OF_RANGE = '22003';
/** A statement that took longer than statements may, most likely because it waited for others. */
const TOO_LONG = '57014';
const AGAIN = new Set(['40001', '40P01']);
/** Longest time in which a transaction is run again; by then its callers are about to leave. */
const PATIENCE_MS = 30_000;
const LONGEST_PAUSE_MS = 200;

/** True when the same transaction may succeed if it is run once more. */
export const isSerializationFailure = (error: unknown): boolean =>
  AGAIN.has((error as { code?: string }).code ?? '') || isStalePlan(error);

/**
 * The pool, with lost connections turned into refusals (callers are told to come back, and nothing crashes), and so
 * what the database cannot hold.
 */
export class Database {
  /** Set by the storage: knows rows that were sealed under keys this node does not have yet, and reads those keys. */
  newerKeys: NewerKeys | undefined;

  constructor(readonly pool: pg.Pool) {}

  async query<R extends pg.QueryResultRow>(
    statement: string | Statement,
    values: readonly unknown[] = [],
  ): Promise<pg.QueryResult<R>> {
    let result: pg.QueryResult<R>;
    try {
      result = await withFreshPlan(() => this.pool.query<R>(config(statement, values)));
    } catch (error) {
      throw refusalFor(error);
    }
    if (this.newerKeys?.under(result.rows)) await this.newerKeys.read();
    return result;
  }

  /**
   * Runs in one transaction; runs again after a deadlock or a serialization failure, and when it came upon rows sealed
   * under keys that this node had to read first.
   */
  async transaction<T>(run: (tx: Tx) => Promise<T>): Promise<T> {
    let watched = this.newerKeys;
    const untilMs = performance.now() + PATIENCE_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(run, watched);
      } catch (error) {
        if (error instanceof SealedUnderNewer) {
          // Outside the transaction: reading them takes a connection, too.
          await this.newerKeys?.read();
          watched = undefined;
          continue;
        }
        if (!isSerializationFailure(error)) throw refusalFor(error);
        if (performance.now() >= untilMs) throw busy(error);
        const pauseMs = Math.min(10 * attempt, LONGEST_PAUSE_MS);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMs));
      }
    }
  }

  private async once<T>(run: (tx: Tx) => Promise<T>, newerKeys: NewerKeys | undefined): Promise<T> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    // While checked out, the pool does not listen for errors of the connection.
    const onError = (error: Error) => {
      broken = error;
    };
    client.on('error', onError);
    try {
      await client.query('BEGIN');
      const result = await run({
        query: async (statement, values = []) => {
          const answer = await client.query(config(statement, values));
          if (newerKeys?.under(answer.rows)) throw new SealedUnderNewer();
          return answer;
        },
      });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      if (isConnectionLoss(error) || isStalePlan(error)) broken = error as Error;
      else await client.query('ROLLBACK').catch((failure: Error) => (broken = failure));
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }
}

/** Keys that another node has taken into use. */
export interface NewerKeys {
  /** True when one of the rows was sealed under such a key. */
  under(rows: readonly pg.QueryResultRow[]): boolean;
  /** Gets them. */
  read(): Promise<unknown>;
}

/** A transaction came upon rows that this node can only open with keys it has yet to read. */
class SealedUnderNewer extends Error {
  override readonly name = 'SealedUnderNewer';
}

function config(statement: string | Statement, values: readonly unknown[]): pg.QueryConfig {
  return typeof statement === 'string'
    ? { text: statement, values: values as unknown[] }
    : { name: statement.name, text: statement.text, values: values as unknown[] };
}

const busy = (cause: unknown): Refusal => new Refusal('unavailable', 'storage is busy; try again', [], { cause });

const isUnstorable = ({ code, message }: { code?: string; message?: string }): boolean =>
  UNSTORABLE.has(code ?? '') || (code === '22P02' && /for type json/.test(message ?? ''));

function refusalFor(error: unknown): unknown {
  if (isUnstorable(error as Error)) {
    return new Refusal('invalid', 'text holds a character that cannot be stored', [], { cause: error });
  }
  if ((error as { code?: string }).code === OUT_OF_RANGE) {
    return new Refusal('invalid', 'a number is out of range', [], { cause: error });
  }
  if ((error as { code?: string }).code === TOO_LONG) return busy(error);
  if (!isConnectionLoss(error)) return error;
  return new Refusal('unavailable', 'storage is unavailable', [], { cause: error });
}
