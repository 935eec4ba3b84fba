import { Prisma } from '../../generated/prisma/client';
import type { Database } from './database';

/** Deletes the rows of a table that match `which` (SQL about rows `t`), except the newest ones. */
export async function deleteOlder({ prisma }: Database, table: string, which: Prisma.Sql, keep: number): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM ${Prisma.raw(table)} WHERE id IN (
      SELECT t.id FROM ${Prisma.raw(table)} t WHERE ${which} ORDER BY t.created_at DESC, t.id DESC OFFSET ${keep})`;
}
