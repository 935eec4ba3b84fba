import { bare, type ParsedDocument } from '@keystead/jsonapi';
import { z } from 'zod';
import { type Actor, auditColumns, auditJson } from '../../../kernel/audit/audit';
import type { Batch, Batched, NamedStatement } from '../../../kernel/database/database';
import type { Workspace } from './workspace';

/**
 * The reason for a lock, and how long it outlives the last heartbeat of its holder. Without this time, it does not
 * expire.
 */
export const LockBody = bare({
  reason: z.string().max(2048).nullish(),
  'heartbeat-seconds': z.int().min(10).max(86_400).nullish(),
});
export type LockTerms = ParsedDocument<typeof LockBody>;

/** A request to release a lock. */
export interface UnlockRequest {
  readonly actor: Actor;
  readonly workspace: Workspace;
}

/** A request to take a lock. */
export interface LockRequest extends UnlockRequest {
  readonly terms: LockTerms;
}

/**
 * The result of a request. `workspace` is its current state, omitted if another request changed it after it was read.
 */
export interface Outcome<Name extends string> {
  readonly name: Name;
  readonly workspace?: Workspace;
}

interface LockRow {
  readonly [column: string]: unknown;
  readonly n: number;
  readonly was: string;
  readonly revision: string | null;
  readonly locked_at: Date | null;
  readonly locked: boolean;
  readonly is_holder: boolean;
  readonly expired?: boolean;
}

const holds: NamedStatement = {
  name: 'workspace_hold',
  text: 'SELECT FROM workspace WHERE id = ANY($1) ORDER BY id FOR UPDATE',
};

// If a batch has several requests for one workspace, the first that can be granted wins. `$3` tells the planner how few rows there are.
const requestRows = `asked AS (
    SELECT x.*, w.revision AS was, w.locked_at IS NOT NULL AS locked,
           w.locked_at IS NOT NULL AND w.locked_by_type = x.holder_type AND w.locked_by_id = x.holder_id AS is_holder
      FROM jsonb_to_recordset($1::jsonb)
             AS x(n int, id text, holder_type text, holder_id text, reason text, heartbeat_seconds int)
      JOIN workspace w ON w.id = x.id AND w.id = ANY($3))`;
const audited = `audited AS (
    INSERT INTO audit_event (${auditColumns})
    SELECT ${auditColumns} FROM jsonb_populate_recordset(NULL::audit_event, $2::jsonb) WITH ORDINALITY a
     WHERE a.ordinality IN (SELECT n FROM changed))`;
const outcomes =
  'x.n, x.was, x.locked, x.is_holder, c.revision, c.locked_at FROM asked x LEFT JOIN changed c ON c.n = x.n';

const lockAll: NamedStatement = {
  name: 'workspace_lock_all',
  text: `WITH ${requestRows}, granted AS (
    SELECT DISTINCT ON (id) * FROM asked WHERE NOT locked ORDER BY id, n),
  changed AS (
    UPDATE workspace w SET locked_at = clock_timestamp(), locked_by_type = x.holder_type, locked_by_id = x.holder_id,
           locked_reason = x.reason
      FROM granted x WHERE w.id = x.id AND w.id = ANY($3) AND w.locked_at IS NULL
    RETURNING x.n, w.id, w.locked_at, w.revision),
  recorded AS (
    INSERT INTO workspace_lock (workspace_id, holder_type, holder_id, reason, locked_at, heartbeat_seconds, expires_at)
    SELECT x.id, x.holder_type, x.holder_id, x.reason, c.locked_at, x.heartbeat_seconds,
           c.locked_at + make_interval(secs => x.heartbeat_seconds)
      FROM granted x JOIN changed c ON c.n = x.n),
  ${audited}
  SELECT x.locked AND EXISTS (SELECT 1 FROM workspace_lock l WHERE l.workspace_id = x.id AND l.unlocked_at IS NULL
                                 AND l.expires_at < clock_timestamp()) AS expired, ${outcomes}`,
};

