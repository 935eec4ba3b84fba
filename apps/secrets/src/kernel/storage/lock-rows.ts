import { Prisma } from '../../generated/prisma/client';
import type { Tx } from './types';

type LockableTable =
  | 'policy'
  | 'namespace'
  | 'mount'
  | 'entity'
  | 'entity_alias'
  | 'group'
  | 'group_alias'
  | 'mfa_method'
  | 'mfa_enforcement';

/** The strongest hold keeps all others from the row, the others only from changing it, or its key. */
type Hold = 'UPDATE' | 'SHARE' | 'KEY SHARE';

/**
 * Holds the rows that a condition finds until the transaction ends, in one order so that two who hold several do not wait
 * for each other, and answers their ids. Prisma has no word for it; what they hold is read by it afterwards.
 */
export async function lockRows(
  tx: Tx,
  table: LockableTable,
  where: Prisma.Sql,
  hold: Hold = 'UPDATE',
): Promise<string[]> {
  const rows = await tx.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM ${Prisma.raw(`"${table}"`)} WHERE ${where} ORDER BY id FOR ${Prisma.raw(hold)}`;
  return rows.map(({ id }) => id);
}
