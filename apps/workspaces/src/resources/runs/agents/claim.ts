import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { claimJob, newestQueued, releaseJob } from '../runs/jobs/claims';
import type { RunJob } from '../runs/jobs/job';
import { type Agent, requireStillKnown } from './agent';
import type { Claim } from './protocol';

/**
 * How often a waiting agent's request checks for queued jobs when no notification arrives, and the number of quick
 * checks before a complete one.
 */
const lookMs = 200;
const wholeLooks = 5;

/**
 * Releases jobs that were given to an agent in a response that never arrived, so that others or the agent itself can
 * take them.
 */
const releaseUnheard = ({ prisma }: Database, workerId: string, holds: readonly string[]) =>
  prisma.$executeRaw`
    UPDATE run_job SET state = 'queued', worker_id = NULL, claimed_until = NULL
     WHERE worker_id = ${workerId} AND state = 'claimed' AND id <> ALL(${[...holds]})`;

/** Work that an agent requests, and how it is returned if the answer is not delivered. */
interface WorkToTake<Work> {
  /** Called once, before the first look. */
  prepare?(): Promise<unknown>;
  /** Takes work if there is any; otherwise returns undefined. */
  take(): Promise<Work | undefined>;
  release(work: Work): Promise<void>;
}

/** Takes work for an agent, checking every `lookMs` for as long as it waits, and until it disconnects (`left`). */
async function waitForWork<Work>(
  { queuedBell }: Pick<Environment, 'queuedBell'>,
  { prepare, take, release }: WorkToTake<Work>,
  { waitSeconds, lookMs, left }: { waitSeconds: number; lookMs: number; left: () => boolean },
): Promise<Work | undefined> {
  const untilMs = performance.now() + waitSeconds * 1000;
  await prepare?.();
  for (;;) {
    const work = await take();
    if (work && !left()) return work;
    if (work) await release(work);
    if (left() || performance.now() + lookMs > untilMs) return undefined;
    await queuedBell.next(lookMs);
  }
}

/** The parts of a request for work that taking it needs. */
interface Asking {
  readonly env: Pick<Environment, 'queuedBell' | 'waiting'>;
  readonly body: { readonly 'wait-seconds': number };
  readonly request: { isGone(): boolean };
  readonly renew: () => Promise<unknown>;
}

/**
 * Takes work other than jobs for an agent: `line` names what it waits for, so that a newer request ends an older wait.
 * Throws
 * `unauthenticated`, and gives the work back, if the agent's token has ended in the meantime.
 */
export async function takeWork<Work>(
  { env, body, request, renew }: Asking,
  line: string,
  work: WorkToTake<Work>,
  lookMs = 500,
): Promise<Work | undefined> {
  const waitSeconds = body['wait-seconds'];
  const taken = await env.waiting.run(line, (left) =>
    waitForWork(env, work, { waitSeconds, lookMs, left: () => left() || request.isGone() }),
  );
  if (taken) await requireStillKnown(renew, () => work.release(taken));
  return taken;
}

/**
 * The next job for an agent. Waits as long as the agent asks for, and until it disconnects (`left`). Throws
 * `unauthenticated` when its token ends in the meantime.
 */
export async function claimFor(
  db: Database,
  { keyring, queuedBell }: Pick<Environment, 'keyring' | 'queuedBell'>,
  agent: Agent,
  asked: z.infer<typeof Claim>,
  { left, isKnown }: { left: () => boolean; isKnown: () => Promise<boolean> },
): Promise<RunJob | undefined> {
  const { id: workerId, versions, agentPoolId } = agent;
  const by = { workerId, versions, agentPoolId, leaseSeconds: asked['lease-seconds'] };
  const prepare = () => releaseUnheard(db, workerId, asked.holds);
  let previous = '';
  let looks = 0;
  const take = async (): Promise<RunJob | undefined> => {
    // Jobs queued before the last check are for other agents. Runs that wait for a lock, and jobs of dead workers, are
    // checked less often.
    const newest = await newestQueued(db);
    const look = looks++;
    const asks = look % wholeLooks === 0 || (newest !== '' && newest !== previous);
    previous = newest;
    if (!asks) return undefined;
    if (look > 0 && !(await isKnown())) throw new Refusal('unauthenticated', '');
    return claimJob(db, keyring, by);
  };
  const release = (job: RunJob) => releaseJob(db, job, workerId);
  return waitForWork({ queuedBell }, { prepare, take, release }, { waitSeconds: asked['wait-seconds'], lookMs, left });
}
