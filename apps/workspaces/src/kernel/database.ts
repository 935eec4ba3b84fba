import { invalid } from '@keystead/jsonapi';
import { gather, type LargeValue, readLargeValue } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import type { Pool, QueryResultRow } from 'pg';
import { Prisma, PrismaClient } from '../generated/prisma/client';
import { PostgresInTurn } from './in-turn';
import { type Batched, Together } from './together';
import { type KeyedRead, type KeyedRow, type PackedRow, rowsOf, Waves } from './waves';

export type { KeyedRead, KeyedRow, PackedRow };

/** A statement PostgreSQL plans once per connection; for the few hot paths. */
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
  /** Runs all or nothing; run again when it lost to another transaction. Inside a transaction it joins it. */
  transaction<T>(run: (db: Database) => Promise<T>): Promise<T>;
  /** A named statement, outside any transaction. */
  rows<R extends QueryResultRow>(statement: Statement): Promise<R[]>;
  /** A large value of bytes, outside any transaction; undefined where there is no such row. */
  large(value: LargeValue): Promise<Buffer | undefined>;
  /** One row of a keyed read; outside a transaction, calls of the same moment share one query. */
  readOne<R extends KeyedRow>(read: KeyedRead, key: string): Promise<R | undefined>;
  /** What was worked out while a revision held; worked out anew when it has moved. */
  remembered<T extends object>(key: string, revision: string, find: () => Promise<T>): Promise<T>;
  /** A write that shares a commit with those of the same moment; not for use inside a transaction. */
  together<Item, Result>(kind: Batched<Item, Result>, item: Item): Promise<Result>;
}

const TRANSACTION = { maxWait: 10_000, timeout: 30_000 } as const;
const ATTEMPTS = 6;

/** The attribute a unique index stands for, where it is not its last column. */
const attributeOfIndex: Record<string, string> = {
  organization_name_key: 'name',
  team_name_key: 'name',
  project_name_key: 'name',
  user_account_username_key: 'username',
  user_account_email_key: 'email',
};

interface DriverCause {
  originalCode?: string;
  kind?: string;
  constraint?: { fields?: string[]; index?: string };
}

function causeOf(error: Prisma.PrismaClientKnownRequestError): DriverCause {
  const meta = error.meta as { driverAdapterError?: { cause?: DriverCause } } | undefined;
  return meta?.driverAdapterError?.cause ?? {};
}

function takenAttribute({ constraint, ...cause }: DriverCause): string {
  const said = (cause as { originalMessage?: string }).originalMessage ?? '';
  const index = constraint?.index ?? /unique constraint "([^"]+)"/.exec(said)?.[1] ?? '';
  const column = constraint?.fields?.at(-1) ?? index.replace(/_key$/, '').split('_').at(-1) ?? 'name';
  return (
    attributeOfIndex[index] ??
    column.replace(/"/g, '').replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  );
}

const isKnown = (error: unknown): error is Prisma.PrismaClientKnownRequestError =>
  error instanceof Prisma.PrismaClientKnownRequestError;

/** What the database says to our own doing, as the answer it means: a taken name is a refusal, all else a fault. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal || !isKnown(error)) {
    return error;
  }
  const cause = causeOf(error);
  if (error.code === 'P2002' || cause.originalCode === '23505') {
    return invalid(takenAttribute(cause), 'has already been taken');
  }
  return error;
}

// What a row refers to went away meanwhile: seen again from the start, it is simply not there.
function vanished(error: Prisma.PrismaClientKnownRequestError): boolean {
  return error.code === 'P2003' || causeOf(error).originalCode === '23503';
}

function lostToAnother(error: unknown): boolean {
  if (!isKnown(error)) {
    return false;
  }
  const { originalCode } = causeOf(error);
  return error.code === 'P2034' || originalCode === '40001' || originalCode === '40P01' || vanished(error);
}

/**
 * The database of a service process, on pools that the caller owns: one for all work, and one of pipelined connections
 * for the quick reads that every request begins with and for writes that share a commit.
 */
export function openDatabase(pool: Pool, quickPool: Pool): Database & { close(): Promise<void> } {
  const client = new PrismaClient({
    adapter: new PostgresInTurn(pool),
    // Its longer words repeat the arguments of a call, and these go to the log.
    errorFormat: 'minimal',
  });
  const guarded = client.$extends({
    query: {
      async $allOperations({ args, query }) {
        try {
          return await query(args);
        } catch (error) {
          throw refusalOf(error);
        }
      },
    },
  }) as unknown as PrismaClient;
  const rows = async <R extends QueryResultRow>(statement: Statement): Promise<R[]> =>
    (await pool.query<R>(statement)).rows;
  const large = (value: LargeValue) => readLargeValue(pool, value);
  const waves = new Waves(quickPool);
  const writes = new Together(quickPool);
  const readers = new Map<string, (key: string) => Promise<KeyedRow | undefined>>();
  const readerOf = (read: KeyedRead) => {
    let reader = readers.get(read.name);
    if (reader === undefined) {
      reader = gather<string, KeyedRow>(async (keys) => {
        const found = rowsOf(read, await rows<KeyedRow>({ name: read.name, text: read.text, values: [keys] }));
        return new Map(found.map((row) => [row.key, row]));
      });
      readers.set(read.name, reader);
    }
    return reader;
  };
  const inside = (prisma: Prisma.TransactionClient): Database => {
    const db: Database = {
      prisma,
      inTransaction: true,
      rows,
      large,
      transaction: (run) => run(db),
      remembered: (_key, _revision, find) => find(),
      together: async () => {
        throw new Error('a shared write would not be part of this transaction');
      },
      async readOne<R extends KeyedRow>(read: KeyedRead, key: string) {
        const found = rowsOf(read, await prisma.$queryRawUnsafe<R[]>(read.text, [key]));
        return found[0] as R | undefined;
      },
    };
    return db;
  };
  const memory = new LRUCache<string, { revision: string; value: object }>({
    maxSize: 4_000_000,
    sizeCalculation: ({ value }) => (Array.isArray(value) ? value.length : 0) + 50,
  });
  const outside: Database & { close(): Promise<void> } = {
    prisma: guarded,
    async remembered<T extends object>(key: string, revision: string, find: () => Promise<T>) {
      const known = memory.get(key);
      if (known?.revision === revision) {
        return known.value as T;
      }
      const value = await find();
      memory.set(key, { revision, value });
      return value;
    },
    together: (kind, item) => writes.write(kind, item),
    inTransaction: false,
    rows,
    large,
    async readOne<R extends KeyedRow>(read: KeyedRead, key: string) {
      // PostgreSQL refuses a null character, and with it the keys of everybody else.
      if (key.includes('\0')) return undefined;
      return (await (read.quick ? waves.read(read, key) : readerOf(read)(key))) as R | undefined;
    },
    async transaction(run) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await guarded.$transaction((tx) => run(inside(tx)), TRANSACTION);
        } catch (error) {
          if (attempt >= ATTEMPTS || !lostToAnother(error)) {
            throw refusalOf(error);
          }
        }
      }
    },
    close: () => client.$disconnect(),
  };
  return outside;
}
