import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { LockTerms } from './lock-batch';
import { locking, unlocking } from './lock-batch';
import { rememberWorkspace, type WorkspaceStamp, workspaceAt } from './stamp';
import { find, requireWorkspace, type Workspace } from './workspace';

/** The holder of a lock: a user, a team, an organization, or a run. */
export interface LockHolder {
  readonly type: string;
  readonly id: string;
}

const SINGULAR: ReadonlyMap<string, string> = new Map(
  Object.entries({ users: 'User', teams: 'Team', organizations: 'Organization', runs: 'Run' }),
);

async function nameOf(db: Database, { type, id }: LockHolder): Promise<string> {
  if (type !== 'users') return id;
  const user = await db.prisma.user.findUnique({ where: { id }, select: { username: true } });
  return user?.username ?? id;
}

/** A message such as `is locked by User ann`. Clients recognize a lock conflict by this form. */
export async function lockedByWhom(db: Database, workspace: Workspace): Promise<string> {
  const holder = { type: workspace.lockedByType ?? 'users', id: workspace.lockedById ?? '' };
  return `is locked by ${SINGULAR.get(holder.type) ?? holder.type} ${await nameOf(db, holder)}`;
}

async function record(db: Database, actor: Actor, workspace: Workspace, action: string) {
  await recordChange(db, actor, {
    organizationId: workspace.organizationId,
    action,
    target: { type: 'workspaces', id: workspace.id, name: workspace.name },
    after: {},
  });
}

/**
 * Locks a workspace for the caller. Of simultaneous requests, only one succeeds. The others get `conflict`, even if
 * they come from the holder.
 */
export async function lock(db: Database, actor: Actor, stamp: WorkspaceStamp, terms: LockTerms): Promise<Workspace> {
  const workspace = await workspaceAt(db, stamp);
  const request = { actor, workspace, terms };
  const outcome = await db.write(locking, request);
  const expired = outcome.name === 'expired' && (await releaseExpired(db, workspace.id)) > 0;
  const locked = expired ? await db.write(locking, request) : outcome;
  if (locked.name !== 'done') {
    await requireWorkspace(db, workspace.id);
    throw new Refusal('conflict', 'Unable to lock workspace. The workspace is already locked.');
  }
  return afterwards(db, workspace.id, locked.workspace);
}

/** The workspace after a change: from the result of the change if it has it, otherwise read again. */
async function afterwards(db: Database, id: string, workspace: Workspace | undefined): Promise<Workspace> {
  if (workspace === undefined) return requireWorkspace(db, id);
  rememberWorkspace(db, workspace);
  return workspace;
}

const stillPending = () =>
  new Refusal('unavailable', 'Unable to unlock workspace. The latest state version is still pending.');
const alreadyUnlocked = () => new Refusal('conflict', 'Unable to unlock workspace. The workspace is already unlocked.');

async function release(db: Database, actor: Actor, workspace: Workspace): Promise<Workspace> {
  // Uploads that were announced under a lock that has been released by force are no longer expected.
  await db.prisma.stateVersion.updateMany({
    where: { workspaceId: workspace.id, status: 'pending' },
    data: { status: 'discarded' },
  });
  await db.prisma.workspace.update({
    where: { id: workspace.id },
    data: { lockedAt: null, lockedByType: null, lockedById: null, lockedReason: null },
  });
  await db.prisma.workspaceLock.updateMany({
    where: { workspaceId: workspace.id, unlockedAt: null },
    data: { unlockedAt: await databaseNow(db), unlockedType: actor.type, unlockedId: actor.id, forced: true },
  });
  await record(db, actor, workspace, 'workspace.force-unlock');
  return requireWorkspace(db, workspace.id);
}

async function locked(db: Database, id: string): Promise<Workspace> {
  await lockRow(db, 'workspace', id);
  const current = await requireWorkspace(db, id);
  if (current.lockedAt === null) throw alreadyUnlocked();
  return current;
}

/**
 * Releases the caller's own lock. Throws `conflict` if the workspace is not locked, or if someone else holds the lock.
 */
export async function unlock(db: Database, actor: Actor, stamp: WorkspaceStamp): Promise<Workspace> {
  const workspace = await workspaceAt(db, stamp);
  const outcome = await db.write(unlocking, { actor, workspace });
  const current = await afterwards(db, workspace.id, outcome.workspace);
  if (outcome.name === 'pending') throw stillPending();
  if (outcome.name === 'free') throw alreadyUnlocked();
  if (outcome.name === 'other') {
    const whom = await lockedByWhom(db, current);
    const why = `The workspace ${whom} and may not be unlocked except by them.`;
    throw new Refusal('conflict', `Unable to unlock workspace. ${why}`);
  }
  return current;
}

/**
 * Extends the caller's lock with a heartbeat. Throws `conflict` if the caller holds no lock that expects heartbeats.
 */
export async function heartbeat(db: Database, actor: Actor, workspace: Workspace): Promise<Workspace> {
  const beaten = await db.rows({
    name: 'workspace_lock_heartbeat',
    text: `UPDATE workspace_lock SET expires_at = now() + make_interval(secs => heartbeat_seconds)
            WHERE workspace_id = $1 AND unlocked_at IS NULL AND heartbeat_seconds IS NOT NULL
              AND holder_type = $2 AND holder_id = $3 RETURNING id`,
    values: [workspace.id, actor.type, actor.id],
  });
  if (beaten.length === 0) throw new Refusal('conflict', 'The workspace is not locked by you with a heartbeat');
  return requireWorkspace(db, workspace.id);
}

/**
 * Ends the locks whose holders opted in to heartbeats and stopped sending them, by the database's clock. Returns their
 * number.
 */
export async function releaseExpired(db: Database, workspaceId?: string): Promise<number> {
  const expired = await db.prisma.$queryRaw<{ workspace_id: string }[]>`
    SELECT l.workspace_id FROM workspace_lock l JOIN workspace w ON w.id = l.workspace_id
      JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
     WHERE l.unlocked_at IS NULL AND l.expires_at < now()
       AND l.workspace_id = coalesce(${workspaceId ?? null}, l.workspace_id) LIMIT 100`;
  let released = 0;
  for (const { workspace_id: id } of expired) {
    released += await db.transaction(async (tx) => {
      await lockRow(tx, 'workspace', id);
      // This is checked again under the row's lock, because the workspace's lock may have been extended or ended in
      // between.
      const still = await tx.prisma.$queryRaw<unknown[]>`
        SELECT 1 FROM workspace_lock WHERE workspace_id = ${id} AND unlocked_at IS NULL AND expires_at < now() FOR UPDATE`;
      if (still.length === 0) return 0;
      // Its organization may have been deleted in the meantime.
      const workspace = await find(tx, id);
      if (workspace === undefined) return 0;
      await release(tx, system, workspace);
      return 1;
    });
  }
  return released;
}

async function databaseNow(db: Database): Promise<Date> {
  const [row] = await db.prisma.$queryRaw<{ now: Date }[]>`SELECT now() AS now`;
  return row!.now;
}

/** Releases any lock. Throws `conflict` if the workspace is not locked. */
export async function forceUnlock(db: Database, actor: Actor, workspace: Workspace): Promise<Workspace> {
  return db.transaction(async (tx) => release(tx, actor, await locked(tx, workspace.id)));
}
