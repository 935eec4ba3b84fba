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

/**
 * Strengths of locks on a row. `UPDATE` excludes all other holders, `SHARE` prevents changes of the row, and `KEY
 * SHARE` prevents changes of its key.
 */
type Hold = 'UPDATE' | 'SHARE' | 'KEY SHARE';

/**
 * Locks the rows of a condition until the transaction ends, in a fixed order to avoid deadlocks, and returns their ids.
 * Prisma has no row locks; it reads the content afterwards.
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
