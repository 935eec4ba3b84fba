import type { LargeValue } from '@keystead/postgres';
import { notFound } from '@keystead/refusal';
import type { QueryResultRow } from 'pg';
import type { Prisma } from '../../generated/prisma/client';
import type { Batched } from './batched-writes';
import type { KeyedMutex } from './keyed-mutex';
import type { KeyedRead, KeyedRow, PackedRow } from './keyed-reads';

export type { KeyedRead, KeyedRow, PackedRow };

/** A statement that PostgreSQL plans once per connection, for the few hot paths. */
export interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** The database as resources use it: Prisma for ordinary work, named statements for hot reads, transactions. */
export interface Database {
  /** Inside a transaction, that transaction. */
  readonly prisma: Prisma.TransactionClient;
  /** True inside a transaction. */
  readonly inTransaction: boolean;
  /**
   * Runs `work` in a transaction, which is repeated if it conflicts with others. Inside a transaction it joins that
   * transaction.
   */
  transaction<T>(run: (db: Database) => Promise<T>): Promise<T>;
  /** Makes requests of this node that change the same thing wait for each other. */
  readonly mutex: KeyedMutex;
  /** The same database, but its transactions take turns under a name, across all nodes. */
  inTurn(name: string): Database;
  /** A named statement; inside a transaction, part of it. */
  execute<R extends QueryResultRow>(statement: Statement): Promise<R[]>;
  /** A named statement, outside any transaction. */
  rows<R extends QueryResultRow>(statement: Statement): Promise<R[]>;
  /** A large binary value, read outside any transaction; undefined if the row does not exist. */
  large(value: LargeValue): Promise<Buffer | undefined>;
  /** One row of a keyed read; outside a transaction, simultaneous calls share one query. */
  readOne<R extends KeyedRow>(read: KeyedRead, key: string): Promise<R | undefined>;
  /** A result that was computed at a revision; computed again if the revision has changed. */
  remembered<T extends object>(key: string, revision: string, find: () => Promise<T>): Promise<T>;
  /** The last result under a key, at any revision; undefined inside a transaction. */
  newest<T extends object>(key: string): T | undefined;
  /**
   * A declared write. It shares a commit with simultaneous writes. Inside a transaction, it is part of the transaction.
   */
  write<Item, Result>(kind: Batched<Item, Result>, item: Item): Promise<Result>;
  /** Decisions that wait for the lock of their subject; not for use inside a transaction. */
  readonly decisions: Decisions;
}

/** Decisions about one subject, each on top of the earlier ones. */
export interface Decision<Item, Result> {
  readonly name: string;
  /** Takes the lock of the subject, in the order of requests from all nodes. */
  hold(tx: Database, key: string): Promise<unknown>;
  /** A result or an error for each item in order. It may run again, after a deadlock. */
  decide(tx: Database, key: string, items: readonly Item[]): Promise<readonly (Result | Error)[]>;
}

/** Decisions that share the lock of their subject. */
export interface Decisions {
  decide<Item, Result>(kind: Decision<Item, Result>, key: string, item: Item): Promise<Result>;
  /**
   * Whether another node, or another kind of write, has just won a race. Then an attempt without the lock would be
   * useless.
   */
  isContested(key: string): boolean;
  /** Another request was faster. */
  lost(key: string): void;
}

/** A row that is read again after it was created or changed. Throws `missing` if it was deleted in the meantime. */
export function still<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}
