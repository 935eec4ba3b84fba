import { isConnectionLoss, isReadOnlyServer, isStalePlan, withByteArrays, withFreshPlan } from '@keystead/postgres';
import { PrimaryNeeded, Refusal } from '@keystead/refusal';
import type pg from 'pg';
import type { PrismaClient } from '../../generated/prisma/client';
import { PrismaOnOurs } from './prisma';
import type { Tx } from './types';

/** A statement prepared once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Called with the time of each statement, for the metrics. */
export type ObserveStorage = (operation: 'read' | 'commit' | 'list', seconds: number) => void;

// Text with a character that PostgreSQL cannot store in text (NUL) or in JSON (an unpaired surrogate).
const UNSTORABLE = new Set(['22021', '22P05']);
const OUT_OF_RANGE = '22003';
/** The code of a statement that exceeded the time limit, most likely because it waited for other statements. */
const TOO_LONG = '57014';
const AGAIN = new Set(['40001', '40P01']);
/** How long a transaction is retried. After this time its callers give up soon. */
const PATIENCE_MS = 30_000;
const LONGEST_PAUSE_MS = 200;

/** True if the same transaction may succeed when it is repeated. */
const isSerializationFailure = (error: unknown): boolean =>
  AGAIN.has((error as { code?: string }).code ?? '') || isStalePlan(error);

/**
 * The connection pool. Lost connections become refusals that tell callers to retry, so nothing crashes; values that the
 * database cannot store become refusals, too.
 */
export class Database {
  /** Set by the storage: recognises rows sealed under keys that this node does not have yet, and reads those keys. */
  newerKeys: NewerKeys | undefined;
  /**
   * For queries that need not be fast. Inside a transaction use `prisma` of `Tx`. Writes of several statements need a
   * transaction.
   */
  readonly prisma: PrismaClient;
  private readonly ours: PrismaOnOurs;

  /** `readsOnly` means that this node never writes. */
  constructor(
    readonly pool: pg.Pool,
    private readonly options: { readonly readsOnly?: boolean } = {},
  ) {
    this.ours = new PrismaOnOurs((statement) => this.send(statement));
    this.prisma = this.ours.outside((error) => this.refusalFor(error));
  }

  async query<R extends pg.QueryResultRow>(
    statement: string | Statement,
    values: readonly unknown[] = [],
  ): Promise<pg.QueryResult<R>> {
    try {
      return await this.send<R>(config(statement, values));
    } catch (error) {
      throw this.refusalFor(error);
    }
  }

  private async send<R extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<R>> {
    const result = await withFreshPlan(() => this.pool.query<R>(statement));
    if (this.newerKeys?.under(sealedOf(result))) await this.newerKeys.read();
    return result;
  }

  /**
   * Runs in one transaction. It is repeated after a deadlock or a serialization failure, and if this node had to read
   * the keys of some rows first.
   */
  async transaction<T>(run: (tx: Tx) => Promise<T>): Promise<T> {
    let watched = this.newerKeys;
    const untilMs = performance.now() + PATIENCE_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(run, watched);
      } catch (error) {
        if (error instanceof SealedUnderNewer) {
          // The keys are read outside the transaction, because reading them also takes a connection.
          await this.newerKeys?.read();
          watched = undefined;
          continue;
        }
        if (!isSerializationFailure(error)) throw this.refusalFor(error);
        if (performance.now() >= untilMs) throw busy(error);
        const pauseMs = Math.min(10 * attempt, LONGEST_PAUSE_MS);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMs));
      }
    }
  }

  private refusalFor(error: unknown): unknown {
    return this.options.readsOnly && isReadOnlyServer(error) ? new PrimaryNeeded() : refusalFor(error);
  }

  private async once<T>(run: (tx: Tx) => Promise<T>, newerKeys: NewerKeys | undefined): Promise<T> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    // The pool does not listen for errors of a connection while it is checked out.
    const onError = (error: Error) => {
      broken = error;
    };
    client.on('error', onError);
    const send = async (statement: pg.QueryConfig) => {
      const answer = await client.query(statement);
      if (newerKeys?.under(sealedOf(answer))) throw new SealedUnderNewer();
      return answer;
    };
    const { prisma, end } = this.ours.within(send);
    try {
      await client.query('BEGIN');
      const result = await run({
        query: (statement, values = []) => send(config(statement, values)),
        prisma,
      });
      await end();
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await end().catch(() => {});
      if (isConnectionLoss(error) || isStalePlan(error)) broken = error as Error;
      else await client.query('ROLLBACK').catch((failure: Error) => (broken = failure));
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }
}

/** Keys that another node has activated. */
export interface NewerKeys {
  /** True if one of the rows was sealed under a newer key. */
  under(rows: readonly pg.QueryResultRow[]): boolean;
  /** Reads the newer keys. */
  read(): Promise<unknown>;
}

/** A transaction met rows that this node can only open with keys that it has not read yet. */
class SealedUnderNewer extends Error {
  override readonly name = 'SealedUnderNewer';
}

/** The sealed values among rows; Prisma gets rows as lists. */
function sealedOf({ fields, rows }: pg.QueryResult): readonly pg.QueryResultRow[] {
  if (!Array.isArray(rows[0])) return rows;
  const at = fields.findIndex(({ name }) => name === 'sealed');
  return at < 0 ? [] : rows.map((row) => ({ sealed: row[at] }));
}

function config(statement: string | Statement, parameters: readonly unknown[]): pg.QueryConfig {
  const values = withByteArrays(parameters) as unknown[];
  return typeof statement === 'string'
    ? { text: statement, values }
    : { name: statement.name, text: statement.text, values };
}

const busy = (cause: unknown): Refusal => new Refusal('unavailable', 'storage is busy; try again', [], { cause });

const isUnstorable = ({ code, message }: { code?: string; message?: string }): boolean =>
  UNSTORABLE.has(code ?? '') || (code === '22P02' && /for type json/.test(message ?? ''));

function refusalFor(error: unknown): unknown {
  if (isUnstorable(error as Error)) {
    return new Refusal('invalid', 'text contains a character that cannot be stored', [], { cause: error });
  }
  if ((error as { code?: string }).code === OUT_OF_RANGE) {
    return new Refusal('invalid', 'a number is out of range', [], { cause: error });
  }
  if ((error as { code?: string }).code === TOO_LONG) return busy(error);
  if (!isConnectionLoss(error)) return error;
  return new Refusal('unavailable', 'storage is unavailable', [], { cause: error });
}
