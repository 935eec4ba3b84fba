import type { Database } from '../../../kernel/database/database';

const BATCH = 500;

/**
 * Deletes everything in organizations that are marked as removed, in small transactions. Rows that another node has
 * locked, or that a stopped node did not reach, are deleted by the next call. Returns how many organizations were
 * deleted.
 */
export async function eraseRemoved(db: Database): Promise<number> {
  const removed = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM organization WHERE removed_at IS NOT NULL ORDER BY removed_at`;
  let count = 0;
  for (const { id } of removed) count += await eraseOne(db, id);
  return count;
}

/** Deletes one organization. Returns 1 if it was deleted, 0 while another node has locked some of its workspaces. */
async function eraseOne(db: Database, id: string): Promise<number> {
  for (let deleted = BATCH; deleted === BATCH; ) {
    deleted = await db.prisma.$executeRaw`
      DELETE FROM workspace WHERE id IN (
        SELECT id FROM workspace WHERE organization_id = ${id} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`;
  }
  return db.prisma.$executeRaw`
    DELETE FROM organization o WHERE o.id = ${id} AND o.removed_at IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM workspace w WHERE w.organization_id = o.id)`;
}
