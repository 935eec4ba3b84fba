import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../../generated/prisma/client';
import { accessNow, mayStill } from '../../../../kernel/access/current-access';
import { system } from '../../../../kernel/audit/audit';
import type { Database } from '../../../../kernel/database/database';
import type { SiteSettings } from '../../../../kernel/endpoints/environment';
import { defaultTimeouts, timeoutSeconds } from '../../../../kernel/installation/run-timeouts';
import { storedSettings } from '../../../installation/settings/service';
import { isPoolOpen, modeOf, poolOf, type RunVariable, workerVersions } from '../run';
import { endToolRun, lockToolRun } from '../tool-runs/end';
import {
  openVariables,
  type TestResults,
  type ToolRun,
  type ToolRunKind,
  type ToolRunSettings,
} from '../tool-runs/tool-run';
import { movePhase } from '../transition';
import { type ClaimingWorker, isHeld, isMine, type JobHolder, type RunJob, type ToolRunResult } from './job';
import { appendEnd, appendToPhase, endOf, readRange } from './logs';

/** The first version of the agents' protocol that has these jobs. */
const knownSince = 2;
const places = { w: 'w', p: 'p', o: 'o' };
/** How much of the end of a log is searched for the summary of the tests. */
const tailBytes = 64 * 1024;
const BATCH = 20;

/** Whether a job is a test or a query. */
export const isToolJob = (job: Pick<RunJob, 'kind'>): boolean => job.kind === 'test' || job.kind === 'query';

/** SQL: the condition on a pool for carrying out tests of the module `m`. */
const ofTestPool = `m.test_execution_mode = 'agent' AND EXISTS (
  SELECT 1 FROM agent_pool tp WHERE tp.id = m.test_agent_pool_id AND tp.organization_id = t.organization_id AND tp.organization_scoped)`;

const mayTake = ({ agentPoolId }: ClaimingWorker): Prisma.Sql =>
  agentPoolId === undefined
    ? Prisma.sql`CASE t.kind WHEN 'test' THEN m.test_execution_mode IS DISTINCT FROM 'agent' ELSE ${Prisma.raw(modeOf(places))} = 'remote' END`
    : Prisma.sql`CASE t.kind WHEN 'test' THEN ${Prisma.raw(ofTestPool)} AND m.test_agent_pool_id = ${agentPoolId}
        ELSE ${Prisma.raw(modeOf(places))} = 'agent' AND ${Prisma.raw(isPoolOpen(places))} AND ${Prisma.raw(poolOf(places))} = ${agentPoolId} END`;

const from = Prisma.sql`
  FROM run_job j JOIN tool_run t ON t.id = j.phase_id
  JOIN organization o ON o.id = t.organization_id AND o.removed_at IS NULL
  LEFT JOIN registry_module m ON m.id = t.module_id
  LEFT JOIN workspace w ON w.id = t.workspace_id LEFT JOIN project p ON p.id = w.project_id`;

/**
 * Takes a queued test or query, from the organization with the fewest running tests and queries. Runs take precedence.
 */
export async function takeToolJob(
  { prisma }: Database,
  by: ClaimingWorker,
): Promise<{ readonly id: string; readonly attempt: number } | undefined> {
  const [claim] = await prisma.$queryRaw<{ id: string; attempt: number }[]>`
    UPDATE run_job SET state = 'claimed', worker_id = ${by.workerId}, attempt = attempt + 1,
           claimed_until = now() + make_interval(secs => ${by.leaseSeconds})
     WHERE id = (
       SELECT j.id ${from}
        WHERE j.state = 'queued' AND j.run_id IS NULL AND ${mayTake(by)}
          AND (t.infra_version IS NULL OR t.infra_version = ANY(${[...by.versions]}))
          AND EXISTS (SELECT 1 FROM run_worker k WHERE k.id = ${by.workerId} AND coalesce(k.protocol, ${knownSince}) >= ${knownSince})
        ORDER BY (SELECT count(*) FROM run_job b JOIN tool_run bt ON bt.id = b.phase_id
                   WHERE b.state IN ('claimed', 'started') AND bt.organization_id = o.id), j.queued_at, j.id
        LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
     RETURNING id, attempt`;
  return claim;
}

