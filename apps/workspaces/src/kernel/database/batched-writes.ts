import { BatchScheduler } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import { during } from '@keystead/tracing';
import { LRUCache } from 'lru-cache';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import type { Batch, Batched, Database, Decision, Decisions, NamedStatement } from './database';
import { untilWon } from './lost-races';

interface QueuedWrite {
  readonly kind: Batched<never, unknown>;
  readonly item: unknown;
  /** The subject of the write. The write waits for running batches with the same subject. */
  readonly about: string | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface BatchPart {
  readonly kind: Batched<never, unknown>;
  readonly waiting: readonly QueuedWrite[];
  readonly batch: Batch<unknown>;
}

/**
 * The maximum number of batches in progress. With two, the database is busy while the response to one is in transit. A
 * larger number would make batches smaller, not faster.
 */
const IN_FLIGHT = 2;
const MOST = 64;

/**
 * Group commit. Simultaneous writes of all kinds share one transaction with one statement per kind, and each caller is
 * answered after it. A single caller does not wait. A batch that the server refused, or that could not be made, is
 * retried item by item, so that only the bad item fails.
 */
export class BatchedWrites {
  /** The subjects of the batches in progress. */
  private readonly busy = new Set<string>();
  private readonly batches = new BatchScheduler<QueuedWrite>({
    name: 'writes',
    inFlight: IN_FLIGHT,
    take: (waiting) => this.take(waiting),
    run: (batch) => this.run(batch),
  });

  constructor(
    /** The pool, whose connections are pipelined. */
    private readonly pool: Pick<Pool, 'connect'>,
  ) {}

  write<Item, Result>(kind: Batched<Item, Result>, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.batches.add({
        kind: kind as Batched<never, unknown>,
        item,
        about: kind.about && `${kind.name} ${kind.about(item)}`,
        resolve: resolve as QueuedWrite['resolve'],
        reject,
      });
    });
  }

  /** The oldest waiting items, except those whose subject is in a running batch. */
  private take(waiting: readonly QueuedWrite[]): QueuedWrite[] {
    return waiting.filter(({ about }) => about === undefined || !this.busy.has(about)).slice(0, MOST);
  }

  private async run(batch: readonly QueuedWrite[]): Promise<void> {
    const about = new Set(batch.flatMap((one) => one.about ?? []));
    for (const one of about) this.busy.add(one);
    let isSent = false;
    try {
      const parts = partsOf(batch);
      isSent = true;
      await this.commit(parts);
    } catch (error) {
      // If the connection was lost, the batch may or may not have been committed, so it is not written twice.
      if (isSent && !isOfStatement(error)) for (const { reject } of batch) reject(error);
      else for (const one of batch) await this.writeSingly(one);
    } finally {
      for (const one of about) this.busy.delete(one);
    }
  }

  private async writeSingly(one: QueuedWrite): Promise<void> {
    try {
      await untilWon(() => this.commit(partsOf([one])));
    } catch (error) {
      one.reject(error);
    }
  }

  private async commit(parts: readonly BatchPart[]): Promise<void> {
    const writing = parts.filter(({ batch }) => batch.values !== undefined);
    const results = writing.length === 0 ? [] : await this.send(statementsOf(writing));
    const rowsOf = new Map(writing.map((part, index) => [part, results.at(index - writing.length)!]));
    for (const part of parts) {
      const { waiting } = part;
      try {
        const results = part.batch.settle(rowsOf.get(part) ?? []);
        for (const [index, { resolve, reject }] of waiting.entries()) {
          const result = results[index];
          if (result instanceof Error) reject(result);
          else resolve(result);
        }
      } catch (error) {
        for (const { reject } of waiting) reject(error);
      }
    }
  }

  /** The rows of each statement, all in one transaction. */
  private async send(statements: readonly QueryConfig[]): Promise<QueryResultRow[][]> {
    const client: PoolClient = await this.pool.connect();
    const queries = statements.length === 1 ? [...statements] : [BEGIN, ...statements, COMMIT];
    const answers = await Promise.allSettled(queries.map((statement) => client.query(statement)));
    const failed = answers.find((answer) => answer.status === 'rejected');
    // A connection on which a statement failed is discarded.
    client.release(failed !== undefined);
    if (failed !== undefined) throw failed.reason;
    const rows = answers.map((answer) => (answer as PromiseFulfilledResult<{ rows: QueryResultRow[] }>).value.rows);
    return statements.length === 1 ? rows : rows.slice(1, -1);
  }
}

/** Sends statements inside a transaction. */
interface Transaction {
  $queryRawUnsafe<T>(text: string, ...values: unknown[]): Promise<T>;
}

/** Executes writes as a separate batch inside a transaction. Returns a result or an error for each write, in order. */
export async function writeAllWithin<Item, Result>(
  transaction: Transaction,
  kind: Batched<Item, Result>,
  items: readonly Item[],
): Promise<readonly (Result | Error)[]> {
  const batch = kind.batch(items);
  if (batch.values === undefined) return batch.settle([]);
  if (kind.holds !== undefined) await transaction.$queryRawUnsafe(kind.holds.text, [...new Set(batch.heldKeys)]);
  return batch.settle(await transaction.$queryRawUnsafe<QueryResultRow[]>(kind.text, ...batch.values));
}

