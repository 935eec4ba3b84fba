import { PrismaPg } from '@prisma/adapter-pg';
import type { Transaction } from '@prisma/driver-adapter-utils';

/**
 * The driver of Prisma with statements of a transaction sent one after the other. Prisma asks for several relations of a
 * row at once, and a connection that is not pipelined will soon refuse a statement while another is under way.
 */
export class SerialPostgres extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const start = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = async (level) => serial((await start(level)) as Awaited<ReturnType<typeof start>>);
    return adapter;
  }
}

/** The same transaction; a statement waits until those before it have ended, whichever way. */
export function serial<T extends Pick<Transaction, 'queryRaw' | 'executeRaw'>>(transaction: T): T {
  let last: Promise<unknown> = Promise.resolve();
  const queued = <Args extends unknown[], R>(send: (...args: Args) => Promise<R>) => {
    return (...args: Args): Promise<R> => {
      const mine = last.then(() => send(...args));
      last = mine.catch(() => {});
      return mine;
    };
  };
  transaction.queryRaw = queued(transaction.queryRaw.bind(transaction));
  transaction.executeRaw = queued(transaction.executeRaw.bind(transaction));
  return transaction;
}
