import type { Database } from './database';

/** The channel on which the database announces queued work, so that waiting requests need not poll. */
export const queuedChannel = 'keystead_job_queued';

/** Notifies all nodes that there is work. Inside a transaction, the notice is sent at commit. */
export async function tellOfWork(db: Database): Promise<void> {
  await db.prisma.$queryRaw`SELECT pg_notify(${queuedChannel}, '')::text`;
}
