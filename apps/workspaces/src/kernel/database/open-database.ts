import { createHash } from 'node:crypto';
import { gather, type LargeValue, readLargeValue, withFreshPlan } from '@keystead/postgres';
import { notFound } from '@keystead/refusal';
import { PrismaPg } from '@prisma/adapter-pg';
import type { Transaction } from '@prisma/driver-adapter-utils';
import { LRUCache } from 'lru-cache';
import type { Pool, QueryResultRow } from 'pg';
import { type Prisma, PrismaClient } from '../../generated/prisma/client';
import { BatchedWrites, LockedDecisions, writeWithin } from './batched-writes';
import type { Database, KeyedRead, KeyedRow, Statement } from './database';
import { KeyedMutex } from './keyed-mutex';
import { KeyedReads, rowsOf } from './keyed-reads';
import { isTorn, lostToMigration, relationsOf, TornRead, untilWon } from './lost-races';

const TRANSACTION = { maxWait: 10_000, timeout: 30_000 } as const;
const TAKE_TURN = 'SELECT pg_advisory_xact_lock($1::bigint)::text AS taken';

/**
 * The statement of a keyed read, changed to read a single key. For a list parameter, PostgreSQL estimates ten keys and
 * does not keep a plan for one key.
 */
const ofOneKey = (text: string): string => text.replace(/\$1\b(?:::text\[\])?/g, 'ARRAY[$$1::text]');

/** The maximum size of all cached results, and of one of them, which must not evict all others. */
const REMEMBERED_BYTES = 160 * 1024 * 1024;
const LARGEST_BYTES = REMEMBERED_BYTES / 8;

/** The approximate memory of a result, in bytes. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 32;
  for (const name in value) bytes += 8 + bytesOf((value as Record<string, unknown>)[name]);
  return bytes;
}

/** The number of a lock. Names may contain the secrets of links, which the database must not learn. */
const lockOf = (name: string): bigint => createHash('sha256').update(`turn ${name}`).digest().readBigInt64BE();

/**
 * The database of a service process, on pools that the caller owns: one for all work, and one of pipelined connections
 * for the quick reads at the start of every request and for writes that share a commit.
 */
export function openDatabase(pool: Pool, quickPool: Pool): Database & { close(): Promise<void> } {
  const names = new StatementNames();
  const client = new PrismaClient({
    adapter: new SerialPostgres(pool, { statementNameGenerator: names.of }),
    // Prisma's longer messages repeat the arguments of a call, which would go to the log.
    errorFormat: 'minimal',
  });
  // There is no other way to get the schema from the client.
  const { inlineSchema } = (client as unknown as { _engineConfig: { inlineSchema: string } })._engineConfig;
  const relations = relationsOf(inlineSchema);
  const won = <T>(run: () => Promise<T>): Promise<T> =>
    untilWon(() =>
      run().catch((error) => {
        if (lostToMigration(error)) names.forget();
        throw error;
      }),
    );
  const guarded = client.$extends({
    query: {
      $allOperations: ({ model, operation, args, query }) =>
        won(async () => {
          const result: unknown = await query(args);
          if (model === undefined || !isTorn(relations, model, (args ?? {}) as object, result)) return result;
          // A write is not repeated.
          throw operation.startsWith('find') ? new TornRead() : notFound();
        }),
    },
  }) as unknown as PrismaClient;
  const rows = async <R extends QueryResultRow>(statement: Statement): Promise<R[]> =>
    (await withFreshPlan(() => pool.query<R>(statement))).rows;
  const large = (value: LargeValue) => readLargeValue(pool, value);
  const mutex = new KeyedMutex();
  const keyedReads = new KeyedReads(quickPool);
  const writes = new BatchedWrites(quickPool);
  const ofOne = new Map<string, string>();
  /** The text of a read of one key, built once: it is long, and most writes start with such a read. */
  const textOfOne = ({ name, text }: KeyedRead): string => {
    let variant = ofOne.get(name);
    if (variant === undefined) {
      variant = ofOneKey(text);
      ofOne.set(name, variant);
    }
    return variant;
  };
  const readers = new Map<string, (key: string) => Promise<KeyedRow | undefined>>();
  const readerOf = (read: KeyedRead) => {
    const { name, text } = read;
    let reader = readers.get(name);
    if (reader === undefined) {
      reader = gather<string, KeyedRow>(
        async (keys) => {
          const statement =
            keys.length === 1
              ? { name: `${name}_one`, text: textOfOne(read), values: [...keys] }
              : { name, text, values: [keys] };
          const found = rowsOf(read, await rows<KeyedRow>(statement));
          return new Map(found.map((row) => [row.key, row]));
        },
        { name },
      );
      readers.set(name, reader);
    }
    return reader;
  };
  const notHere = async (): Promise<never> => {
    throw new Error('a decision under a separate lock would not be part of this transaction');
  };
  const inside = (prisma: Prisma.TransactionClient): Database => {
    const db: Database = {
      prisma,
      inTransaction: true,
      mutex,
      inTurn: () => db,
      rows,
      large,
      transaction: (run) => run(db),
      remembered: (_key, _revision, find) => find(),
      newest: () => undefined,
      execute: ({ text, values }) => prisma.$queryRawUnsafe(text, ...values),
      write: (kind, item) => writeWithin(prisma, kind, item),
      decisions: { decide: notHere, isContested: () => true, lost: () => {} },
      async readOne<R extends KeyedRow>(read: KeyedRead, key: string) {
        return rowsOf(read, await prisma.$queryRawUnsafe<R[]>(textOfOne(read), key))[0] as R | undefined;
      },
    };
    return db;
  };
  const memory = new LRUCache<string, { revision: string; value: object }>({
    maxSize: REMEMBERED_BYTES,
    maxEntrySize: LARGEST_BYTES,
    // Keys contain searched names, and revisions contain those of all items.
    sizeCalculation: ({ revision, value }, key) => key.length + revision.length + bytesOf(value),
  });
  const turn = <T>(run: (db: Database) => Promise<T>, name?: string): Promise<T> =>
    won(() =>
      client.$transaction(async (tx) => {
        if (name !== undefined) await tx.$queryRawUnsafe(TAKE_TURN, lockOf(name));
        return run(inside(tx));
      }, TRANSACTION),
    );
  const transaction = <T>(run: (db: Database) => Promise<T>) => turn(run);
  const outside: Database & { close(): Promise<void> } = {
    prisma: guarded,
    async remembered<T extends object>(key: string, revision: string, find: () => Promise<T>) {
      const cached = memory.get(key);
      if (cached?.revision === revision) return cached.value as T;
      const value = await find();
      memory.set(key, { revision, value });
      return value;
    },
    newest: <T extends object>(key: string) => memory.get(key)?.value as T | undefined,
    write: (kind, item) => writes.write(kind, item),
    decisions: new LockedDecisions(transaction),
    inTransaction: false,
    mutex,
    inTurn: (name) => ({ ...outside, transaction: (run) => turn(run, name) }),
    rows,
    execute: rows,
    large,
    readOne<R extends KeyedRow>(read: KeyedRead, key: string) {
      // PostgreSQL refuses null characters, and would refuse all other keys of the batch with them.
      if (key.includes('\0')) return Promise.resolve(undefined);
      return (read.quick ? keyedReads.read(read, key) : readerOf(read)(key)) as Promise<R | undefined>;
    },
    transaction,
    close: () => client.$disconnect(),
  };
  return outside;
}

