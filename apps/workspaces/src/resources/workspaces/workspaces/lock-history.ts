import { flag, hasOneOf, instant, type Page, text, toOne, whole } from '@keystead/jsonapi';
import type { WorkspaceLock } from '../../../generated/prisma/client';
import { actorTypes } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { serializerOf } from '../../../kernel/endpoints/endpoint';

/** A period in which a workspace was locked: the holder, the reason, the start, the end, and who ended it. */
export const lockSerializer = serializerOf<WorkspaceLock>()({
  type: 'workspace-locks',
  shape: {
    reason: text.nullable(),
    'locked-at': instant,
    'unlocked-at': instant.nullable(),
    forced: flag,
    'heartbeat-seconds': whole.nullable(),
    'expired-at': instant.nullable(),
  },
  relations: { 'locked-by': hasOneOf(actorTypes), 'unlocked-by': hasOneOf(actorTypes) },
  id: ({ id }) => String(id),
  attributes: ({ reason, lockedAt, unlockedAt, forced, heartbeatSeconds, expiresAt }) => ({
    reason,
    'locked-at': lockedAt,
    'unlocked-at': unlockedAt,
    forced,
    'heartbeat-seconds': heartbeatSeconds,
    'expired-at': expiresAt,
  }),
  relationships: ({ holderType, holderId, unlockedType, unlockedId }) => ({
    'locked-by': toOne(holderType, holderId),
    'unlocked-by': toOne(unlockedType ?? 'users', unlockedId),
  }),
});

/** The locks of a workspace, newest first. */
export async function listLocks(
  db: Database,
  workspaceId: string,
  page: Page,
): Promise<{ items: WorkspaceLock[]; total: number }> {
  const where = { workspaceId };
  const rows = { where, orderBy: { id: 'desc' as const }, skip: page.offset, take: page.size };
  return {
    items: await db.prisma.workspaceLock.findMany(rows),
    total: await db.prisma.workspaceLock.count({ where }),
  };
}
