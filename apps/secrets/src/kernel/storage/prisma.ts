import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from '../../generated/prisma/client';

/** Sends a statement from Prisma, and returns what the driver does. */
export type Send = (statement: pg.QueryConfig) => Promise<pg.QueryResult>;

/** Prisma's view of a transaction that other code started. */
export interface PrismaWithin {
  readonly prisma: Prisma.TransactionClient;
  /** Makes Prisma drop the transaction without sending anything. */
  end(): Promise<void>;
}

/** Prisma's own timeouts must never apply, because the statements have their own timeouts. */
const LIMITS = { maxWait: 60_000, timeout: 2 ** 31 - 1 } as const;
/** Distinguishes our transactions from those that Prisma starts by itself. */
const OURS = Prisma.TransactionIsolationLevel.ReadCommitted;

/**
 * The Prisma client on our own connections: outside transactions its statements go through `send`, inside they use the
 * connection of the running transaction. A transaction that does not use it has no extra cost. Errors of statements are
 * thrown as the driver raised them.
 */
export class PrismaOnOurs {
  private readonly client: PrismaClient;
  private readonly pool: LentPool;
  /** Transactions start one after the other, because each lends its connection to the one that Prisma opens. */
  private lastStart: Promise<unknown> = Promise.resolve();

  constructor(send: Send) {
    this.pool = new LentPool(send);
    this.client = new PrismaClient({
      adapter: new LentConnections(this.pool),
      // Prisma's longer messages repeat the arguments of a call, which would go to the log.
      errorFormat: 'minimal',
    });
  }

  /**
   * The client outside transactions. Each call sends one statement. A write that needs several statements fails,
   * because it needs a transaction.
   */
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

  /**
   * The client inside a transaction, whose statements are sent one after the other. Prisma joins the transaction at the
   * first call.
   */
  within(send: Send): PrismaWithin {
    let started: Promise<Begun> | undefined;
    const begin = async () => {
      started ??= this.begin(inOrder(send));
      return (await started).prisma;
    };
    return {
      prisma: calls(begin),
      end: async () => {
        if (started) await started.then(({ end }) => end());
      },
    };
  }

  private begin(send: Send): Promise<Begun> {
    const turn = this.lastStart.then(
      () =>
        new Promise<Begun>((resolve, reject) => {
          let leave = () => {};
          this.pool.lend(send);
          const ended = this.client.$transaction(
            (prisma) =>
              new Promise<void>((leaving) => {
                leave = leaving;
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
    this.lastStart = turn.catch(() => {});
    return turn;
  }
}

interface Begun {
  readonly prisma: Prisma.TransactionClient;
  end(): Promise<void>;
}

/** The error of a Prisma statement. It has no code, so that Prisma passes it on unchanged. */
class StatementFailed extends Error {
  override readonly name = 'StatementFailed';
}

const causeOf = (error: unknown): unknown => (error instanceof StatementFailed ? error.cause : error);

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** A client whose transaction starts with the first call. */
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
    const turn = last.then(() => send(statement));
    last = turn.catch(() => {});
    return turn;
  };
}

/** Prisma's driver, which starts only our transactions. */
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

/** The pool for Prisma's driver. It has no connections: it passes statements on. */
class LentPool extends pg.Pool {
  private borrowed: Send | undefined;

  constructor(private readonly send: Send) {
    super();
  }

  /** The connection of the next transaction. */
  lend(send: Send): void {
    this.borrowed = send;
  }

  override readonly query = ((statement: pg.QueryConfig) => passOn(this.send, statement)) as never;

  override readonly connect = (async () => {
    const send = this.borrowed;
    this.borrowed = undefined;
    if (!send) throw new Error('no transaction was begun');
    return {
      // Prisma does not begin or end transactions.
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
