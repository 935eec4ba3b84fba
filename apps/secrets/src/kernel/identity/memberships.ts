import { Prisma } from '../../generated/prisma/client';
import { lockRows } from '../storage/lock-rows';
import type { Tx } from '../storage/types';

/** Members that are about to be removed or changed: entities or groups, by id. */
type Members = { readonly entityIds: readonly string[] } | { readonly groupIds: readonly string[] };

/** Updates the time of the last change, and the number of changes, of all groups that have these members. */
export async function touchGroupsOf(tx: Tx, members: Members, nowMs: number): Promise<string[]> {
  const isMember =
    'entityIds' in members
      ? Prisma.sql`entity_id = ANY(${members.entityIds}::uuid[])`
      : Prisma.sql`member_group_id = ANY(${members.groupIds}::uuid[])`;
  const ids = await lockRows(tx, 'group', Prisma.sql`id IN (SELECT group_id FROM group_member WHERE ${isMember})`);
  const data = { version: { increment: 1 }, updatedAtMs: nowMs };
  if (ids.length > 0) await tx.prisma.group.updateMany({ where: { id: { in: ids } }, data });
  return ids;
}

/**
 * Adds an entity to the groups of another: to internal groups, and to groups of the mounts whose aliases move to it.
 */
export async function joinGroupsOf(
  tx: Tx,
  { fromId, toId, mountIds }: { readonly fromId: string; readonly toId: string; readonly mountIds: readonly string[] },
  nowMs: number,
): Promise<void> {
  const ids = await touchGroupsOf(tx, { entityIds: [fromId] }, nowMs);
  const where = { id: { in: ids }, OR: [{ type: 'internal' }, { alias: { mountId: { in: [...mountIds] } } }] };
  const groups = await tx.prisma.group.findMany({ where, select: { id: true } });
  const there = await tx.prisma.groupMember.findMany({ where: { entityId: toId, groupId: { in: ids } } });
  const joined = new Set(there.map(({ groupId }) => groupId));
  const data = groups.filter(({ id }) => !joined.has(id)).map(({ id }) => ({ groupId: id, entityId: toId }));
  if (data.length > 0) await tx.prisma.groupMember.createMany({ data });
}

/** Ends the memberships that an entity has through an alias: in the external groups of its mount. */
export async function leaveGroupsOf(
  tx: Tx,
  { entityId, mountId }: { readonly entityId: string; readonly mountId: string },
): Promise<void> {
  await tx.prisma.groupMember.deleteMany({ where: { entityId, group: { type: 'external', alias: { mountId } } } });
}

/** Removes an entity from groups of mounts where it no longer has an alias. */
export async function leaveGroupsWithoutAlias(tx: Tx, entityId: string): Promise<void> {
  const aliases = await tx.prisma.entityAlias.findMany({ where: { entityId }, select: { mountId: true } });
  const mountId = { notIn: aliases.map((alias) => alias.mountId) };
  await tx.prisma.groupMember.deleteMany({ where: { entityId, group: { type: 'external', alias: { mountId } } } });
}