interface Described {
  readonly kind: ToolRunKind;
  readonly state: string;
  readonly attempt: number;
  readonly tool_run_id: string;
  readonly workspace_id: string | null;
  readonly name: string;
  readonly organization_id: string;
  readonly organization_name: string;
  readonly blob_id: string | null;
  readonly folder: string | null;
  readonly var_files: readonly string[];
  readonly plan_timeout: string | null;
  readonly apply_timeout: string | null;
  readonly site: string | null;
  readonly settings: ToolRunSettings;
  readonly infra_version: string | null;
  readonly variables: Uint8Array | null;
}

/**
 * A test or query with everything that its worker needs. With `by`, undefined unless this worker holds it in this
 * attempt.
 */
export async function describeToolJob(
  { prisma }: Database,
  keyring: Keyring,
  id: string,
  by?: JobHolder,
): Promise<(RunJob & { readonly isBegun: boolean }) | undefined> {
  const ownJob = by ? isHeld(by) : Prisma.sql`true`;
  const [row] = await prisma.$queryRaw<Described[]>`
    SELECT j.kind, j.state, j.attempt, t.id AS tool_run_id, t.workspace_id, coalesce(w.name, m.name) AS name,
           t.organization_id, o.name AS organization_name, coalesce(c.blob_id, v.blob_id) AS blob_id,
           coalesce(w.working_directory, nullif(v.source_directory, '')) AS folder, coalesce(w.var_files, '{}') AS var_files, o.plan_timeout, o.apply_timeout,
           ${Prisma.raw(storedSettings)} AS site, t.settings, t.infra_version, t.variables
      ${from}
      LEFT JOIN configuration_version c ON c.id = t.configuration_version_id AND c.status = 'uploaded'
      LEFT JOIN registry_module_version v ON v.id = t.module_version_id
     WHERE j.id = ${id} AND ${ownJob}`;
  if (!row) return undefined;
  const site = JSON.parse(row.site ?? '{}') as Partial<SiteSettings>;
  // Tests apply the module, so they get the time limit of applies.
  const limit = row.kind === 'test' ? 'apply' : 'plan';
  const timeouts = limit === 'apply' ? [row.apply_timeout, site.applyTimeout] : [row.plan_timeout, site.planTimeout];
  const {
    filters = [],
    testDirectory = null,
    verbose = false,
    parallelism = null,
    generateConfig = false,
  } = row.settings;
  return {
    ...nothingElse,
    id,
    kind: row.kind,
    runId: row.tool_run_id,
    workspaceId: row.workspace_id ?? '',
    workspaceName: row.name,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    planId: row.tool_run_id,
    applyId: row.tool_run_id,
    attempt: row.attempt,
    configurationBlobId: row.blob_id ?? '',
    generateConfig,
    infraVersion: row.infra_version ?? '',
    workingDirectory: row.folder,
    varFiles: row.var_files,
    timeoutSeconds: timeoutSeconds(...timeouts.map((text) => text ?? null), defaultTimeouts[limit]),
    variables: openVariables<RunVariable>(keyring, row.tool_run_id, row.variables),
    testing: row.kind === 'test' ? { filters, directory: testDirectory, verbose, parallelism } : undefined,
    isBegun: row.state === 'started',
  };
}

/** The options of plans and applies, which have no effect on tests and queries. */
const nothingElse = {
  isDestroy: false,
  refresh: true,
  refreshOnly: false,
  targets: [],
  replaces: [],
  moduleVersions: [],
  planOnly: true,
  isAssessment: false,
  savePlan: false,
  allowEmptyApply: false,
  debuggingMode: false,
  structuredOutput: true,
} as const;

/** The reason why a requested test or query must not start. */
async function problemOf(tx: Database, run: ToolRun): Promise<string | undefined> {
  const { organizationId, createdByType: type, createdById: id, workspace, moduleId } = run;
  if (workspace) {
    const may = await mayStill(tx, { type, id }, 'runs:plan', workspace);
    return may ? undefined : 'the user who started it may no longer plan in this workspace';
  }
  const module = await tx.prisma.registryModule.findUnique({ where: { id: moduleId ?? '' } });
  if (!module?.testsEnabled) return 'tests of the module are no longer enabled';
  if (type === system.type) return undefined;
  const access = await accessNow(tx, { type, id }, organizationId);
  return access?.can(organizationId, 'manage-modules')
    ? undefined
    : 'the user who started it may no longer manage modules';
}

