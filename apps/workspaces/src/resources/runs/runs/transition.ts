import type { Keyring } from '@keystead/keyring';
import { isRefusal, notFound } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { notesOf } from './note-notifications';
import { findLocked, type LockedRun } from './run';
import { finalStatuses, type PhaseStatus, type RunStatus } from './statuses';

/**
 * Locks the workspace of a run and then the run itself until the transaction ends, always in this order. Returns the
 * run as it is then. Throws `missing`.
 */
export async function lockRun(tx: Database, keyring: Keyring, id: string): Promise<LockedRun> {
  const [row] = await tx.prisma.$queryRaw<{ workspace_id: string }[]>`SELECT workspace_id FROM run WHERE id = ${id}`;
  if (!row) throw notFound();
  // All changes of runs and of a workspace's lock wait for each other.
  await lockRow(tx, 'workspace', row.workspace_id);
  const run = await findLocked(tx, keyring, id);
  if (!run) throw notFound();
  return run;
}

/** Like `lockRun`, but returns undefined if the run was deleted with its workspace. */
export async function lockRunIfThere(tx: Database, keyring: Keyring, id: string): Promise<LockedRun | undefined> {
  try {
    return await lockRun(tx, keyring, id);
  } catch (error) {
    if (isRefusal(error) && error.kind === 'missing') return undefined;
    throw error;
  }
}

// RFC 3339 with an offset and no fraction, because clients parse it strictly.
/** SQL: now, in the format of the runs' timestamps. */
export const stampNow = Prisma.sql`to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')`;

const stampOf: ReadonlyMap<string, string> = new Map(
  Object.entries({ pending: 'plan-queueable-at', running: 'started-at' }),
);
const stampName = (status: string): string => stampOf.get(status) ?? `${status.replace(/_/g, '-')}-at`;

/** Records an event of a run; `actor` is set if a caller requested it. */
export async function recordEvent(
  tx: Database,
  runId: string,
  action: string,
  more: { actor?: Pick<Actor, 'type' | 'id'>; description?: string | null; commentId?: string } = {},
): Promise<void> {
  await tx.prisma.runEvent.create({
    data: {
      id: newId('re'),
      runId,
      action,
      description: more.description,
      actorType: more.actor?.type,
      actorId: more.actor?.id,
      commentId: more.commentId,
    },
  });
}

/**
 * Moves a run to a status, and records the timestamp, the reason, an event, and notifications. A final status is
 * recorded as the end. Assessments have no events, and only their result is notified.
 */
export async function moveRun(
  tx: Database,
  id: string,
  status: RunStatus,
  more: { reason?: string | null; actor?: Pick<Actor, 'type' | 'id'>; stamp?: string; event?: string } = {},
): Promise<void> {
  const isOver = finalStatuses.includes(status);
  const { actor, reason = null } = more;
  const notes = notesOf(Prisma.sql`moved`, status, actor);
  await tx.prisma.$executeRaw`
    WITH changed AS (
      UPDATE run SET status = ${status}, status_reason = ${reason},
             timestamps = timestamps || jsonb_build_object(${more.stamp ?? stampName(status)}::text, ${stampNow}),
             finished_at = CASE WHEN ${isOver} THEN now() END
       WHERE id = ${id} RETURNING id, workspace_id, auto_apply, source, is_assessment),
    moved AS (SELECT * FROM changed WHERE NOT is_assessment)
    ${notes ? Prisma.sql`, noted AS (${notes})` : Prisma.empty}
    INSERT INTO run_event (id, run_id, action, description, actor_type, actor_id, created_at)
    SELECT ${newId('re')}, id, ${more.event ?? status.replace(/_/g, '-')}, ${reason}, ${actor?.type ?? null}, ${actor?.id ?? null},
           clock_timestamp() FROM moved`;
}

/** The properties of a workspace that are needed to end a run. */
interface RunEnd {
  readonly name: string;
  readonly organizationId: string;
  /** Whether the run holds the lock of the workspace. */
  readonly locked: boolean;
  /** Whether the run has stages. */
  readonly staged: boolean;
}

/**
 * Ends the remaining phases and the job of a finished run. Returns its workspace, whether the run holds its lock, and
 * whether the run has stages; undefined if the workspace was deleted. Call it while the workspace is locked.
 */
export async function endPhases(
  tx: Database,
  run: { readonly id: string; readonly workspaceId: string },
  as: 'errored' | 'canceled',
): Promise<RunEnd | undefined> {
  const [found] = await tx.prisma.$queryRaw<RunEnd[]>`
    WITH job AS (UPDATE run_job SET state = 'done' WHERE run_id = ${run.id} AND state <> 'done'),
    phases AS (
      UPDATE run_phase SET status = CASE WHEN status = 'pending' THEN 'unreachable' ELSE ${as} END,
             timestamps = CASE WHEN status = 'pending' THEN timestamps
                               ELSE timestamps || jsonb_build_object(${stampName(as)}::text, ${stampNow}) END
       WHERE run_id = ${run.id} AND status IN ('pending', 'queued', 'running'))
    SELECT w.name, w.organization_id AS "organizationId",
           coalesce(w.locked_by_type = 'runs' AND w.locked_by_id = ${run.id}, false) AS locked,
           EXISTS (SELECT 1 FROM task_stage t WHERE t.run_id = ${run.id}) AS staged
      FROM workspace w WHERE w.id = ${run.workspaceId}`;
  return found;
}

/** Moves a plan or an apply to a status, with its timestamp. */
export async function movePhase(
  tx: Database,
  id: string,
  status: Exclude<PhaseStatus, 'unreachable'>,
  more: Prisma.RunPhaseUpdateManyMutationInput & {
    jsonBlobId?: string | null;
    redactedBlobId?: string | null;
    planBlobId?: string | null;
  } = {},
): Promise<void> {
  if (Object.keys(more).length > 0) await tx.prisma.runPhase.updateMany({ where: { id }, data: more });
  await tx.prisma.$executeRaw`
    UPDATE run_phase SET status = ${status},
           timestamps = timestamps || jsonb_build_object(${stampName(status)}::text, ${stampNow})
     WHERE id = ${id}`;
}
