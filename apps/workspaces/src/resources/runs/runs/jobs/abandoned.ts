import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../../kernel/database/database';
import { finish } from '../queue';
import { lockRunIfThere, movePhase, moveRun, recordEvent } from '../transition';

/** How often a plan is tried; each time its worker vanished. */
const plansTried = 3;

const BATCH = 20;

/** A job whose worker has not been heard of until its lease was over. */
interface Abandoned {
  readonly id: string;
  readonly run_id: string;
}

/** Decides what becomes of the jobs whose lease is over; answers how many there were. For any number of callers. */
export async function settleAbandoned(db: Database, keyring: Keyring): Promise<number> {
  const abandoned = await db.prisma.$queryRaw<Abandoned[]>`
    SELECT id, run_id FROM run_job WHERE state IN ('claimed', 'started') AND claimed_until < now()
     ORDER BY claimed_until LIMIT ${BATCH}`;
  for (const one of abandoned) await giveUp(db, keyring, one);
  return abandoned.length;
}

/** Forgets workers that were last heard of a day ago, and agents a week ago: people see for a while that they were there. */
export async function forgetWorkers(db: Database): Promise<number> {
  return db.prisma.$executeRaw`DELETE FROM run_worker 
     WHERE seen_at < now() - CASE WHEN agent_pool_id IS NULL THEN interval '1 day' ELSE interval '7 days' END`;
}

/**
 * Decides what becomes of one abandoned job. What never started, and a plan, is done again by another worker. An apply
 * that had started may have changed anything: its run ends in error and the workspace is free for people to look.
 */
async function giveUp(db: Database, keyring: Keyring, { id, run_id: runId }: Abandoned): Promise<void> {
  await db.transaction(async (tx) => {
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
        ? `The worker was lost while planning, ${job.losses + 1} times`
        : 'The worker was lost while applying. What was changed is not known: compare the infrastructure with the state before the next run';
    await movePhase(tx, job.phase_id, 'errored', { errorMessage: reason });
    await finish(tx, run, 'errored', { reason });
  });
}
