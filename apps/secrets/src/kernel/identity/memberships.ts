import { Prisma } from '../../generated/prisma/client';
import { lockRows } from '../storage/lock-rows';
import type { Tx } from '../storage/types';

/** Members that are about to go, or to change: entities or groups, by id. */
type Members = { readonly entityIds: readonly string[] } | { readonly groupIds: readonly string[] };

/** Notes in the groups with these members that they change: their time of last change, and how often they were changed. */
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

/** Makes an entity a member of every group that some others are in. */
export async function joinGroupsOf(tx: Tx, fromIds: readonly string[], toId: string, nowMs: number): Promise<void> {
  const ids = await touchGroupsOf(tx, { entityIds: fromIds }, nowMs);
  const there = await tx.prisma.groupMember.findMany({ where: { entityId: toId, groupId: { in: ids } } });
  const joined = new Set(there.map(({ groupId }) => groupId));
  const data = ids.filter((groupId) => !joined.has(groupId)).map((groupId) => ({ groupId, entityId: toId }));
  if (data.length > 0) await tx.prisma.groupMember.createMany({ data });
}
