import type { Actor } from '../../kernel/audit';
import type { Database } from '../../kernel/database';
import type { Batched } from '../../kernel/together';
import { auditColumns, auditJson } from './hot-write';
import type { LockTerms } from './schema';
import type { Workspace } from './workspace';

/** Somebody wants a lock. */
export interface LockWish {
  readonly actor: Actor;
  readonly workspace: Workspace;
  readonly terms: LockTerms;
}

/** Somebody gives a lock back. */
export interface UnlockWish {
  readonly actor: Actor;
  readonly workspace: Workspace;
}

interface State {
  holderType: string | null;
  holderId: string | null;
  expired: boolean;
  pending: boolean;
}

// Rows are always taken in the same order, so that batches of several nodes cannot wait for each other in a circle.
const hold = `SELECT id FROM workspace WHERE id = ANY($1) ORDER BY id FOR UPDATE`;
// A statement of its own: it sees what was committed before the rows were ours.
const look = `
  SELECT w.id, w.locked_by_type, w.locked_by_id, w.locked_at IS NOT NULL AS locked,
         EXISTS (SELECT 1 FROM workspace_lock l WHERE l.workspace_id = w.id AND l.unlocked_at IS NULL
                    AND l.expires_at < clock_timestamp()) AS expired,
         EXISTS (SELECT 1 FROM state_version s WHERE s.workspace_id = w.id AND s.status = 'pending') AS pending
    FROM workspace w WHERE w.id = ANY($1)`;

const audited = `INSERT INTO audit_event (${auditColumns})
  SELECT ${auditColumns} FROM jsonb_populate_recordset(NULL::audit_event, $2::jsonb)`;
const given = `given AS (SELECT * FROM jsonb_to_recordset($1::jsonb)
  AS x(id text, holder_type text, holder_id text, reason text, heartbeat_seconds int))`;

const lockAll = `WITH ${given}, changed AS (
    UPDATE workspace w SET locked_at = clock_timestamp(), locked_by_type = x.holder_type, locked_by_id = x.holder_id,
           locked_reason = x.reason
      FROM given x WHERE w.id = x.id AND w.locked_at IS NULL RETURNING w.id, w.locked_at),
  noted AS (
    INSERT INTO workspace_lock (workspace_id, holder_type, holder_id, reason, locked_at, heartbeat_seconds, expires_at)
    SELECT x.id, x.holder_type, x.holder_id, x.reason, c.locked_at, x.heartbeat_seconds,
           c.locked_at + make_interval(secs => x.heartbeat_seconds)
      FROM given x JOIN changed c ON c.id = x.id)
  ${audited}`;

const unlockAll = `WITH ${given}, changed AS (
    UPDATE workspace w SET locked_at = NULL, locked_by_type = NULL, locked_by_id = NULL, locked_reason = NULL
      FROM given x WHERE w.id = x.id RETURNING w.id),
  noted AS (
    UPDATE workspace_lock l SET unlocked_at = clock_timestamp(), unlocked_type = x.holder_type, unlocked_id = x.holder_id
      FROM given x WHERE l.workspace_id = x.id AND l.unlocked_at IS NULL)
  ${audited}`;

async function statesOf(tx: Database, ids: readonly string[]): Promise<Map<string, State>> {
  await tx.prisma.$queryRawUnsafe(hold, ids);
  const rows = await tx.prisma.$queryRawUnsafe<
    { id: string; locked_by_type: string; locked_by_id: string; locked: boolean; expired: boolean; pending: boolean }[]
  >(look, ids);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        holderType: row.locked ? row.locked_by_type : null,
        holderId: row.locked ? row.locked_by_id : null,
        expired: row.expired,
        pending: row.pending,
      },
    ]),
  );
}

const idsOf = (wishes: readonly UnlockWish[]): string[] => [...new Set(wishes.map(({ workspace }) => workspace.id))];

async function write(tx: Database, statement: string, granted: readonly (UnlockWish & Partial<LockWish>)[]) {
  if (granted.length === 0) return;
  const rows = granted.map(({ actor, workspace, terms }) => ({
    id: workspace.id,
    holder_type: actor.type,
    holder_id: actor.id,
    reason: terms?.reason,
    heartbeat_seconds: terms?.heartbeatSeconds,
  }));
  const events = granted.map(({ actor, workspace, terms }) =>
    auditJson(actor, {
      organizationId: workspace.organizationId,
      action: terms ? 'workspace.lock' : 'workspace.unlock',
      target: { type: 'workspaces', id: workspace.id, name: workspace.name },
      after: terms ? { reason: terms.reason } : {},
    }),
  );
  await tx.prisma.$executeRawUnsafe(statement, JSON.stringify(rows), JSON.stringify(events));
}

/** Takes locks: `done`, `held` by somebody, or `expired`: held by somebody who shows no life. */
export const locking: Batched<LockWish, 'done' | 'held' | 'expired', Database> = {
  name: 'workspace-lock',
  run: (db, wishes) =>
    db.transaction(async (tx) => {
      const states = await statesOf(tx, idsOf(wishes));
      const granted: LockWish[] = [];
      const outcomes = wishes.map((wish) => {
        const state = states.get(wish.workspace.id);
        if (!state) return 'held';
        if (state.holderId !== null) return state.expired ? 'expired' : 'held';
        state.holderId = wish.actor.id;
        granted.push(wish);
        return 'done';
      });
      await write(tx, lockAll, granted);
      return outcomes;
    }),
};

/** Gives locks back: `done`, or why not: nobody holds it, somebody else does, an announced upload has not come yet. */
export const unlocking: Batched<UnlockWish, 'done' | 'free' | 'other' | 'pending', Database> = {
  name: 'workspace-unlock',
  run: (db, wishes) =>
    db.transaction(async (tx) => {
      const states = await statesOf(tx, idsOf(wishes));
      const granted: UnlockWish[] = [];
      const outcomes = wishes.map((wish) => {
        const state = states.get(wish.workspace.id);
        if (!state || state.holderId === null) return 'free';
        if (state.holderType !== wish.actor.type || state.holderId !== wish.actor.id) return 'other';
        if (state.pending) return 'pending';
        state.holderId = null;
        granted.push(wish);
        return 'done';
      });
      await write(tx, unlockAll, granted);
      return outcomes;
    }),
};
