import type { Database } from '../../../kernel/database/database';
import { enqueue, finish, lockFor } from './queue';
import { decideUnattended } from './rights-at-effect';
import type { Run } from './run';
import { preparePolicies } from './stages/policies';
import { enterStage, hasStage } from './stages/stages';
import { moveRun } from './transition';

/** What follows a plan that succeeded: its tasks and policies, those among them that came while it was made; or what follows them. */
export async function afterPlan(tx: Database, run: Run, hasChanges: boolean): Promise<void> {
  await preparePolicies(tx, run.id);
  if (!(await hasStage(tx, run.id, 'post_plan'))) return goOn(tx, run, hasChanges, 'planned');
  await moveRun(tx, run.id, 'planned');
  await enterStage(tx, run.id, 'post_plan');
}

/** The end, an apply, or waiting for confirmation. */
export async function goOn(
  tx: Database,
  run: Run,
  hasChanges: boolean,
  status: 'planned' | 'post_plan_completed',
): Promise<void> {
  const ends = run.planOnly || (!hasChanges && !run.allowEmptyApply);
  const { applies, reason } = ends ? { applies: false, reason: null } : await decideUnattended(tx, run);
  await moveRun(tx, run.id, status, { reason });
  if (ends) return finish(tx, run, 'planned_and_finished');
  if (run.savePlan) return moveRun(tx, run.id, 'planned_and_saved');
  // If the lock was taken away meanwhile, nothing is applied until it is confirmed.
  if (!applies || !(await lockFor(tx, run.workspaceId, run.id))) return;
  await moveRun(tx, run.id, 'confirmed');
  await enqueue(tx, { id: run.id, phaseId: run.applyId }, 'apply');
}