const unlockAll: NamedStatement = {
  name: 'workspace_unlock_all',
  text: `WITH ${requestRows}, granted AS (
    SELECT DISTINCT ON (id) * FROM asked x
     WHERE is_holder AND NOT EXISTS (SELECT 1 FROM state_version s WHERE s.workspace_id = x.id AND s.status = 'pending')
     ORDER BY id, n),
  changed AS (
    UPDATE workspace w SET locked_at = NULL, locked_by_type = NULL, locked_by_id = NULL, locked_reason = NULL
      FROM granted x WHERE w.id = x.id AND w.id = ANY($3) AND w.locked_at IS NOT NULL
    RETURNING x.n, w.id, w.locked_at, w.revision),
  recorded AS (
    UPDATE workspace_lock l SET unlocked_at = clock_timestamp(), unlocked_type = x.holder_type, unlocked_id = x.holder_id
      FROM granted x JOIN changed c ON c.n = x.n
     WHERE l.workspace_id = x.id AND l.workspace_id = ANY($3) AND l.unlocked_at IS NULL),
  ${audited}
  SELECT ${outcomes}`,
};

type LockChange = UnlockRequest & Partial<LockRequest>;

/** The workspace after the change; undefined if another request has changed it since it was read. */
function after(
  { actor, workspace, terms }: LockChange,
  { was, revision, locked_at: lockedAt }: LockRow,
): Workspace | undefined {
  if (BigInt(was) !== workspace.revision) return undefined;
  return {
    ...workspace,
    lockedAt,
    lockedByType: terms ? actor.type : null,
    lockedById: terms ? actor.id : null,
    lockedReason: terms?.reason ?? null,
    revision: BigInt(revision!),
  };
}

function requested<Name extends string>(
  requests: readonly LockChange[],
  why: (row: LockRow | undefined, wasDone: boolean) => Name,
): Batch<Outcome<Name | 'done'>> {
  const ids = [...new Set(requests.map(({ workspace }) => workspace.id))];
  const rows = requests.map(({ actor, workspace, terms }, n) => ({
    n: n + 1,
    id: workspace.id,
    holder_type: actor.type,
    holder_id: actor.id,
    reason: terms?.reason,
    heartbeat_seconds: terms?.heartbeatSeconds,
  }));
  const events = requests.map(({ actor, workspace, terms }) =>
    auditJson(actor, {
      organizationId: workspace.organizationId,
      action: terms ? 'workspace.lock' : 'workspace.unlock',
      target: { type: 'workspaces', id: workspace.id, name: workspace.name },
      after: terms ? { reason: terms.reason ?? null } : {},
    }),
  );
  return {
    heldKeys: ids,
    values: [JSON.stringify(rows), JSON.stringify(events), ids],
    settle(found) {
      const byNumber = new Map((found as LockRow[]).map((row) => [row.n, row]));
      const grantedIds = new Set(
        requests.filter((_, n) => byNumber.get(n + 1)?.revision).map(({ workspace }) => workspace.id),
      );
      return requests.map((request, n) => {
        const row = byNumber.get(n + 1);
        return row?.revision
          ? { name: 'done' as const, workspace: after(request, row) }
          : { name: why(row, grantedIds.has(request.workspace.id)) };
      });
    },
  };
}

/** Takes locks. Returns `done`, `held`, or `expired` (held by someone who has stopped sending heartbeats). */
export const locking: Batched<LockRequest, Outcome<'done' | 'held' | 'expired'>> = {
  ...lockAll,
  holds,
  batch: (requests) => requested(requests, (row) => (row?.expired ? 'expired' : 'held')),
};

/**
 * Releases locks. Returns `done`, or the reason why not: `free` (not locked), `other` (held by someone else), `pending`
 * (the latest state version has not been uploaded).
 */
export const unlocking: Batched<UnlockRequest, Outcome<'done' | 'free' | 'other' | 'pending'>> = {
  ...unlockAll,
  holds,
  batch: (requests) =>
    requested(requests, (row, wasDone) => {
      if (!row?.locked || wasDone) return 'free';
      return row.is_holder ? 'pending' : 'other';
    }),
};
