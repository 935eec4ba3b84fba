import { BatchScheduler, isStalePlan } from '@keystead/postgres';
import type { Pool, PoolClient } from 'pg';
import type { KeyedRead, KeyedRow } from './database';

/** The rows of a keyed read, unpacked if they are packed. */
export function rowsOf(read: KeyedRead, rows: readonly KeyedRow[]): readonly KeyedRow[] {
  if (!read.packed) return rows;
  const packed = rows[0]?.packed as string | null | undefined;
  if (packed === null || packed === undefined) return [];
  return (JSON.parse(packed) as [string, ...unknown[]][]).map((columns) => ({ key: columns[0], columns }));
}

interface QueuedRead {
  readonly read: KeyedRead;
  readonly key: string;
  resolve(row: KeyedRow | undefined): void;
  reject(error: unknown): void;
}

/** The keys of one statement in a batch. */
interface ReadStatement {
  readonly read: KeyedRead;
  readonly waiting: Map<string, QueuedRead[]>;
}

/**
 * Quick reads of all kinds that begin at the same time share a round trip: one statement per kind, on one pipelined
 * connection.
 */
export class KeyedReads {
  private readonly batches: BatchScheduler<QueuedRead>;

  constructor(
    /** The pool, whose connections are pipelined. */
    private readonly pool: Pool,
    inFlight = 2,
  ) {
    this.batches = new BatchScheduler({ name: 'reads', inFlight, run: (batch) => this.send(byStatement(batch)) });
  }

  /** The row with the key; undefined if it does not exist. */
  read(read: KeyedRead, key: string): Promise<KeyedRow | undefined> {
    return new Promise((resolve, reject) => this.batches.add({ read, key, resolve, reject }));
  }

  private async send(batch: readonly ReadStatement[]): Promise<void> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      for (const statement of batch) fail(statement, error);
      return;
    }
    let broken: Error | undefined;
    const again: ReadStatement[] = [];
    await Promise.all(
      batch.map(async (statement) => {
        try {
          const { name, text } = statement.read;
          const { rows } = await client.query<KeyedRow>({ name, text, values: [[...statement.waiting.keys()]] });
          answer(statement, rowsOf(statement.read, rows));
        } catch (error) {
          broken = error as Error;
          if (isStalePlan(error)) again.push(statement);
          else fail(statement, error);
        }
      }),
    );
    // A connection on which a statement failed is discarded.
    client.release(broken);
    // The statement was prepared before a migration. Try other connections; a new connection will accept it.
    if (again.length > 0) await this.send(again);
  }
}

function byStatement(batch: readonly QueuedRead[]): ReadStatement[] {
  const statements = new Map<string, ReadStatement>();
  for (const one of batch) {
    let group = statements.get(one.read.name);
    if (group === undefined) {
      group = { read: one.read, waiting: new Map() };
      statements.set(one.read.name, group);
    }
    const others = group.waiting.get(one.key);
    if (others === undefined) group.waiting.set(one.key, [one]);
    else others.push(one);
  }
  return [...statements.values()];
}

function answer({ waiting }: ReadStatement, rows: readonly KeyedRow[]): void {
  for (const row of rows) {
    for (const { resolve } of waiting.get(row.key) ?? []) resolve(row);
    waiting.delete(row.key);
  }
  for (const absent of waiting.values()) for (const { resolve } of absent) resolve(undefined);
}

function fail({ waiting }: ReadStatement, error: unknown): void {
  for (const waiters of waiting.values()) for (const { reject } of waiters) reject(error);
}
