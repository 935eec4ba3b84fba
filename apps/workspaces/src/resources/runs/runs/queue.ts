import { type Actor, recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { joined } from '../../../kernel/database/joined';
import { tellOfWork } from '../../../kernel/database/notices';
import { recordAssessment } from './record-assessment';
import { decideUnattended } from './rights-at-effect';
import { type LockedRun, workerVersions } from './run';
import { preparePolicies } from './stages/policies';
import { closeStages, enterStage, hasStage } from './stages/stages';
import { applyingStatuses, type FinalStatus } from './statuses';
import { endPhases, movePhase, moveRun } from './transition';

/** The properties of a run that the queue needs. */
interface QueuedRun {
  readonly id: string;
  readonly status: string;
  readonly plan_only: boolean;
  readonly save_plan: boolean;
  readonly input_state_version_id: string | null;
  readonly infra_version: string | null;
  /** Whether its configuration has not been fetched yet. */
  readonly is_fetching: boolean;
  readonly plan_id: string;
  readonly apply_id: string;
}

interface WorkspaceQueue {
  readonly locked_by_type: string | null;
  readonly locked_by_id: string | null;
  readonly current_run_id: string | null;
  readonly current_state_version_id: string | null;
  readonly worker_versions: readonly string[];
}

/** Whether a run does not wait for its turn. Plan-only runs do not, and saved plans do not until they are applied. */
const bypasses = (run: QueuedRun): boolean => run.plan_only || (run.save_plan && !isApplying(run));
const isApplying = ({ status }: QueuedRun): boolean => applyingStatuses.includes(status);
const waits = (run: QueuedRun): boolean => run.status === 'pending' || (run.save_plan && run.status === 'confirmed');

const places = { w: 'w', p: 'p', o: 'o' };

async function read(
  tx: Database,
  workspaceId: string,
): Promise<{ workspace: WorkspaceQueue | undefined; runs: QueuedRun[] }> {
  const [workspace] = await tx.prisma.$queryRawUnsafe<WorkspaceQueue[]>(
    `SELECT w.locked_by_type, w.locked_by_id, w.current_run_id, w.current_state_version_id,
            ${workerVersions(places)} AS worker_versions
       FROM (SELECT * FROM workspace WHERE id = $1 OFFSET 0) w
       ${joined('project', 'p', 'id = w.project_id')} ${joined('organization', 'o', 'id = w.organization_id')}`,
    workspaceId,
  );
  const runs = await tx.prisma.$queryRaw<QueuedRun[]>`
    SELECT r.id, r.status, r.plan_only, r.save_plan, r.input_state_version_id, r.infra_version, p.id AS plan_id, a.id AS apply_id,
           coalesce(c.status = 'fetching', false) AS is_fetching
      FROM run r LEFT JOIN configuration_version c ON c.id = r.configuration_version_id
                 JOIN run_phase p ON p.run_id = r.id AND p.kind = 'plan'
                 JOIN run_phase a ON a.run_id = r.id AND a.kind = 'apply'
     WHERE r.workspace_id = ${workspaceId} AND r.finished_at IS NULL
     ORDER BY r.status = 'confirmed' DESC, r.forced DESC, r.number`;
  return { workspace, runs };
}

/** Queues the plan or the apply of a run for workers, after the tasks that come before it. */
export async function enqueue(
  tx: Database,
  run: { id: string; phaseId: string },
  kind: 'plan' | 'apply',
): Promise<void> {
  if (!(await enterStage(tx, run.id, kind === 'plan' ? 'pre_plan' : 'pre_apply'))) await enqueueNow(tx, run, kind);
}

/** Queues the plan or the apply of a run after the tasks have ended. */
export async function enqueueNow(
  tx: Database,
  run: { id: string; phaseId: string },
  kind: 'plan' | 'apply',
): Promise<void> {
  await moveRun(tx, run.id, kind === 'plan' ? 'plan_queued' : 'apply_queued');
  await movePhase(tx, run.phaseId, 'queued');
  await tx.prisma.runJob.createMany({ data: { id: newId('job'), runId: run.id, phaseId: run.phaseId, kind } });
  await tellOfWork(tx);
}

/** Gives the lock of an unlocked workspace to a run. Returns false if it is locked. */
export async function lockFor(tx: Database, workspaceId: string, runId: string): Promise<boolean> {
  const updated = await tx.prisma.$executeRaw`
    UPDATE workspace SET locked_at = now(), locked_by_type = 'runs', locked_by_id = ${runId}, locked_reason = NULL,
           current_run_id = ${runId}
     WHERE id = ${workspaceId} AND (locked_at IS NULL OR (locked_by_type = 'runs' AND locked_by_id = ${runId}))`;
  if (updated === 0) return false;
  await tx.prisma.$executeRaw`
    INSERT INTO workspace_lock (workspace_id, holder_type, holder_id, locked_at)
    SELECT ${workspaceId}, 'runs', ${runId}, now()
     WHERE NOT EXISTS (SELECT 1 FROM workspace_lock WHERE workspace_id = ${workspaceId} AND unlocked_at IS NULL)`;
  return true;
}

async function unlockAfter(tx: Database, workspaceId: string, runId: string): Promise<void> {
  const freed = await tx.prisma.$executeRaw`
    UPDATE workspace SET locked_at = NULL, locked_by_type = NULL, locked_by_id = NULL, locked_reason = NULL
     WHERE id = ${workspaceId} AND locked_by_type = 'runs' AND locked_by_id = ${runId}`;
  if (freed === 0) return;
  await tx.prisma.$executeRaw`
    UPDATE workspace_lock SET unlocked_at = now(), unlocked_type = 'runs', unlocked_id = ${runId}
     WHERE workspace_id = ${workspaceId} AND unlocked_at IS NULL`;
  // Uploads that the run announced but never sent are cancelled with its lock.
  const where = { workspaceId, status: 'pending', createdByType: 'runs', createdById: runId };
  await tx.prisma.stateVersion.updateMany({ where, data: { status: 'discarded' } });
}

/**
 * Starts the next runs of a workspace: speculative and saved plans immediately, other runs one at a time, under the
 * workspace's lock. A run does not start without a worker of its version, or while its commit is fetched, and no other
 * run overtakes it. Call it while the workspace is locked.
 */
export async function advance(tx: Database, workspaceId: string): Promise<void> {
  const { workspace, runs } = await read(tx, workspaceId);
  if (!workspace) return;
  const versions = new Set(workspace.worker_versions);
  const mayStart = ({ infra_version: version, is_fetching: isFetching }: QueuedRun): boolean =>
    !isFetching && (version === null ? versions.size > 0 : versions.has(version));
  for (const run of runs.filter((one) => bypasses(one) && waits(one) && mayStart(one))) {
    await enqueue(tx, { id: run.id, phaseId: run.plan_id }, 'plan');
  }
  const inTurn = runs.filter((run) => !bypasses(run));
  const active = inTurn.find((run) => !waits(run));
  const next = active ?? inTurn[0];
  if (!next) return;
  if (workspace.current_run_id !== next.id) {
    await tx.prisma.workspace.updateMany({ where: { id: workspaceId }, data: { currentRunId: next.id } });
  }
  if (active || !mayStart(next) || !(await lockFor(tx, workspaceId, next.id))) return;
  if (next.status === 'pending') return enqueue(tx, { id: next.id, phaseId: next.plan_id }, 'plan');
  if (next.input_state_version_id === workspace.current_state_version_id) {
    return enqueue(tx, { id: next.id, phaseId: next.apply_id }, 'apply');
  }
  const reason = 'The state has changed since the plan was saved; it can no longer be applied';
  await finish(tx, { ...next, workspaceId, planId: next.plan_id, applyId: next.apply_id }, 'discarded', { reason });
}

/** The properties of a run that are needed to end it. */
interface Ending {
  readonly id: string;
  readonly workspaceId: string;
  readonly planId: string;
  readonly applyId: string;
  readonly isAssessment?: boolean;
}

/**
 * Ends a run: its remaining phases become unreachable, its job ends, its lock is released, and the next run starts.
 * Call it while the workspace is locked, after the status of the phase that ended the run was changed.
 */
export async function finish(
  tx: Database,
  run: Ending,
  status: FinalStatus,
  more: { reason?: string | null; actor?: Actor; stamp?: string; event?: string } = {},
): Promise<void> {
  await moveRun(tx, run.id, status, more);
  const workspace = await endPhases(tx, run, status === 'errored' ? 'errored' : 'canceled');
  if (run.isAssessment) {
    await recordAssessment(tx, run, status, more.reason ?? null);
    return;
  }
  if (workspace?.staged) await closeStages(tx, run.id, status);
  if (workspace?.staged && status === 'applied') await enterStage(tx, run.id, 'post_apply');
  if (workspace?.locked) await unlockAfter(tx, run.workspaceId, run.id);
  await recordChange(tx, more.actor ?? system, {
    organizationId: workspace?.organizationId ?? null,
    action: `run.${more.event ?? status.replace(/_/g, '-')}`,
    target: { type: 'runs', id: run.id, name: workspace?.name },
    after: { status },
  });
  await advance(tx, run.workspaceId);
}

/**
 * Ends the assessment of a workspace if one is in progress, because runs take precedence. Call it while the workspace
 * is locked.
 */
export async function yieldAssessment(tx: Database, workspaceId: string): Promise<void> {
  const under = await tx.prisma.run.findMany({
    where: { workspaceId, isAssessment: true, finishedAt: null },
    select: { id: true, phases: { select: { id: true, kind: true } } },
  });
  for (const { id, phases } of under) {
    const [planId = '', applyId = ''] = ['plan', 'apply'].map((kind) => phases.find((one) => one.kind === kind)?.id);
    await finish(tx, { id, workspaceId, planId, applyId, isAssessment: true }, 'canceled');
  }
}

/**
 * Continues after a successful plan with its tasks and policies, including those added in the meantime. Without tasks
 * and policies, continues with the next step.
 */
export async function afterPlan(tx: Database, run: LockedRun, hasChanges: boolean): Promise<void> {
  await preparePolicies(tx, run);
  if (!(await hasStage(tx, run.id, 'post_plan'))) return goOn(tx, run, hasChanges, 'planned');
  await moveRun(tx, run.id, 'planned');
  await enterStage(tx, run.id, 'post_plan');
}

/** Ends the run, queues its apply, or lets it wait for confirmation. */
export async function goOn(
  tx: Database,
  run: LockedRun,
  hasChanges: boolean,
  status: 'planned' | 'post_plan_completed',
): Promise<void> {
  const ends = run.planOnly || (!hasChanges && !run.allowEmptyApply);
  const { applies, reason } = ends ? { applies: false, reason: null } : await decideUnattended(tx, run);
  await moveRun(tx, run.id, status, { reason });
  if (ends) return finish(tx, run, 'planned_and_finished');
  if (run.savePlan) return moveRun(tx, run.id, 'planned_and_saved');
  // If the lock was released by force in the meantime, the run waits for confirmation before it applies.
  if (!applies || !(await lockFor(tx, run.workspaceId, run.id))) return;
  await moveRun(tx, run.id, 'confirmed');
  await enqueue(tx, { id: run.id, phaseId: run.applyId }, 'apply');
}
