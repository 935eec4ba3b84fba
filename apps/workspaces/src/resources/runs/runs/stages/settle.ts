import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Actor } from '../../../../kernel/audit/audit';
import { recordChange } from '../../../../kernel/audit/audit';
import type { Database } from '../../../../kernel/database/database';
import type { TaskStageName } from '../../../workspaces/run-tasks/run-task';
import { addComment } from '../actions';
import { goOn } from '../after-plan';
import { enqueueNow, finish } from '../queue';
import type { Run } from '../run';
import { lockRun, moveRun, recordEvent } from '../transition';
import { moveStage } from './stages';

/** Goes on with a run once all tasks of a stage have ended. To be called with the run held. */
export async function settleStage(tx: Database, run: Run, id: string): Promise<void> {
  const found = await tx.prisma.taskStage.findUnique({ where: { id }, include: { results: true } });
  if (found?.status !== 'running') return;
  if (found.results.some(({ status }) => status === 'pending' || status === 'running')) return;
  const stage = found.stage as TaskStageName;
  const against = found.results.filter((one) => one.enforcementLevel === 'mandatory' && one.status !== 'passed');
  if (against.length === 0) {
    await moveStage(tx, id, 'passed');
    return leaveStage(tx, run, stage);
  }
  const names = against.map(({ taskName }) => taskName).join(', ');
  const reason = `Mandatory run tasks did not pass: ${names}`;
  if (stage === 'post_apply') {
    await moveStage(tx, id, 'failed');
    await recordEvent(tx, run.id, 'post-apply-failed', { description: reason });
    return;
  }
  if (run.planOnly) {
    await moveStage(tx, id, 'failed');
    return finish(tx, run, 'errored', { reason });
  }
  await moveStage(tx, id, 'awaiting_override');
  await moveRun(tx, run.id, `${stage}_awaiting_decision`, { reason });
}

/** What comes after the tasks of a stage. */
async function leaveStage(tx: Database, run: Run, stage: TaskStageName): Promise<void> {
  if (stage === 'post_apply') return recordEvent(tx, run.id, 'post-apply-completed');
  if (stage === 'post_plan') return goOn(tx, run, run.hasChanges === true, 'post_plan_completed');
  await moveRun(tx, run.id, `${stage}_completed`);
  const kind = stage === 'pre_plan' ? 'plan' : 'apply';
  await enqueueNow(tx, { id: run.id, phaseId: kind === 'plan' ? run.planId : run.applyId }, kind);
}

/** Lets a run go on although mandatory tasks did not pass. Throws `transition` where nothing waits for that. */
export async function overrideStage(
  db: Database,
  keyring: Keyring,
  { actor, comment }: { readonly actor: Actor; readonly comment: string | null },
  { id, runId }: { readonly id: string; readonly runId: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const run = await lockRun(tx, keyring, runId);
    const found = await tx.prisma.taskStage.findUnique({ where: { id } });
    if (found?.status !== 'awaiting_override') {
      throw new Refusal('transition', `transition not allowed: a stage that is ${found?.status} cannot be overridden`);
    }
    await moveStage(tx, id, 'passed');
    await recordEvent(tx, runId, 'task-stage-overridden', { actor, description: comment });
    if (comment !== null) await addComment(tx, runId, actor, comment);
    const { organizationId, workspaceName: name } = run;
    const change = { organizationId, action: 'task-stage.override', target: { type: 'task-stages', id, name } };
    await recordChange(tx, actor, { ...change, after: { runId, stage: found.stage, comment } });
    await leaveStage(tx, run, found.stage as TaskStageName);
  });
}
