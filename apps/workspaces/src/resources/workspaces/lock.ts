import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../kernel/audit';
import type { Database } from '../../kernel/database';
import { requireWorkspace } from './find';
import type { Workspace } from './workspace';

/** Who holds a lock: a person, a team, an organization, or a run. */
export interface Holder {
  readonly type: string;
  readonly id: string;
}

const SINGULAR: Record<string, string> = { users: 'User', teams: 'Team', organizations: 'Organization', runs: 'Run' };

async function nameOf(db: Database, { type, id }: Holder): Promise<string> {
  if (type !== 'users') {
    return id;
  }
  const user = await db.prisma.user.findUnique({ where: { id }, select: { username: true } });
  return user?.username ?? id;
}

/** `is locked by User ann`: the words by which clients tell why a workspace is not theirs. */
export async function lockedByWhom(db: Database, workspace: Workspace): Promise<string> {
  const holder = { type: workspace.lockedByType ?? 'users', id: workspace.lockedById ?? '' };
  return `is locked by ${SINGULAR[holder.type] ?? holder.type} ${await nameOf(db, holder)}`;
}

async function record(db: Database, actor: Actor, workspace: Workspace, action: string, reason?: string | null) {
  await recordChange(db, actor, {
    organizationId: workspace.organizationId,
    action,
    target: { type: 'workspaces', id: workspace.id, name: workspace.name },
    after: reason === undefined ? {} : { reason },
  });
}

/** Locks a workspace for the caller. Of many at once one wins; the others get `conflict`, the holder included. */
export async function lock(
  db: Database,
  actor: Actor,
  workspace: Workspace,
  reason: string | null,
): Promise<Workspace> {
  const lockedAt = new Date();
  return db.transaction(async (tx) => {
    const { count } = await tx.prisma.workspace.updateMany({
      where: { id: workspace.id, lockedAt: null },
      data: { lockedAt, lockedByType: actor.type, lockedById: actor.id, lockedReason: reason },
    });
    if (count === 0) {
      await requireWorkspace(tx, workspace.id);
      throw new Refusal('conflict', 'Unable to lock workspace. The workspace is already locked.');
    }
    await tx.prisma.workspaceLock.create({
      data: { workspaceId: workspace.id, holderType: actor.type, holderId: actor.id, reason, lockedAt },
    });
    await record(tx, actor, workspace, 'workspace.lock', reason);
    return requireWorkspace(tx, workspace.id);
  });
}

/** Uploads that were announced under a lock end with it: an orderly end waits for them, a forced one discards them. */
async function settleUploads(db: Database, workspaceId: string, forced: boolean): Promise<void> {
  const where = { workspaceId, status: 'pending' };
  if (forced) {
    await db.prisma.stateVersion.updateMany({ where, data: { status: 'discarded' } });
  } else if ((await db.prisma.stateVersion.count({ where })) > 0) {
    throw new Refusal('unavailable', 'Unable to unlock workspace. The latest state version is still pending.');
  }
}

async function release(db: Database, actor: Actor, workspace: Workspace, forced: boolean): Promise<Workspace> {
  await settleUploads(db, workspace.id, forced);
  await db.prisma.workspace.update({
    where: { id: workspace.id },
    data: { lockedAt: null, lockedByType: null, lockedById: null, lockedReason: null },
  });
  await db.prisma.workspaceLock.updateMany({
    where: { workspaceId: workspace.id, unlockedAt: null },
    data: { unlockedAt: new Date(), unlockedType: actor.type, unlockedId: actor.id, forced },
  });
  await record(db, actor, workspace, forced ? 'workspace.force-unlock' : 'workspace.unlock');
  return requireWorkspace(db, workspace.id);
}

async function locked(db: Database, id: string): Promise<Workspace> {
  await db.prisma.$queryRaw`SELECT id FROM workspace WHERE id = ${id} FOR UPDATE`;
  const current = await requireWorkspace(db, id);
  if (current.lockedAt === null) {
    throw new Refusal('conflict', 'Unable to unlock workspace. The workspace is already unlocked.');
  }
  return current;
}

/** Ends the caller's own lock. Throws `conflict` when there is none, or when somebody else holds it. */
export async function unlock(db: Database, actor: Actor, workspace: Workspace): Promise<Workspace> {
  return db.transaction(async (tx) => {
    const current = await locked(tx, workspace.id);
    if (current.lockedByType !== actor.type || current.lockedById !== actor.id) {
      const whom = await lockedByWhom(tx, current);
      throw new Refusal(
        'conflict',
        `Unable to unlock workspace. The workspace ${whom} and may not be unlocked except by them.`,
      );
    }
    return release(tx, actor, current, false);
  });
}

/** Ends anybody's lock. Throws `conflict` when there is none. */
export async function forceUnlock(db: Database, actor: Actor, workspace: Workspace): Promise<Workspace> {
  return db.transaction(async (tx) => release(tx, actor, await locked(tx, workspace.id), true));
}
