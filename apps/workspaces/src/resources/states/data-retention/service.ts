import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';

/** How long old data is kept; `days` null means forever. */
export interface RetentionPolicy {
  readonly id: string;
  readonly days: number | null;
}

/** The owner of a policy: a workspace, an organization, or the installation. */
export interface RetentionTarget {
  readonly workspaceId: string | null;
  readonly organizationId: string | null;
  /** The organization under which changes are audited. */
  readonly auditedIn: string | null;
}

/** The installation as the owner of a policy. */
export const installation: RetentionTarget = { workspaceId: null, organizationId: null, auditedIn: null };

const keyOf = ({ workspaceId, organizationId }: RetentionTarget) => ({ workspaceId, organizationId });

/** The policy that is set on the owner itself. */
async function findOwn(db: Database, holder: RetentionTarget): Promise<RetentionPolicy | null> {
  const row = await db.prisma.retentionPolicy.findFirst({ where: keyOf(holder) });
  return row && { id: row.id, days: row.deleteOlderThanNDays };
}

/**
 * The effective policy: the object's own policy, otherwise that of the nearest higher level with a policy; null if
 * there is no policy.
 */
export async function findEffective(db: Database, holder: RetentionTarget): Promise<RetentionPolicy | null> {
  const own = await findOwn(db, holder);
  if (own !== null) return own;
  if (holder.workspaceId !== null) {
    return findEffective(db, { ...holder, workspaceId: null, organizationId: holder.auditedIn });
  }
  return holder.organizationId === null ? null : findEffective(db, installation);
}

const target = ({ workspaceId, organizationId }: RetentionTarget, id: string) => ({
  type: 'data-retention-policies',
  id,
  name: workspaceId ?? organizationId ?? 'installation',
});

/** Sets the owner's policy, and replaces an existing one. */
export async function replace(
  db: Database,
  actor: Actor,
  holder: RetentionTarget,
  days: number | null,
): Promise<RetentionPolicy> {
  return db.transaction(async (tx) => {
    const before = await findOwn(tx, holder);
    await tx.prisma.retentionPolicy.deleteMany({ where: keyOf(holder) });
    const id = newId('drp');
    await tx.prisma.retentionPolicy.create({ data: { id, ...keyOf(holder), deleteOlderThanNDays: days } });
    await recordChange(tx, actor, {
      organizationId: holder.auditedIn,
      action: 'data-retention-policy.set',
      target: target(holder, id),
      before: before === null ? undefined : { deleteOlderThanNDays: before.days },
      after: { deleteOlderThanNDays: days },
    });
    return { id, days };
  });
}

/**
 * Removes the owner's own policy, so that the policy of the level above applies again. An absent policy is not an
 * error.
 */
export async function remove(db: Database, actor: Actor, holder: RetentionTarget): Promise<void> {
  await db.transaction(async (tx) => {
    const before = await findOwn(tx, holder);
    if (before === null) return;
    await tx.prisma.retentionPolicy.deleteMany({ where: keyOf(holder) });
    await recordChange(tx, actor, {
      organizationId: holder.auditedIn,
      action: 'data-retention-policy.delete',
      target: target(holder, before.id),
      before: { deleteOlderThanNDays: before.days },
    });
  });
}
