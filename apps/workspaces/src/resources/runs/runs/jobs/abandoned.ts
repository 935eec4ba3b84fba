import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../../generated/prisma/client';
import type { Database } from '../../../../kernel/database/database';
import { finish } from '../queue';
import { workerVersions } from '../run';
import { lockRunIfThere, movePhase, moveRun, recordEvent } from '../transition';
import { appendToPhase } from './logs';
import { endUnservedToolRuns, giveUpToolJob } from './tool-jobs';

/** The maximum number of attempts of a plan whose worker dies each time. */
const plansTried = 3;

const BATCH = 20;

/** A job whose lease ended without a heartbeat from its worker. */
interface Abandoned {
  readonly id: string;
  readonly run_id: string | null;
  readonly phase_id: string;
}

/**
 * Handles the jobs whose lease has expired: most jobs are queued again; runs whose apply had started end as errored.
 * Returns their number. Safe to call concurrently.
 */
export async function settleAbandoned(db: Database, keyring: Keyring): Promise<number> {
  const abandoned = await db.prisma.$queryRaw<Abandoned[]>`
    SELECT id, run_id, phase_id FROM run_job WHERE state IN ('claimed', 'started') AND claimed_until < now()
     ORDER BY claimed_until LIMIT ${BATCH}`;
  for (const one of abandoned) await giveUp(db, keyring, one);
  return abandoned.length;
}

/**
 * Deletes workers a day after their last heartbeat, and agents after a week, so that people can see them for a while.
 */
export async function forgetWorkers(db: Database): Promise<number> {
  return db.prisma.$executeRaw`DELETE FROM run_worker 
     WHERE seen_at < now() - CASE WHEN agent_pool_id IS NULL THEN interval '1 day' ELSE interval '7 days' END`;
}

/**
 * Handles one abandoned job. Another worker repeats a plan, or a job that never started. An apply that had started may
 * have changed anything, so its run becomes errored and the workspace is unlocked for users to check.
 */
async function giveUp(
  db: Database,
  keyring: Keyring,
  { id, run_id: runId, phase_id: phaseId }: Abandoned,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (runId === null) return giveUpToolJob(tx, id, phaseId);
    const run = await lockRunIfThere(tx, keyring, runId);
    if (!run) return;
    const [job] = await tx.prisma.$queryRaw<
      { kind: 'plan' | 'apply'; state: string; losses: number; cancel: string; phase_id: string }[]
    >`SELECT kind, state, losses, cancel, phase_id FROM run_job
       WHERE id = ${id} AND state IN ('claimed', 'started') AND claimed_until < now() FOR UPDATE`;
    if (!job) return;
    const again = job.state === 'claimed' || (job.kind === 'plan' && job.losses + 1 < plansTried);
    if (job.cancel !== 'no') {
      await movePhase(tx, job.phase_id, 'canceled');
      return finish(tx, run, 'canceled', { reason: 'The worker was lost while the run was being canceled' });
    }
    if (again) {
      const losses = job.losses + (job.state === 'started' ? 1 : 0);
      const data = { state: 'queued', workerId: null, claimedUntil: null, startedAt: null, losses };
      await tx.prisma.runJob.update({ where: { id }, data });
      if (job.state === 'claimed') return;
      await movePhase(tx, job.phase_id, 'queued');
      await moveRun(tx, runId, 'plan_queued', { event: 'worker-lost' });
      if (run.isAssessment) return;
      return recordEvent(tx, runId, 'plan-retried', {
        description: 'The worker was lost; another one repeats the plan',
      });
    }
    const reason =
      job.kind === 'plan'
        ? `The worker was lost during the plan, ${job.losses + 1} times`
        : 'The worker was lost during the apply. It is not known what was changed: compare the infrastructure with the state before the next run';
    await movePhase(tx, job.phase_id, 'errored', { errorMessage: reason });
    await finish(tx, run, 'errored', { reason });
  });
}

const versions = Prisma.raw(workerVersions({ w: 'w', p: 'p', o: 'o' }));

// Plans whose version no worker has. Without any worker, there are no such plans, because the workers' versions are
// unknown.
const unserved = Prisma.sql`
  SELECT r.id, ${versions} AS versions FROM run r
    JOIN workspace w ON w.id = r.workspace_id
    JOIN project p ON p.id = w.project_id
    JOIN organization o ON o.id = w.organization_id
   WHERE r.finished_at IS NULL AND r.status IN ('pending', 'plan_queued') AND r.infra_version IS NOT NULL
     AND cardinality(${versions}) > 0 AND NOT r.infra_version = ANY(${versions})`;

/**
 * Ends runs whose version of the tool no worker has had for a while. The reason is in the log of their plan, because
 * command lines that wait for a run print only the log. Returns the number of these runs. Any number of callers may
 * call it.
 */
export async function endUnserved(db: Database, keyring: Keyring, waitSeconds: number): Promise<number> {
  await db.prisma.$executeRaw`
    WITH unserved AS MATERIALIZED (${unserved})
    UPDATE run SET unserved_since = CASE WHEN id IN (SELECT id FROM unserved) THEN now() END
     WHERE finished_at IS NULL AND (unserved_since IS NULL) = (id IN (SELECT id FROM unserved))`;
  const due = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM run WHERE finished_at IS NULL AND unserved_since < now() - make_interval(secs => ${waitSeconds})
     ORDER BY number LIMIT ${BATCH}`;
  let ended = await endUnservedToolRuns(db, keyring, waitSeconds);
  for (const { id } of due) ended += (await db.transaction((tx) => endOne(tx, keyring, id))) ? 1 : 0;
  return ended;
}

async function endOne(tx: Database, keyring: Keyring, id: string): Promise<boolean> {
  const run = await lockRunIfThere(tx, keyring, id);
  const [still] = await tx.prisma.$queryRaw<
    { versions: readonly string[] }[]
  >`${unserved} AND r.id = ${id} AND r.unserved_since IS NOT NULL`;
  if (!run || !still) return false;
  const has = still.versions.join(', ');
  const those = run.executionMode === 'agent' ? 'agent of the pool' : 'worker';
  const reason = `No ${those} has version ${run.infraVersion} of the tool. Available versions: ${has}. Set one of them in the workspace`;
  const [phase] = await tx.prisma.$queryRaw<{ log_size: bigint }[]>`
    SELECT log_size FROM run_phase WHERE id = ${run.planId} FOR UPDATE`;
  const log = { id: run.planId, logSize: BigInt(phase?.log_size ?? 0n) };
  await appendToPhase(tx, keyring, log, Buffer.from(`Error: ${reason}.\n`));
  await movePhase(tx, run.planId, 'errored', { errorMessage: reason });
  await finish(tx, run, 'errored', { reason });
  return true;
}
