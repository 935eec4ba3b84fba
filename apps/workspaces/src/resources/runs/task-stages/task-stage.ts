import type { TaskResult as ResultRow, TaskStage as StageRow } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { type TaskStageName, taskStages } from '../../workspaces/run-tasks/run-task';
import type { RunTarget } from '../runs/policy';

/** The tasks of a run at one stage. */
export interface TaskStage extends StageRow, RunTarget {
  readonly resultIds: readonly string[];
  readonly evaluationIds: readonly string[];
  /** The failed tasks and policies, while the run waits for a decision. */
  readonly against: { readonly tasks: boolean; readonly policies: boolean };
}

/** One finding of a task. */
export interface TaskFinding {
  readonly 'outcome-id'?: string | null;
  readonly description?: string | null;
  readonly body?: string | null;
  readonly url?: string | null;
  readonly tags?: Readonly<Record<string, readonly { readonly label: string; readonly level?: string }[]>> | null;
}

/** A finding of a task as a resource. */
export interface TaskOutcome extends RunTarget {
  readonly id: string;
  readonly organizationId: string;
  readonly taskResultId: string;
  readonly finding: TaskFinding;
  readonly createdAt: Date;
}

/** One task of a stage, with its outcome. */
export interface TaskResult extends Omit<ResultRow, 'organizationId' | 'outcomes'>, RunTarget {
  readonly organizationId: string;
  readonly outcomes: readonly TaskFinding[];
  readonly runId: string;
  readonly stageName: TaskStageName;
}

const run = { select: { workspace: { select: { id: true, projectId: true, organizationId: true } } } } as const;
const alive = { run: { isAssessment: false, workspace: { organization: { removedAt: null } } } };

async function stagesWhere(db: Database, where: object): Promise<TaskStage[]> {
  const rows = await db.prisma.taskStage.findMany({
    where: { ...where, ...alive },
    include: {
      run,
      results: {
        select: { id: true, status: true, enforcementLevel: true },
        orderBy: [{ taskName: 'asc' }, { id: 'asc' }],
      },
      evaluations: { select: { id: true, status: true }, orderBy: { kind: 'asc' } },
    },
  });
  const stages = rows.map(({ run: of, results, evaluations, ...row }) => ({
    ...row,
    resultIds: results.map(({ id }) => id),
    evaluationIds: evaluations.map(({ id }) => id),
    against: {
      tasks: results.some((one) => one.enforcementLevel === 'mandatory' && one.status !== 'passed'),
      policies: evaluations.some(({ status }) => status !== 'passed'),
    },
    workspace: of.workspace,
    organizationId: of.workspace.organizationId,
  }));
  const place = ({ stage }: StageRow) => taskStages.indexOf(stage as TaskStageName);
  return stages.sort((one, other) => place(one) - place(other));
}

/** Stages by id; unknown ids are left out. */
export const findStages = (db: Database, ids: readonly string[]): Promise<TaskStage[]> =>
  stagesWhere(db, { id: { in: [...ids] } });

/** The stages of a run, in the order in which it reaches them. */
export const stagesOfRun = (db: Database, runId: string): Promise<TaskStage[]> => stagesWhere(db, { runId });

/** Results by id, in no particular order; unknown ids are left out. */
export async function findResults(db: Database, ids: readonly string[]): Promise<TaskResult[]> {
  const rows = await db.prisma.taskResult.findMany({
    where: { id: { in: [...ids] }, stage: alive },
    include: { stage: { select: { runId: true, stage: true, run } } },
  });
  return rows.map(({ stage, ...row }) => ({
    ...row,
    outcomes: row.outcomes as unknown as readonly TaskFinding[],
    runId: stage.runId,
    stageName: stage.stage as TaskStageName,
    workspace: stage.run.workspace,
  }));
}

/** The findings of a result. They are written only once, when the result ends, so their positions identify them. */
export function outcomesOf({ id, organizationId, workspace, outcomes, updatedAt: createdAt }: TaskResult) {
  return outcomes.map(
    (finding, at): TaskOutcome => ({
      id: `${id}-${at}`,
      taskResultId: id,
      ...{ organizationId, workspace, finding, createdAt },
    }),
  );
}

/** A finding by its id. */
export async function findOutcome(db: Database, id: string): Promise<TaskOutcome | undefined> {
  const [result] = await findResults(db, [id.replace(/-\d+$/, '')]);
  return result && outcomesOf(result).find((one) => one.id === id);
}
