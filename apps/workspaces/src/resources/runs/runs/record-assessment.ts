import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { tellOfWorkspace } from './note-notifications';
import type { FinalStatus } from './statuses';

/** The counts of an assessment: resources that match and do not match the state, and checks by result. */
export interface Health {
  readonly resourcesDrifted: number;
  readonly resourcesUndrifted: number;
  readonly checksPassed: number;
  readonly checksFailed: number;
  readonly checksErrored: number;
  readonly checksUnknown: number;
}

const nothing: Health = {
  resourcesDrifted: 0,
  resourcesUndrifted: 0,
  checksPassed: 0,
  checksFailed: 0,
  checksErrored: 0,
  checksUnknown: 0,
};

/** The assessment that has ended. */
interface Ended {
  readonly id: string;
  readonly workspaceId: string;
  readonly planId: string;
}

/** An assessment that was cancelled by a run or a new state is repeated after this time. */
const againAfterMinutes = 60;

/**
 * Makes a finished assessment the newest result of its workspace, and queues notifications. If the assessment was
 * canceled, or its state is no longer current, it is not a result and is repeated. Call it while the workspace is
 * locked.
 */
export async function recordAssessment(
  tx: Database,
  { id: runId, workspaceId, planId }: Ended,
  status: FinalStatus,
  reason: string | null,
): Promise<void> {
  const { prisma } = tx;
  const [run, workspace, plan] = await Promise.all([
    prisma.run.findUniqueOrThrow({ where: { id: runId }, select: { inputStateVersionId: true } }),
    prisma.workspace.findUniqueOrThrow({ where: { id: workspaceId } }),
    prisma.runPhase.findUniqueOrThrow({ where: { id: planId }, select: { health: true } }),
  ]);
  const isOvertaken = run.inputStateVersionId !== workspace.currentStateVersionId && status !== 'errored';
  if (status === 'canceled' || isOvertaken) {
    await prisma.$executeRaw`
      UPDATE workspace SET assessment_due_at = least(assessment_due_at, now() + make_interval(mins => ${againAfterMinutes}))
       WHERE id = ${workspaceId}`;
    return;
  }
  const counted = plan.health as Health | null;
  const succeeded = status === 'planned_and_finished' && counted !== null;
  const id = newId('asmtres');
  const { currentAssessmentResultId: priorId } = workspace;
  const prior = priorId === null ? null : await prisma.assessmentResult.findUnique({ where: { id: priorId } });
  const health = counted ?? nothing;
  const result = await prisma.assessmentResult.create({
    data: {
      ...health,
      id,
      workspaceId,
      runId,
      succeeded,
      errorMessage: succeeded ? null : (reason ?? 'it was carried out by an agent that is too old to assess'),
      drifted: health.resourcesDrifted > 0,
    },
  });
  await prisma.$executeRaw`
    UPDATE workspace SET current_assessment_result_id = ${id}, last_assessment_result_at = ${result.createdAt}
     WHERE id = ${workspaceId}`;
  for (const trigger of triggersOf(result, prior)) {
    await tellOfWorkspace(tx, workspaceId, trigger, {
      new_assessment_result: factsOf(result),
      prior_assessment_result: prior && factsOf(prior),
    });
  }
}

type RecordedAssessment = Health & {
  readonly id: string;
  readonly succeeded: boolean;
  readonly drifted: boolean;
  readonly createdAt: Date;
};

const checkCounts = ({ checksFailed, checksErrored, checksUnknown }: Health): string =>
  `${checksFailed} ${checksErrored} ${checksUnknown}`;
const none = checkCounts(nothing);

/** The notification triggers of a result: changes since the previous one, and every failure. */
function triggersOf(result: RecordedAssessment, prior: RecordedAssessment | null) {
  if (!result.succeeded) return ['assessment:failed'] as const;
  const drifts = result.drifted && result.resourcesDrifted !== prior?.resourcesDrifted;
  const fails = checkCounts(result) !== none && (prior === null || checkCounts(result) !== checkCounts(prior));
  return [
    ...(drifts ? (['assessment:drifted'] as const) : []),
    ...(fails ? (['assessment:check_failure'] as const) : []),
  ];
}

/** Whether every check passed. */
export const allChecksSucceeded = (health: Health): boolean => checkCounts(health) === none;

function factsOf(result: RecordedAssessment) {
  return {
    id: result.id,
    succeeded: result.succeeded,
    drifted: result.drifted,
    all_checks_succeeded: allChecksSucceeded(result),
    resources_drifted: result.resourcesDrifted,
    resources_undrifted: result.resourcesUndrifted,
    checks_passed: result.checksPassed,
    checks_failed: result.checksFailed,
    checks_errored: result.checksErrored,
    checks_unknown: result.checksUnknown,
    created_at: result.createdAt.toISOString(),
  };
}
