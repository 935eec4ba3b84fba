import type { Keyring } from '@keystead/keyring';
import type { Bell } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import type { Database } from '../../../kernel/database/database';
import { claimJob, newestQueued, releaseJob } from '../runs/jobs/claims';
import type { RunJob } from '../runs/jobs/job';
import type { Agent } from './agent';
import type { Claim } from './protocol';

/**
 * How often a waiting agent's request checks for queued jobs when no notification arrives, and in how many of these checks for
 * everything else.
 */
const lookMs = 200;
const wholeLooks = 5;

/** Lets others, or the agent itself, have a job that it was given in an answer which it never saw. */
const releaseUnheard = ({ prisma }: Database, workerId: string, holds: readonly string[]) =>
  prisma.$executeRaw`
    UPDATE run_job SET state = 'queued', worker_id = NULL, claimed_until = NULL
     WHERE worker_id = ${workerId} AND state = 'claimed' AND id <> ALL(${[...holds]})`;

/**
 * The next job for an agent; waits for one as long as it asks for, and until the agent disconnects (`left`). Throws
 * `unauthenticated` when its token ends meanwhile.
 */
export async function claimFor(
  db: Database,
  keyring: Keyring,
  agent: Agent,
  asked: z.infer<typeof Claim>,
  { left, isKnown, bell }: { left: () => boolean; isKnown: () => Promise<boolean>; bell: Bell },
): Promise<RunJob | undefined> {
  const { id: workerId, versions, agentPoolId } = agent;
  const by = { workerId, versions, agentPoolId, leaseSeconds: asked['lease-seconds'] };
  const untilMs = performance.now() + asked['wait-seconds'] * 1000;
  await releaseUnheard(db, workerId, asked.holds);
  let known = '';
  for (let look = 0; ; look++) {
    // What was queued before is for others. Runs that wait for a lock, and jobs of the dead, are looked for more seldom.
    const newest = await newestQueued(db);
    const asks = look % wholeLooks === 0 || (newest !== '' && newest !== known);
    known = newest;
    if (asks && look > 0 && !(await isKnown())) throw new Refusal('unauthenticated', '');
    const job = asks ? await claimJob(db, keyring, by) : undefined;
    if (job && !left()) return job;
    if (job) await releaseJob(db, job, agent.id);
    if (left() || performance.now() + lookMs > untilMs) return undefined;
    await bell.next(lookMs);
  }
}
