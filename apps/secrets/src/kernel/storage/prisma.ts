import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from '../../generated/prisma/client';

/** Sends a statement that Prisma made, and answers as the driver does. */
export type Send = (statement: pg.QueryConfig) => Promise<pg.QueryResult>;

/** Prisma's view of a transaction that other code began. */
export interface PrismaWithin {
  readonly prisma: Prisma.TransactionClient;
  /** Lets Prisma forget the transaction; nothing is sent. */
  end(): Promise<void>;
}

/** Prisma's own limits must never be met: the statements have theirs. */
const LIMITS = { maxWait: 60_000, timeout: 2 ** 31 - 1 } as const;
/** Distinguishes our transactions from those that Prisma begins by itself. */
const OURS = Prisma.TransactionIsolationLevel.ReadCommitted;

/**
 * The Prisma client on connections of ours: outside of transactions its statements go where `send` brings them, inside they
 * go to the connection of the transaction that runs. A transaction that never asks for it pays nothing. What a statement
 * fails with is thrown as the driver said it.
 */
export class PrismaOnOurs {
  private readonly client: PrismaClient;
  private readonly pool: LentPool;
  /** Begins follow each other: each lends its connection to the one that Prisma asks for. */
  private begins: Promise<unknown> = Promise.resolve();

  constructor(send: Send) {
    this.pool = new LentPool(send);
    this.client = new PrismaClient({
      adapter: new LentConnections(this.pool),
      // Its longer words repeat the arguments of a call, and these go to the log.
      errorFormat: 'minimal',
    });
  }

  /** Outside of transactions. One call is one statement: a write that takes more of them fails and wants a transaction. */
  outside(refuse: (error: unknown) => unknown): PrismaClient {
    return this.client.$extends({
      query: {
        $allOperations: async ({ args, query }) => {
          try {
            return await query(args);
          } catch (error) {
            throw refuse(causeOf(error));
          }
        },
      },
    }) as unknown as PrismaClient;
  }

  /** Inside of a transaction, whose statements are sent one after the other. Prisma hears of it with the first call. */
  within(send: Send): PrismaWithin {
    let begun: Promise<Begun> | undefined;
    const begin = async () => {
      begun ??= this.begin(inOrder(send));
      return (await begun).prisma;
    };
    return {
      prisma: calls(begin),
      end: async () => {
        if (begun) await begun.then(({ end }) => end());
      },
    };
  }

  private begin(send: Send): Promise<Begun> {
    const mine = this.begins.then(
      () =>
        new Promise<Begun>((resolve, reject) => {
          let leave = () => {};
          this.pool.lend(send);
          const ended = this.client.$transaction(
            (prisma) =>
              new Promise<void>((left) => {
                leave = left;
                const end = () => {
                  leave();
                  return ended;
                };
                resolve({ prisma, end });
              }),
            { ...LIMITS, isolationLevel: OURS },
          );
          ended.catch(reject);
        }),
    );
    this.begins = mine.catch(() => {});
    return mine;
  }
}

interface Begun {
  readonly prisma: Prisma.TransactionClient;
  end(): Promise<void>;
}

/** What a statement of Prisma's failed with. It has no code, so that Prisma passes it on as it is. */
class StatementFailed extends Error {
  override readonly name = 'StatementFailed';
}

const causeOf = (error: unknown): unknown => (error instanceof StatementFailed ? error.cause : error);

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** The client that is begun with the first call. */
function calls(begin: () => Promise<Prisma.TransactionClient>): Prisma.TransactionClient {
  const call = (model: string | undefined, method: string, args: unknown[]) =>
    begin().then(async (client) => {
      const methods = (model === undefined ? client : client[model as 'policy']) as unknown as Methods;
      try {
        return await methods[method]!(...args);
      } catch (error) {
        throw causeOf(error);
      }
    });
  return new Proxy({} as Prisma.TransactionClient, {
    get: (_, name: string) =>
      name.startsWith('$')
        ? (...args: unknown[]) => call(undefined, name, args)
        : new Proxy(
            {},
            {
              get:
                (__, method: string) =>
                (...args: unknown[]) =>
                  call(name, method, args),
            },
          ),
  });
}

function inOrder(send: Send): Send {
  let last: Promise<unknown> = Promise.resolve();
  return (statement) => {
    const mine = last.then(() => send(statement));
    last = mine.catch(() => {});
    return mine;
  };
}

/** The driver of Prisma, which begins no transactions but ours. */
class LentConnections extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const start = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = (level) => {
      if (level === undefined) throw new Error('a write of several statements needs a transaction');
      return start();
    };
    return adapter;
  }
}

/** What the driver of Prisma takes for a pool. It has no connections: it passes statements on. */
class LentPool extends pg.Pool {
  private lent: Send | undefined;

  constructor(private readonly send: Send) {
    super();
  }

  /** The connection of the next transaction. */
  lend(send: Send): void {
    this.lent = send;
  }

  override readonly query = ((statement: pg.QueryConfig) => passOn(this.send, statement)) as never;

  override readonly connect = (async () => {
    const send = this.lent;
    this.lent = undefined;
    if (!send) throw new Error('no transaction was begun');
    return {
      // Beginning and ending are not Prisma's.
      query: async (statement: pg.QueryConfig) =>
        /^(BEGIN|COMMIT|ROLLBACK)$/.test(statement.text) ? NOTHING : passOn(send, statement),
      on() {},
      removeListener() {},
      release() {},
    };
  }) as never;
}

const NOTHING = { fields: [], rows: [], rowCount: 0 };

async function passOn(send: Send, statement: pg.QueryConfig): Promise<pg.QueryResult> {
  try {
    return await send(statement);
  } catch (cause) {
    throw new StatementFailed('a statement failed', { cause });
  }
}
