import { Prisma } from '../../../../generated/prisma/client';
import type { Database } from '../../../../kernel/database/database';
import { newId } from '../../../../kernel/database/ids';
import { type EnforcementLevel, type TaskStageName, taskStages } from '../../../workspaces/run-tasks/run-task';
import type { FinalStatus } from '../statuses';
import { moveRun, recordEvent, stampNow } from '../transition';
import { beginPolicies, moveEvaluation } from './policies';

/** The status of a stage's tasks, and the result of each. */
export type StageStatus =
  | 'pending'
  | 'running'
  | 'passed'
  | 'failed'
  | 'awaiting_override'
  | 'canceled'
  | 'unreachable';
export type ResultStatus = 'pending' | 'running' | 'passed' | 'failed' | 'errored' | 'unreachable' | 'canceled';

interface ReachingTask {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly url: string;
  readonly attached_id: string | null;
  readonly stages: readonly TaskStageName[] | null;
  readonly level: EnforcementLevel | null;
  readonly global_stages: readonly TaskStageName[];
  readonly global_level: EnforcementLevel | null;
}

/** Adds the current tasks of the workspace, and the global tasks, to a new run. */
export async function prepareStages(tx: Database, runId: string, planOnly: boolean): Promise<void> {
  const found = await tx.prisma.$queryRaw<ReachingTask[]>`
    SELECT t.id, t.organization_id, t.name, t.url, a.id AS attached_id, a.stages, a.enforcement_level AS level,
           CASE WHEN t.global_enabled THEN t.global_stages ELSE '{}' END AS global_stages, t.global_enforcement AS global_level
      FROM run r JOIN workspace w ON w.id = r.workspace_id
      JOIN run_task t ON t.organization_id = w.organization_id AND t.enabled
      LEFT JOIN workspace_run_task a ON a.run_task_id = t.id AND a.workspace_id = w.id
     WHERE r.id = ${runId} AND (a.id IS NOT NULL OR t.global_enabled) ORDER BY t.name, t.id`;
  if (found.length === 0) return;
  for (const stage of planOnly ? taskStages.slice(0, 2) : taskStages) {
    const tasks = found.flatMap((one) => {
      const levels = [
        ...(one.stages?.includes(stage) ? [one.level] : []),
        ...(one.global_stages.includes(stage) ? [one.global_level] : []),
      ];
      return levels.length === 0 ? [] : { ...one, level: levels.includes('mandatory') ? 'mandatory' : 'advisory' };
    });
    if (tasks.length === 0) continue;
    const taskStageId = newId('ts');
    await tx.prisma.taskStage.createMany({ data: { id: taskStageId, runId, stage } });
    const data = tasks.map((one) => ({
      id: newId('taskrs'),
      organizationId: one.organization_id,
      taskStageId,
      runTaskId: one.id,
      taskName: one.name,
      taskUrl: one.url,
      workspaceTaskId: one.attached_id,
      enforcementLevel: one.level,
    }));
    await tx.prisma.taskResult.createMany({ data });
  }
}

async function findStage(tx: Database, runId: string, stage: TaskStageName): Promise<{ id: string } | undefined> {
  const [found] = await tx.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM task_stage WHERE run_id = ${runId} AND stage = ${stage} AND status = 'pending' LIMIT 1`;
  return found;
}

/** Whether a run has tasks at a stage that it has not reached. */
export async function hasStage(tx: Database, runId: string, stage: TaskStageName): Promise<boolean> {
  return (await findStage(tx, runId, stage)) !== undefined;
}

/** Moves a stage to a status, with its timestamp. */
export async function moveStage(tx: Database, id: string, status: StageStatus): Promise<void> {
  await tx.prisma.$executeRaw`
    UPDATE task_stage SET status = ${status}, updated_at = now(),
           timestamps = timestamps || jsonb_build_object(${stampOf(status)}::text, ${stampNow}) WHERE id = ${id}`;
}

/** SQL that moves a result to a status, with its timestamp. */
export const toStatus = (status: ResultStatus): Prisma.Sql =>
  Prisma.sql`status = ${status}, updated_at = now(),
    timestamps = timestamps || jsonb_build_object(${stampOf(status)}::text, ${stampNow})`;

const stampOf = (status: string): string => `${status.replaceAll('_', '-')}-at`;

/** The maximum duration of a task, even if it reports progress. */
const longest = Prisma.raw("interval '60 minutes'");

/**
 * Starts the tasks of a stage, and its policies, which are due immediately. Returns false if there are no tasks and
 * policies, or if the stage has already started.
 */
export async function enterStage(tx: Database, runId: string, stage: TaskStageName): Promise<boolean> {
  const found = await findStage(tx, runId, stage);
  if (!found) return false;
  await moveStage(tx, found.id, 'running');
  await tx.prisma.$executeRaw`
    UPDATE task_result SET next_at = now(), ends_at = now() + ${longest} WHERE task_stage_id = ${found.id}`;
  await beginPolicies(tx, found.id, runId);
  // After an apply the run has already ended.
  if (stage === 'post_apply') await recordEvent(tx, runId, 'post-apply-running');
  else await moveRun(tx, runId, `${stage}_running`);
  return true;
}

/** Ends the stages of a finished run: stages that it did not reach become unreachable, except stages after an apply. */
export async function closeStages(tx: Database, runId: string, status: FinalStatus): Promise<void> {
  const open = await tx.prisma.taskStage.findMany({
    where: { runId, status: { in: ['pending', 'running', 'awaiting_override'] } },
    select: { id: true, stage: true, status: true },
  });
  for (const { id, stage, status: was } of open) {
    if (stage === 'post_apply' && status === 'applied') continue;
    await moveStage(tx, id, was === 'pending' ? 'unreachable' : status === 'errored' ? 'failed' : 'canceled');
    await tx.prisma.$executeRaw`
      UPDATE task_result SET next_at = NULL, claim = claim + 1, ${toStatus(was === 'pending' ? 'unreachable' : 'canceled')}
       WHERE task_stage_id = ${id} AND status IN ('pending', 'running')`;
    const judging = { taskStageId: id, status: { in: ['pending', 'running'] } };
    for (const one of await tx.prisma.policyEvaluation.findMany({ where: judging, select: { id: true } })) {
      await moveEvaluation(tx, one.id, was === 'pending' ? 'unreachable' : 'canceled');
    }
  }
}