/** One write as part of a transaction, with the statement that is shared outside of transactions. */
export async function writeWithin<Item, Result>(
  transaction: Transaction,
  kind: Batched<Item, Result>,
  item: Item,
): Promise<Result> {
  const [result] = await writeAllWithin(transaction, kind, [item]);
  if (result instanceof Error) throw result;
  return result as Result;
}

interface QueryConfig {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

const BEGIN: QueryConfig = { text: 'BEGIN' };
const COMMIT: QueryConfig = { text: 'COMMIT' };

function partsOf(waiting: readonly QueuedWrite[]): BatchPart[] {
  const byKind = new Map<string, QueuedWrite[]>();
  for (const one of waiting) {
    const others = byKind.get(one.kind.name);
    if (others === undefined) byKind.set(one.kind.name, [one]);
    else others.push(one);
  }
  return [...byKind.values()].map((all) => {
    const { kind } = all[0]!;
    return { kind, waiting: all, batch: kind.batch(all.map(({ item }) => item as never)) };
  });
}

/** The statements of a batch. All rows are locked before anything is written. */
function statementsOf(parts: readonly BatchPart[]): QueryConfig[] {
  const holds = new Map<NamedStatement, Set<string>>();
  for (const { kind, batch } of parts) {
    if (kind.holds === undefined) continue;
    const keys = holds.get(kind.holds) ?? new Set();
    for (const key of batch.heldKeys ?? []) keys.add(key);
    holds.set(kind.holds, keys);
  }
  return [
    ...[...holds].map(([{ name, text }, keys]) => ({ name, text, values: [[...keys]] })),
    ...parts.map(({ kind: { name, text }, batch }) => ({ name, text, values: [...batch.values!] })),
  ];
}

/** Whether the server refused a statement, so that nothing of its transaction was written. */
function isOfStatement(error: unknown): boolean {
  return (error as { severity?: string }).severity === 'ERROR';
}

interface QueuedDecision {
  readonly item: unknown;
  resolve(result: never): void;
  reject(error: unknown): void;
}

/** How long decisions take the lock immediately, after another node has changed the same row first. */
const CONTESTED_MS = 1000;

/**
 * Decisions under the lock of their row. All decisions that wait when the lock is granted are made together and written
 * by one commit, so they share the wait for other nodes. If a statement refuses them, they are repeated one by one, so
 * that only the bad one fails.
 */
export class LockedDecisions implements Decisions {
  private readonly waiting = new Map<string, QueuedDecision[]>();
  private readonly contested = new LRUCache<string, true>({ max: 10_000, ttl: CONTESTED_MS });

  constructor(private readonly transaction: Database['transaction']) {}

  /**
   * Whether another node, or another kind of write, has just changed the subject. In this case an attempt without the
   * lock would probably fail.
   */
  isContested(key: string): boolean {
    return this.contested.has(key);
  }

  /** Records that another request has changed the subject first. */
  lost(key: string): void {
    this.contested.set(key, true);
  }

  decide<Item, Result>(kind: Decision<Item, Result>, key: string, item: Item): Promise<Result> {
    const name = `${kind.name} ${key}`;
    const others = this.waiting.get(name);
    const decision = new Promise<Result>((resolve, reject) => {
      const decision = { item, resolve, reject } as QueuedDecision;
      if (others !== undefined) others.push(decision);
      else {
        this.waiting.set(name, [decision]);
        void this.run(kind as Decision<unknown, unknown>, key, name);
      }
    });
    return others ? during('waiting', 'turn', undefined, () => decision) : decision;
  }

  private async run(kind: Decision<unknown, unknown>, key: string, name: string): Promise<void> {
    for (let line = this.waiting.get(name)!; line.length > 0; line = this.waiting.get(name)!) {
      await this.decideAll(kind, key, line);
    }
    this.waiting.delete(name);
  }

  private async decideAll(kind: Decision<unknown, unknown>, key: string, line: QueuedDecision[]): Promise<void> {
    let batch: readonly QueuedDecision[] = [];
    let isDecided = false;
    try {
      const results = await this.transaction(async (tx) => {
        isDecided = false;
        await kind.hold(tx, key);
        if (batch.length === 0) batch = line.splice(0);
        const items = batch.map(({ item }) => item);
        const decided = await kind.decide(tx, key, items);
        isDecided = true;
        return decided;
      });
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index];
        if (result instanceof Error) reject(result);
        else resolve(result as never);
      }
    } catch (error) {
      const isUnavailable = error instanceof Refusal && error.kind === 'unavailable';
      // If the commit failed, the decisions may have been written.
      if (batch.length > 1 && !isDecided && !isUnavailable)
        for (const one of batch) await this.decideAll(kind, key, [one]);
      else for (const { reject } of batch.length === 0 ? line.splice(0) : batch) reject(error);
    }
  }
}
