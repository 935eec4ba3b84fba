import type { Keyring } from '@keystead/keyring';
import { isRefusal, type Refusal } from '@keystead/refusal';
import { recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { find as findWorkspace, type Workspace } from '../../workspaces/workspaces/workspace';
import { create } from './create';
import { tellOfWorkspace } from './note-notifications';
import { autoDestroySource, finalStatuses } from './statuses';

const BATCH = 20;

/** Temporary refusals: a later sweep tries the workspace again. */
const temporaryKinds: readonly string[] = ['unavailable', 'upstream', 'timeout', 'limited', 'conflict'];

/**
 * Queues destroy runs for workspaces whose auto-destroy time has come by the database's clock, and returns their
 * number. The time is cleared in the transaction that queues the run, so that there is exactly one run, even after a
 * crash. Safe to call concurrently. Decision 0130.
 */
export async function startAutoDestroy(db: Database, keyring: Keyring): Promise<number> {
  const due = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT w.id FROM workspace w JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
     WHERE w.auto_destroy_due_at <= now()
     ORDER BY w.auto_destroy_due_at, w.id LIMIT ${BATCH}`;
  let queued = 0;
  const problems: unknown[] = [];
  for (const { id } of due) {
    try {
      if (await destroyOne(db, keyring, id)) queued += 1;
    } catch (error) {
      // A failure does not delay the others.
      problems.push(error);
    }
  }
  if (problems.length > 0) throw problems[0];
  return queued;
}

async function destroyOne(db: Database, keyring: Keyring, id: string): Promise<boolean> {
  try {
    return await db.transaction(async (tx) => {
      const workspace = await take(tx, id);
      if (!workspace || (await isUnderWay(tx, id))) return false;
      if (workspace.currentStateVersionId === null) {
        await skip(tx, workspace, 'the workspace has no state: there is nothing to destroy');
        return false;
      }
      const message = `Queued to destroy what the workspace manages, as of ${timeOf(workspace).toISOString()}`;
      const input = { message, isDestroy: true, autoApply: true };
      await create(tx, keyring, { actor: system, applies: true, source: autoDestroySource }, workspace, input);
      return true;
    });
  } catch (error) {
    if (!isRefusal(error) || temporaryKinds.includes(error.kind)) throw error;
    await db.transaction(async (tx) => {
      const workspace = await take(tx, id);
      if (workspace) await skip(tx, workspace, reasonOf(error));
    });
    return false;
  }
}

const timeOf = ({ autoDestroyDueAt }: Workspace): Date => autoDestroyDueAt!;
const reasonOf = ({ message, issues }: Refusal): string =>
  issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ') || message;

/** Clears the auto-destroy time of a workspace if it is still due. Returns the previous state of the workspace. */
async function take(tx: Database, id: string): Promise<Workspace | undefined> {
  await lockRow(tx, 'workspace', id);
  const workspace = await findWorkspace(tx, id);
  const updated = await tx.prisma.$executeRaw`
    UPDATE workspace SET auto_destroy_at = NULL, auto_destroy_due_at = NULL
     WHERE id = ${id} AND auto_destroy_due_at <= now()`;
  return updated > 0 ? workspace : undefined;
}

/** Whether a destroy run is already waiting or in progress. */
async function isUnderWay({ prisma }: Database, workspaceId: string): Promise<boolean> {
  const where = { workspaceId, source: autoDestroySource, status: { notIn: [...finalStatuses] } };
  return (await prisma.run.count({ where })) > 0;
}

/** Reports why nothing is destroyed: in the audit trail, and in notifications of results. */
async function skip(tx: Database, workspace: Workspace, reason: string): Promise<void> {
  const { id, name, organizationId } = workspace;
  const at = timeOf(workspace).toISOString();
  await recordChange(tx, system, {
    organizationId,
    action: 'workspace.auto-destroy-skip',
    target: { type: 'workspaces', id, name },
    after: { at, reason },
  });
  await tellOfWorkspace(tx, id, 'workspace:auto_destroy_run_results', { auto_destroy_at: at, error: reason });
}

/** Sends a reminder 24 hours and 12 hours ahead. If the first reminder was missed, sends only the second. */
export async function remindOfAutoDestroy({ prisma }: Database): Promise<number> {
  return prisma.$executeRaw`
    WITH near AS (
      SELECT w.id, CASE WHEN t.at <= now() + interval '12 hours' THEN 12 ELSE 24 END AS hours
        FROM workspace w JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL,
             LATERAL (SELECT w.auto_destroy_due_at AS at) t
       WHERE w.auto_destroy_due_at <= now() + interval '24 hours' AND t.at > now()
       ORDER BY w.id),
    reminded AS (
      UPDATE workspace w SET auto_destroy_reminded = near.hours FROM near
       WHERE w.id = near.id AND w.auto_destroy_due_at > now()
         AND w.auto_destroy_due_at <= now() + near.hours * interval '1 hour'
         AND coalesce(w.auto_destroy_reminded, 25) > near.hours
      RETURNING w.id, w.project_id, w.auto_destroy_due_at AS at)
    INSERT INTO notification_delivery (id, configuration_id, workspace_id, trigger, details)
    SELECT 'nd-' || gen_random_uuid(), c.id, r.id, 'workspace:auto_destroy_reminder',
           jsonb_build_object('auto_destroy_at', to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      FROM reminded r JOIN notification_configuration c ON c.workspace_id = r.id OR c.project_id = r.project_id
     WHERE c.enabled AND 'workspace:auto_destroy_reminder' = ANY(c.triggers)`;
}
