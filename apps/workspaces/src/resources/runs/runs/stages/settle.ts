import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange, system } from '../../../../kernel/audit/audit';
import type { Database } from '../../../../kernel/database/database';
import type { TaskStageName } from '../../../workspaces/run-tasks/run-task';
import { addComment } from '../actions';
import { enqueueNow, finish, goOn } from '../queue';
import type { LockedRun } from '../run';
import { lockRun, moveRun, recordEvent } from '../transition';
import { isOverridable, moveEvaluation, namesAgainst, type SetVerdict, verdictOf } from './policies';
import { moveStage } from './stages';

const evaluationInclude = {
  setOutcomes: { select: { policySetName: true, overridable: true, outcomes: true, error: true } },
} as const;

/**
 * Continues a run once all tasks of a stage have ended and its policies have been evaluated. Call it while the run is
 * locked.
 */
export async function settleStage(tx: Database, run: LockedRun, id: string): Promise<void> {
  const found = await tx.prisma.taskStage.findUnique({
    where: { id },
    include: { results: true, evaluations: { include: evaluationInclude } },
  });
  if (found?.status !== 'running') return;
  const parts = [...found.results, ...found.evaluations];
  if (parts.some(({ status }) => status === 'pending' || status === 'running')) return;
  const stage = found.stage as TaskStageName;
  const against = found.results.filter((one) => one.enforcementLevel === 'mandatory' && one.status !== 'passed');
  const refusing = found.evaluations.filter(({ status }) => status !== 'passed');
  if (against.length === 0 && refusing.length === 0) {
    await moveStage(tx, id, 'passed');
    return leaveStage(tx, run, stage);
  }
  const sets = refusing.flatMap(({ setOutcomes }) => setOutcomes);
  const reason = [
    ['Mandatory run tasks', against.map(({ taskName }) => taskName)] as const,
    ['Mandatory policies', namesAgainst(sets)] as const,
  ]
    .flatMap(([what, names]) => (names.length > 0 ? `${what} did not pass: ${names.join(', ')}` : []))
    .join('. ')
    .slice(0, 2000);
  if (stage === 'post_apply') {
    await moveStage(tx, id, 'failed');
    await recordEvent(tx, run.id, 'post-apply-failed', { description: reason });
    return;
  }
  if (run.planOnly || !isOverridable(sets)) {
    await moveStage(tx, id, 'failed');
    return finish(tx, run, 'errored', { reason });
  }
  await moveStage(tx, id, 'awaiting_override');
  await moveRun(tx, run.id, `${stage}_awaiting_decision`, { reason });
}

/** Stores the verdicts of policies on a plan. Call it while the run is locked. */
export async function takeVerdicts(
  tx: Database,
  run: LockedRun,
  evaluation: { readonly id: string; readonly task_stage_id: string; readonly kind: string },
  verdicts: readonly SetVerdict[],
): Promise<void> {
  for (const { id, error, outcomes } of verdicts) {
    await tx.prisma.$executeRaw`
      UPDATE policy_set_outcome SET error = ${error.slice(0, 5000)}, outcomes = ${JSON.stringify(outcomes)}::jsonb,
             policies = (SELECT coalesce(jsonb_agg(one - 'text'), '[]') FROM jsonb_array_elements(policies) one)
       WHERE id = ${id} AND policy_evaluation_id = ${evaluation.id}`;
  }
  const sets = await tx.prisma.policySetOutcome.findMany({
    where: { policyEvaluationId: evaluation.id },
    ...evaluationInclude.setOutcomes,
  });
  const verdict = verdictOf(sets);
  await moveEvaluation(tx, evaluation.id, verdict);
  if (verdict !== 'passed') await tx.prisma.run.update({ where: { id: run.id }, data: { policiesFailed: true } });
  const { organizationId, workspaceName: name, id: runId } = run;
  const target = { type: 'policy-evaluations', id: evaluation.id, name };
  const after = { runId, kind: evaluation.kind, verdict, against: namesAgainst(sets).slice(0, 100) };
  await recordChange(tx, system, { organizationId, action: 'policy-evaluation.judge', target, after });
  await settleStage(tx, run, evaluation.task_stage_id);
}

/** Continues after the tasks of a stage. */
async function leaveStage(tx: Database, run: LockedRun, stage: TaskStageName): Promise<void> {
  if (stage === 'post_apply') return recordEvent(tx, run.id, 'post-apply-completed');
  if (stage === 'post_plan') return goOn(tx, run, run.hasChanges === true, 'post_plan_completed');
  await moveRun(tx, run.id, `${stage}_completed`);
  const kind = stage === 'pre_plan' ? 'plan' : 'apply';
  await enqueueNow(tx, { id: run.id, phaseId: kind === 'plan' ? run.planId : run.applyId }, kind);
}

/**
 * Lets a run continue although mandatory tasks or policies failed. Throws `transition` if no stage is waiting for an
 * override.
 */
export async function overrideStage(
  db: Database,
  keyring: Keyring,
  { actor, comment }: { readonly actor: Actor; readonly comment: string | null },
  { id, runId }: { readonly id: string; readonly runId: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const run = await lockRun(tx, keyring, runId);
    const found = await tx.prisma.taskStage.findUnique({ where: { id }, include: { evaluations: true } });
    if (found?.status !== 'awaiting_override') {
      throw new Refusal('transition', `transition not allowed: a stage that is ${found?.status} cannot be overridden`);
    }
    await moveStage(tx, id, 'passed');
    const overridden = found.evaluations.filter(({ status }) => status !== 'passed');
    for (const one of overridden) await moveEvaluation(tx, one.id, 'overridden');
    await recordEvent(tx, runId, 'task-stage-overridden', { actor, description: comment });
    if (comment !== null) await addComment(tx, runId, actor, comment);
    const { organizationId, workspaceName: name } = run;
    const change = { organizationId, action: 'task-stage.override', target: { type: 'task-stages', id, name } };
    await recordChange(tx, actor, {
      ...change,
      after: { runId, stage: found.stage, comment, evaluations: overridden.map((one) => one.id) },
    });
    await leaveStage(tx, run, found.stage as TaskStageName);
  });
}
