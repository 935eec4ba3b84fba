import type { Database } from './database';

/** The channel on which the database announces queued work, so that waiting requests need not poll. */
export const queuedChannel = 'keystead_job_queued';

/** Tells all nodes that there is work; in a transaction, once it is committed. */
export async function tellOfWork(db: Database): Promise<void> {
  await db.prisma.$queryRaw`SELECT pg_notify(${queuedChannel}, '')::text`;
}