/**
 * Prisma's driver, which sends the statements of a transaction one after the other. Prisma requests several relations
 * of a row at once, and a connection that is not pipelined will soon refuse a statement while another is running.
 */
class SerialPostgres extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const start = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = async (level) => serial((await start(level)) as Awaited<ReturnType<typeof start>>);
    return adapter;
  }
}

/** A transaction in which each statement waits until the earlier ones have ended, with or without an error. */
export function serial<T extends Pick<Transaction, 'queryRaw' | 'executeRaw'>>(transaction: T): T {
  let last: Promise<unknown> = Promise.resolve();
  const queued = <Args extends unknown[], R>(send: (...args: Args) => Promise<R>) => {
    return (...args: Args): Promise<R> => {
      const current = last.then(() => send(...args));
      last = current.catch(() => {});
      return current;
    };
  };
  transaction.queryRaw = queued(transaction.queryRaw.bind(transaction));
  transaction.executeRaw = queued(transaction.executeRaw.bind(transaction));
  return transaction;
}

/** The maximum number of named statements, because each takes memory on every connection. */
const MOST_NAMES = 150;
/** A statement used this often is assumed to recur. */
const USES = 4;
/** Longer statements usually contain long lists of values, and are rarely repeated. */
const LONGEST_TEXT = 20_000;

interface SeenText {
  uses: number;
  name?: string;
}

/**
 * Names for statements that are sent often, so that each connection parses and plans them once. A statement keeps its
 * name.
 */
class StatementNames {
  private readonly texts = new LRUCache<string, SeenText>({ max: 1000 });
  private names = 0;
  private generation = 0;

  /** The name for a statement with values; empty while it is too rare to have one. */
  readonly of = ({ sql, args }: { sql: string; args: readonly unknown[] }): string => {
    if (args.length === 0 || sql.length > LONGEST_TEXT) return '';
    let text = this.texts.get(sql);
    if (text === undefined) {
      text = { uses: 0 };
      this.texts.set(sql, text);
    }
    if (++text.uses >= USES && text.name === undefined && this.names < MOST_NAMES) text.name = `often_${++this.names}`;
    return text.name === undefined ? '' : `${text.name}_${this.generation}`;
  };

  /** A migration changed the results of prepared statements, so all are prepared again under new names. */
  forget(): void {
    this.generation++;
  }
}