/** Records that the tool is about to run. Returns false if the worker no longer holds the job. */
export function startToolJob(db: Database, job: RunJob, workerId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const run = await lockToolRun(tx, job.runId);
    if (!run || !(await isMine(tx, job, workerId))) return false;
    const problem = await problemOf(tx, run);
    if (problem !== undefined) {
      await endToolRun(tx, run, 'canceled', { reason: `Did not start: ${problem}` });
      return false;
    }
    await tx.prisma.runJob.update({ where: { id: job.id }, data: { state: 'started', startedAt: new Date() } });
    await movePhase(tx, run.id, 'running');
    return true;
  });
}

/** The test results, from the last summary line in the log as it is now. */
async function resultsOf(db: Database, keyring: Keyring, job: RunJob): Promise<TestResults | null> {
  const size = Number(await endOf(db, job));
  const tail = await readRange(db, keyring, job.runId, { from: Math.max(0, size - tailBytes), to: size });
  const line = tail
    .toString('utf8')
    .split('\n')
    .findLast((one) => one.includes('"type":"test_summary"'));
  if (line === undefined) return null;
  try {
    const { test_summary: summary } = JSON.parse(line) as { test_summary: TestResults };
    const count = (value: unknown): number => (Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0);
    const { status, passed, failed, errored, skipped } = summary;
    return {
      status: (['pending', 'skip', 'pass', 'fail', 'error'] as const).find((one) => one === status) ?? 'error',
      passed: count(passed),
      failed: count(failed),
      errored: count(errored),
      skipped: count(skipped),
    };
  } catch {
    return null;
  }
}

/** Ends a test or a query. Returns false if this worker no longer holds it. */
export function finishToolJob(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  workerId: string,
  { outcome, errorMessage, log }: ToolRunResult,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const run = await lockToolRun(tx, job.runId);
    if (!run || !(await isMine(tx, job, workerId))) return false;
    await appendEnd(tx, keyring, job, log);
    const results = run.kind === 'test' ? await resultsOf(tx, keyring, job) : null;
    const ended = run.canceledAt !== null ? 'canceled' : outcome;
    await endToolRun(tx, run, ended, { reason: errorMessage ?? null, results });
    return true;
  });
}

/** Ends a test or query whose worker died. It is not repeated, because a test may have created resources. */
export async function giveUpToolJob(tx: Database, jobId: string, toolRunId: string): Promise<void> {
  const run = await lockToolRun(tx, toolRunId);
  const [job] = await tx.prisma.$queryRaw<{ state: string }[]>`
    SELECT state FROM run_job WHERE id = ${jobId} AND state IN ('claimed', 'started') AND claimed_until < now() FOR UPDATE`;
  if (!run || !job) return;
  if (run.canceledAt !== null) {
    return endToolRun(tx, run, 'canceled', { reason: 'The worker was lost while it was being canceled' });
  }
  if (job.state === 'claimed') {
    await tx.prisma.runJob.update({
      where: { id: jobId },
      data: { state: 'queued', workerId: null, claimedUntil: null },
    });
    return;
  }
  const warning = run.kind === 'test' ? '. Resources that the tests created may still exist' : '';
  await endToolRun(tx, run, 'errored', { reason: `The worker was lost${warning}` });
}

/** Ends tests and queries that no worker could take for a while, with the reason in their log; returns how many. */
export async function endUnservedToolRuns(db: Database, keyring: Keyring, waitSeconds: number): Promise<number> {
  const versions = Prisma.raw(workerVersions(places));
  const due = await db.prisma.$queryRaw<{ id: string; why: string }[]>`
    SELECT t.id, CASE t.kind WHEN 'test' THEN 'the agent pool of its tests no longer exists, or is not open to the whole organization'
             ELSE 'no worker of the workspace has version ' || t.infra_version || ' of the tool' END AS why ${from}
     WHERE j.state = 'queued' AND j.run_id IS NULL AND j.queued_at < now() - make_interval(secs => ${waitSeconds})
       AND CASE t.kind WHEN 'test' THEN m.test_execution_mode = 'agent' AND NOT (${Prisma.raw(ofTestPool)})
           ELSE t.infra_version IS NOT NULL AND cardinality(${versions}) > 0 AND NOT t.infra_version = ANY(${versions}) END
     ORDER BY j.queued_at LIMIT ${BATCH}`;
  for (const { id, why } of due) {
    await db.transaction(async (tx) => {
      const run = await lockToolRun(tx, id);
      if (run?.status !== 'queued') return;
      await appendToPhase(tx, keyring, run, Buffer.from(`Error: ${why}.\n`));
      await endToolRun(tx, run, 'errored', { reason: why });
    });
  }
  return due.length;
}
