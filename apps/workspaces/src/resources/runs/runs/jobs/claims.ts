import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../../generated/prisma/client';
import { recordChange, system } from '../../../../kernel/audit/audit';
import type { Database } from '../../../../kernel/database/database';
import { joined } from '../../../../kernel/database/joined';
import { lockRow } from '../../../../kernel/database/lock-row';
import type { SiteSettings } from '../../../../kernel/endpoints/environment';
import { defaultTimeouts, timeoutSeconds } from '../../../../kernel/installation/run-timeouts';
import { storedSettings } from '../../../installation/settings/service';
import { advance, finish, lockFor } from '../queue';
import { phaseProblem } from '../rights-at-effect';
import {
  isPoolOpen,
  type ModuleVersion,
  modeOf,
  poolOf,
  type RunVariable,
  variablesCell,
  workerVersions,
} from '../run';
import { applyingStatuses } from '../statuses';
import { lockRunIfThere, movePhase, moveRun } from '../transition';
import { settleAbandoned } from './abandoned';
import { type ClaimingWorker, type Heartbeat, isClosed, isHeld, isMine, type JobHolder, type RunJob } from './job';
import { describeToolJob, isToolJob, startToolJob, takeToolJob } from './tool-jobs';

const BATCH = 20;

/** Records that a worker is alive. The row of an agent of a pool exists since its registration. */
async function noteWorker(db: Database, { workerId, versions, agentPoolId }: ClaimingWorker): Promise<void> {
  if (agentPoolId !== undefined) {
    await db.prisma.$executeRaw`UPDATE run_worker SET seen_at = now() WHERE id = ${workerId}`;
    return;
  }
  await db.prisma.$executeRaw`
    INSERT INTO run_worker (id, versions) VALUES (${workerId}, ${[...versions]})
    ON CONFLICT (id) DO UPDATE SET seen_at = now(), versions = EXCLUDED.versions`;
}

const places = { w: 'w', p: 'p', o: 'o' };
const versions = workerVersions(places);

const applying = applyingStatuses.map((status) => `'${status}'`).join(', ');

// Whether the next run of workspace w can start, because a worker has its version.
const nextIsOffered = Prisma.raw(`coalesce((
  SELECT f.infra_version IS NULL OR f.infra_version = ANY(${versions}) FROM run f
   WHERE f.workspace_id = w.id AND f.finished_at IS NULL AND NOT f.plan_only
     AND NOT (f.save_plan AND f.status NOT IN (${applying}))
   ORDER BY f.status = 'confirmed' DESC, f.forced DESC, f.number LIMIT 1), false)`);

