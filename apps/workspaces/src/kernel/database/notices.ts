import type { Database } from './database';

/** Where the database tells of work that was queued, so that who waits for some need not look all the time. */
export const queuedChannel = 'keystead_job_queued';

/** Tells all nodes that there is work; in a transaction, once it is committed. */
export async function tellOfWork(db: Database): Promise<void> {
  await db.prisma.$queryRaw`SELECT pg_notify(${queuedChannel}, '')::text`;
}
