import type { Database } from '../../../kernel/database/database';

const BATCH = 500;

/**
 * Deletes everything of organizations that are marked as removed. Each step is a small transaction that another node
 * skips; stopped in the middle, the next call goes on. Answers how many organizations are gone.
 */
export async function eraseRemoved(db: Database): Promise<number> {
  for (let gone = 0; ; gone++) {
    const [organization] = await db.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM organization WHERE removed_at IS NOT NULL ORDER BY removed_at LIMIT 1`;
    if (organization === undefined) return gone;
    await eraseOne(db, organization.id);
  }
}

async function eraseOne(db: Database, id: string): Promise<void> {
  for (let deleted = BATCH; deleted === BATCH; ) {
    deleted = await db.prisma.$executeRaw`
      DELETE FROM workspace WHERE id IN (
        SELECT id FROM workspace WHERE organization_id = ${id} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`;
  }
  // Workspaces that another node holds at this moment keep the organization here until the next call.
  await db.prisma.$executeRaw`
    DELETE FROM organization o WHERE o.id = ${id} AND o.removed_at IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM workspace w WHERE w.organization_id = o.id)`;
}