/** Starts runs whose workspace became free, or which waited for the first worker with their version. */
async function startWaiting(db: Database): Promise<void> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT w.id FROM run r
      JOIN workspace w ON w.id = r.workspace_id
      JOIN project p ON p.id = w.project_id
      JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
     WHERE r.finished_at IS NULL
       AND cardinality(${Prisma.raw(versions)}) > 0
       AND (r.status = 'pending' AND (r.plan_only OR r.save_plan)
            AND (r.infra_version IS NULL OR r.infra_version = ANY(${Prisma.raw(versions)}))
         OR (r.status = 'pending' OR (r.save_plan AND r.status = 'confirmed')) AND w.locked_at IS NULL
            AND ${nextIsOffered} AND NOT EXISTS (SELECT 1 FROM run b WHERE b.workspace_id = w.id AND b.finished_at IS NULL AND NOT b.plan_only
              AND CASE WHEN b.save_plan THEN b.status <> 'confirmed' AND b.status IN (${Prisma.raw(applying)}) ELSE b.status <> 'pending' END))
     GROUP BY w.id ORDER BY min(r.number) LIMIT ${BATCH}`;
  for (const { id } of rows) {
    await db.transaction(async (tx) => {
      await lockRow(tx, 'workspace', id);
      await advance(tx, id);
    });
  }
}

const isForAgents = `${modeOf(places)} = 'agent'`;
const forWorkers = Prisma.raw(`NOT (${isForAgents})`);
const forPool = Prisma.raw(`${isForAgents} AND ${isPoolOpen(places)} AND ${poolOf(places)}`);

/**
 * Jobs that this worker may take, by the current settings of the workspace, not by the settings when the run was
 * queued.
 */
const mayTake = ({ agentPoolId }: ClaimingWorker): Prisma.Sql =>
  agentPoolId === undefined ? forWorkers : Prisma.sql`${forPool} = ${agentPoolId}`;

/**
 * Takes one queued job: from the organization with the fewest running jobs, unless fair queuing is off; applies come
 * first, then speculative plans, and assessments last.
 */
async function takeNext(
  db: Database,
  by: ClaimingWorker,
): Promise<{ readonly id: string; readonly attempt: number } | undefined> {
  const [claim] = await db.prisma.$queryRaw<{ id: string; attempt: number }[]>`
    WITH busy AS MATERIALIZED (
      SELECT w.organization_id, count(*) AS jobs
        FROM run_job j JOIN run r ON r.id = j.run_id JOIN workspace w ON w.id = r.workspace_id
       WHERE j.state IN ('claimed', 'started')
         AND coalesce((SELECT (value ->> 'fairRunQueuingEnabled')::boolean FROM setting WHERE name = 'general'), true)
       GROUP BY 1)
    UPDATE run_job SET state = 'claimed', worker_id = ${by.workerId}, attempt = attempt + 1,
           claimed_until = now() + make_interval(secs => ${by.leaseSeconds})
     WHERE id = (
       SELECT j.id FROM run_job j JOIN run r ON r.id = j.run_id JOIN workspace w ON w.id = r.workspace_id
         JOIN project p ON p.id = w.project_id JOIN organization o ON o.id = w.organization_id
         LEFT JOIN busy ON busy.organization_id = o.id
        WHERE j.state = 'queued' AND ${mayTake(by)} AND (r.infra_version IS NULL OR r.infra_version = ANY(${[...by.versions]}))
        ORDER BY coalesce(busy.jobs, 0), r.is_assessment, j.kind, r.plan_only, r.number
        LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
     RETURNING id, attempt`;
  return claim;
}

interface JobRow {
  readonly kind: 'plan' | 'apply';
  readonly state: string;
  readonly attempt: number;
  readonly run_id: string;
  readonly workspace_id: string;
  readonly workspace_name: string;
  readonly organization_id: string;
  readonly organization_name: string;
  readonly plan_id: string;
  readonly apply_id: string;
  readonly blob_id: string | null;
  readonly plan_timeout: string | null;
  readonly apply_timeout: string | null;
  readonly settings: string | null;
  readonly working_directory: string | null;
  readonly var_files: readonly string[];
  readonly is_destroy: boolean;
  readonly refresh: boolean;
  readonly refresh_only: boolean;
  readonly target_addrs: string[];
  readonly replace_addrs: string[];
  readonly is_assessment: boolean;
  readonly plan_only: boolean;
  readonly save_plan: boolean;
  readonly allow_empty_apply: boolean;
  readonly allow_config_generation: boolean;
  readonly module_versions: readonly ModuleVersion[];
  readonly infra_version: string | null;
  readonly debugging_mode: boolean;
  readonly structured: boolean;
  readonly variables: Uint8Array | null;
  readonly traceparent: string | null;
}

const jobTables = Prisma.raw(
  [
    joined('run', 'r', 'id = j.run_id'),
    joined('workspace', 'w', 'id = r.workspace_id'),
    joined('organization', 'o', 'id = w.organization_id'),
    joined('run_phase', 'p', "run_id = r.id AND kind = 'plan'"),
    joined('run_phase', 'a', "run_id = r.id AND kind = 'apply'"),
  ].join(' '),
);

/**
 * A job with everything that its worker needs. With `by`, undefined unless this worker holds the job in this attempt.
 */
export async function describe(
  db: Database,
  keyring: Keyring,
  id: string,
  by?: JobHolder,
): Promise<(RunJob & { readonly isBegun: boolean }) | undefined> {
  const [row] = await db.prisma.$queryRaw<JobRow[]>`
    SELECT j.kind, j.attempt, j.state, r.id AS run_id, r.workspace_id, w.name AS workspace_name, w.organization_id,
           o.name AS organization_name, p.id AS plan_id, a.id AS apply_id, c.blob_id, o.plan_timeout, o.apply_timeout,
           ${Prisma.raw(storedSettings)} AS settings,
           w.working_directory, w.var_files, r.is_destroy, r.refresh, r.refresh_only, r.target_addrs, r.replace_addrs, r.plan_only, r.is_assessment, r.module_versions,
           r.save_plan, r.allow_empty_apply, r.allow_config_generation, r.infra_version, r.debugging_mode, r.variables, r.traceparent,
           w.structured_run_output_enabled AND r.source <> 'terraform' OR r.is_assessment AS structured
      FROM (SELECT * FROM run_job j WHERE j.id = ${id} AND ${by ? isHeld(by) : Prisma.sql`true`} OFFSET 0) j ${jobTables}
      LEFT JOIN configuration_version c ON c.id = r.configuration_version_id`;
  if (!row) return describeToolJob(db, keyring, id, by);
  const variables =
    row.variables === null ? '[]' : keyring.open(row.variables, variablesCell(row.run_id)).toString('utf8');
  const site = JSON.parse(row.settings ?? '{}') as Partial<SiteSettings>;
  const timeouts = row.kind === 'plan' ? [row.plan_timeout, site.planTimeout] : [row.apply_timeout, site.applyTimeout];
  return {
    id,
    kind: row.kind,
    runId: row.run_id,
    workspaceId: row.workspace_id,
    workspaceName: row.workspace_name,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    planId: row.plan_id,
    applyId: row.apply_id,
    attempt: row.attempt,
    configurationBlobId: row.blob_id ?? '',
    isDestroy: row.is_destroy,
    refresh: row.refresh,
    refreshOnly: row.refresh_only,
    targets: row.target_addrs,
    replaces: row.replace_addrs,
    planOnly: row.plan_only,
    isAssessment: row.is_assessment,
    savePlan: row.save_plan,
    allowEmptyApply: row.allow_empty_apply,
    generateConfig: row.allow_config_generation,
    moduleVersions: row.module_versions,
    infraVersion: row.infra_version ?? '',
    workingDirectory: row.working_directory,
    varFiles: row.var_files,
    debuggingMode: row.debugging_mode,
    structuredOutput: row.structured,
    timeoutSeconds: timeoutSeconds(...timeouts.map((text) => text ?? null), defaultTimeouts[row.kind]),
    variables: JSON.parse(variables) as RunVariable[],
    traceparent: row.traceparent ?? undefined,
    isBegun: row.state === 'started',
  };
}

/**
 * The time at which the newest waiting job was queued; empty if no job waits. Waiting workers use this because it is a
 * cheap query.
 */
export async function newestQueued(db: Database): Promise<string> {
  const [row] = await db.prisma.$queryRaw<{ newest: string }[]>`
    SELECT coalesce(max(queued_at)::text, '') AS newest FROM run_job WHERE state <> 'done' AND state = 'queued'`;
  return row?.newest ?? '';
}

/**
 * Takes the next job for a version that the worker has; undefined if there is no such job. Also records that this
 * worker is alive, releases abandoned jobs, and starts waiting runs. Any number of workers may call it, each about once
 * a second.
 */
export async function claimJob(db: Database, keyring: Keyring, by: ClaimingWorker): Promise<RunJob | undefined> {
  await noteWorker(db, by);
  await settleAbandoned(db, keyring);
  await startWaiting(db);
  const claim = (await takeNext(db, by)) ?? (await takeToolJob(db, by));
  const found = claim && (await describe(db, keyring, claim.id));
  if (!found) return undefined;
  const { isBegun: _isBegun, ...job } = found;
  // Another worker may hold the job by now, in another attempt.
  return { ...job, attempt: claim.attempt };
}

/** The organization and the run, test or query of a job whose agent belongs to a pool that was closed to it. */
export async function findClosed(
  { prisma }: Database,
  id: string,
): Promise<{ organizationId: string; type: string; runId: string } | undefined> {
  const [found] = await prisma.$queryRaw<{ organizationId: string; type: string; runId: string }[]>`
    SELECT coalesce(w.organization_id, t.organization_id) AS "organizationId", coalesce(r.id, t.id) AS "runId",
           CASE j.kind WHEN 'test' THEN 'test-runs' WHEN 'query' THEN 'queries' ELSE 'runs' END AS type FROM run_job j
      LEFT JOIN run r ON r.id = j.run_id LEFT JOIN workspace w ON w.id = r.workspace_id LEFT JOIN tool_run t ON t.id = j.phase_id
     WHERE j.id = ${id} AND j.state IN ('claimed', 'started') AND ${Prisma.raw(isClosed)}`;
  return found;
}

/** Keeps a job for another lease. Call it after a third of the lease. */
export async function heartbeat(
  db: Database,
  job: RunJob,
  by: { workerId: string; leaseSeconds: number },
): Promise<Heartbeat> {
  await db.prisma.$executeRaw`UPDATE run_worker SET seen_at = now() WHERE id = ${by.workerId}`;
  const [row] = await db.prisma.$queryRaw<{ cancel: Heartbeat['cancel'] }[]>`
    UPDATE run_job j SET claimed_until = now() + make_interval(secs => ${by.leaseSeconds})
     WHERE j.id = ${job.id} AND ${isHeld({ workerId: by.workerId, attempt: job.attempt })} RETURNING cancel`;
  if (row) return { mine: true, cancel: row.cancel };
  const current = await db.prisma.runJob.findUnique({ where: { id: job.id }, select: { cancel: true } });
  return { mine: false, cancel: current?.cancel === 'force-cancel' ? 'force-cancel' : 'no' };
}

/**
 * Records that the tool is about to run: plan_queued becomes planning, and apply_queued becomes applying. Returns false
 * if the worker no longer holds the job.
 */
export async function started(db: Database, keyring: Keyring, job: RunJob, workerId: string): Promise<boolean> {
  if (isToolJob(job)) return startToolJob(db, job, workerId);
  return db.transaction(async (tx) => {
    const run = await lockRunIfThere(tx, keyring, job.runId);
    if (!run || !(await isMine(tx, job, workerId))) return false;
    if (job.kind === 'apply' && !(await lockFor(tx, run.workspaceId, run.id))) {
      const reason = 'The lock of the workspace was removed before the apply started; nothing was changed';
      await movePhase(tx, job.applyId, 'errored', { errorMessage: reason });
      await finish(tx, run, 'errored', { reason });
      return false;
    }
    const problem = await phaseProblem(tx, run, job.kind === 'apply' ? 'apply' : 'plan');
    if (problem !== undefined) {
      const { organizationId, workspaceName: name } = run;
      const target = { type: 'runs', id: run.id, name };
      await recordChange(tx, system, {
        organizationId,
        action: `run.${job.kind}-refuse`,
        target,
        after: { reason: problem },
      });
      await finish(tx, run, run.isAssessment ? 'canceled' : 'discarded', { reason: `Did not start: ${problem}` });
      return false;
    }
    await tx.prisma.$executeRaw`
      WITH begun AS (
        UPDATE run_job SET state = 'started', started_at = now() WHERE id = ${job.id} RETURNING run_id, kind)
      UPDATE run SET input_state_version_id = w.current_state_version_id
        FROM begun, workspace w WHERE begun.kind = 'plan' AND run.id = begun.run_id AND w.id = run.workspace_id`;
    await moveRun(tx, job.runId, job.kind === 'plan' ? 'planning' : 'applying');
    await movePhase(tx, job.kind === 'plan' ? job.planId : job.applyId, 'running');
    return true;
  });
}

/** Releases a job that was claimed and not started, so that another worker can take it. */
export async function releaseJob(db: Database, job: RunJob, workerId: string): Promise<void> {
  await db.prisma.runJob.updateMany({
    where: { id: job.id, workerId, attempt: job.attempt, state: 'claimed' },
    data: { state: 'queued', workerId: null, claimedUntil: null },
  });
}

/** Records that a worker has stopped, so that its jobs do not wait for it. */
export async function retireWorker(db: Database, workerId: string): Promise<void> {
  await db.prisma.runWorker.deleteMany({ where: { id: workerId } });
}
