import type { Keyring } from '@keystead/keyring';
import { isRefusal } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { find as findWorkspace } from '../../workspaces/workspaces/workspace';
import { create } from './create';
import { find, type LockedRun } from './run';
import { runTriggerSource } from './statuses';

const BATCH = 20;

interface Due {
  readonly id: string;
  readonly workspace_id: string;
  readonly due_run_id: string;
}

/** Records, together with the apply of a run, that the workspaces it triggers are due for a run. */
export async function noteApplied(tx: Database, run: LockedRun): Promise<void> {
  await tx.prisma.runTrigger.updateMany({ where: { sourceableId: run.workspaceId }, data: { dueRunId: run.id } });
}

/** Starts the runs that are due after runs of other workspaces, and returns their number. Safe to call concurrently. */
export async function startTriggered(db: Database, keyring: Keyring): Promise<number> {
  const due = await db.prisma.$queryRaw<Due[]>`
    SELECT id, workspace_id, due_run_id FROM run_trigger WHERE due_run_id IS NOT NULL ORDER BY id LIMIT ${BATCH}`;
  let started = 0;
  for (const one of due) if (await startOne(db, keyring, one)) started += 1;
  return started;
}

/**
 * Starts one due run. If the workspace refuses the run, for example because it has no configuration or no remote runs,
 * the run is not retried.
 */
async function startOne(db: Database, keyring: Keyring, due: Due): Promise<boolean> {
  try {
    return await db.transaction(async (tx) => {
      // The workspace is locked before the trigger, because applies lock in this order.
      await lockRow(tx, 'workspace', due.workspace_id);
      if (!(await take(tx, due))) return false;
      const [workspace, source] = await Promise.all([
        findWorkspace(tx, due.workspace_id),
        find(tx, keyring, due.due_run_id),
      ]);
      if (!workspace || !source) return false;
      const actor = { type: source.createdByType as Actor['type'], id: source.createdById ?? '', name: source.id };
      await create(tx, keyring, { actor, applies: true, source: runTriggerSource }, workspace, {
        message: `Triggered by the apply of ${source.id}`,
        autoApply: workspace.autoApplyRunTrigger,
      });
      return true;
    });
  } catch (error) {
    if (!isRefusal(error) || error.kind !== 'invalid') throw error;
    await take(db, due);
    return false;
  }
}

async function take({ prisma }: Database, { id, due_run_id: dueRunId }: Due): Promise<boolean> {
  return (await prisma.runTrigger.updateMany({ where: { id, dueRunId }, data: { dueRunId: null } })).count > 0;
}
