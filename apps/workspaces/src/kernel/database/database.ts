import type { LargeValue } from '@keystead/postgres';
import { notFound } from '@keystead/refusal';
import type { QueryResultRow } from 'pg';
import type { Prisma } from '../../generated/prisma/client';
import type { KeyedMutex } from './keyed-mutex';

/** The text of a statement that PostgreSQL plans once per connection, for the few hot paths. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** A named statement with its values. */
export interface Statement extends NamedStatement {
  values: unknown[];
}

/**
 * The database as resources use it: Prisma for ordinary work, named statements for hot reads, transactions. Built by
 * `openDatabase` from `KeyedReads`, `BatchedWrites` and `LockedDecisions`.
 */
export interface Database {
  /** The Prisma client; inside a transaction, the client of that transaction. */
  readonly prisma: Prisma.TransactionClient;
  /** True inside a transaction. */
  readonly inTransaction: boolean;
  /**
   * Runs `work` in a transaction, which is repeated if it conflicts with others. Inside a transaction it joins that
   * transaction.
   */
  transaction<T>(run: (db: Database) => Promise<T>): Promise<T>;
  /** Lets requests of this node that change the same object run one at a time. */
  readonly mutex: KeyedMutex;
  /** A view of the database whose transactions take turns under a name, across all nodes. */
  inTurn(name: string): Database;
  /** Runs a named statement; inside a transaction, as part of it. */
  execute<R extends QueryResultRow>(statement: Statement): Promise<R[]>;
  /** Runs a named statement outside any transaction. */
  rows<R extends QueryResultRow>(statement: Statement): Promise<R[]>;
  /** A large binary value, read outside any transaction; undefined if the row does not exist. */
  large(value: LargeValue): Promise<Buffer | undefined>;
  /** One row of a keyed read. Outside a transaction, simultaneous calls share a query: see `KeyedReads`. */
  readOne<R extends KeyedRow>(read: KeyedRead, key: string): Promise<R | undefined>;
  /** A result that was computed at a revision; computed again if the revision has changed. */
  remembered<T extends object>(key: string, revision: string, find: () => Promise<T>): Promise<T>;
  /** The last result under a key, at any revision; undefined inside a transaction. */
  newest<T extends object>(key: string): T | undefined;
  /**
   * A declared write. It shares a commit with simultaneous writes: see `BatchedWrites`. Inside a transaction, it is
   * part of the transaction.
   */
  write<Item, Result>(kind: Batched<Item, Result>, item: Item): Promise<Result>;
  /** Decisions that wait for the lock of their subject: see `LockedDecisions`; not for use inside a transaction. */
  readonly decisions: Decisions;
}

/** A statement that reads many rows by key: `… WHERE x = ANY($1)`, with the key again in a column `key`. */
export interface KeyedRead {
  readonly name: string;
  readonly text: string;
  /**
   * Whether the statement takes less than a millisecond for any key, so that it may share a connection with other such
   * reads.
   */
  readonly quick?: boolean;
  /**
   * Whether the statement returns a single row for all keys: a column `packed` with a JSON array of arrays that begin
   * with their key. Each array becomes `{ key, columns }`. This is cheaper than many rows.
   */
  readonly packed?: boolean;
}

/** A row of a keyed read. Simultaneous callers get the same object, so they must not change it. */
export interface KeyedRow extends QueryResultRow {
  readonly key: string;
}

/** A row of a packed read. */
export interface PackedRow<Columns extends readonly unknown[] = readonly unknown[]> extends KeyedRow {
  readonly columns: readonly [key: string, ...columns: Columns];
}

/** One write for several items, and the function that finds the result of each item. */
export interface Batch<Result> {
  /** Parameters of the statement; undefined if there is nothing to write. */
  readonly values?: readonly unknown[];
  /** Keys of the rows that the statement `holds` locks first. */
  readonly heldKeys?: readonly string[];
  /** A result or an error for each item, in order. Called after the rows are committed. */
  settle(rows: readonly QueryResultRow[]): readonly (Result | Error)[];
}

/** A kind of write that combines many callers in one statement. */
export interface Batched<Item, Result> extends NamedStatement {
  /**
   * Locks rows by key (`$1`) in the order of their keys, so that batches cannot deadlock. The main statement follows
   * and sees everything that was committed before the locks were granted.
   */
  readonly holds?: NamedStatement;
  batch(items: readonly Item[]): Batch<Result>;
  /** The subject of an item. Two batches with the same subject never run at the same time. */
  about?(item: Item): string;
}

/** Decisions about one subject, each based on the results of the earlier ones. */
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
   * Whether another node, or another kind of write, has just changed the subject. In this case an attempt without the
   * lock would probably fail.
   */
  isContested(key: string): boolean;
  /** Records that another request has changed the subject first. */
  lost(key: string): void;
}

/** The row that was read again after it was created or changed. Throws `missing` if it was deleted in the meantime. */
export function still<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}
