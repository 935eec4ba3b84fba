import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import type { Call, Resource } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { claimJob, newestQueued, releaseJob } from '../runs/jobs/claims';
import type { RunJob } from '../runs/jobs/job';
import { type Agent, findAgent, type Loading, register, requireAlive, signOff, waitForWork } from './agent';
import { jobEndpoints } from './job-routes';
import { mintLease } from './lease';
import { agentPrefix, Claim, JobAnswer, Registered, Registration } from './protocol';
import { requestEndpoints } from './request-routes';
import { bodyOf, described, forAgents, json, noContent, raw, toWire } from './wire';

const agents = `${agentPrefix}/agents` as const;
const agent = `${agents}/:agent_id` as const;
const load = ({ db, principal, params }: Loading) => findAgent(db, principal, params.agent_id);

const registering = raw('POST')(agents, {
  ...forAgents,
  summary: 'Register an agent with the pool of its token, or as an agent of the installation.',
  body: bodyOf(Registration),
  refuses: [409],
  answers: { 201: described('The agent is registered. Later requests use its ID.', Registered) },
  run: async ({ db, env, principal, body, request }) => {
    const agent = await register(db, actorOf({ principal, request }), principal, body, request.address);
    const installation = env.keyring.mac('agent-installation', '').toString('hex').slice(0, 32);
    const calls = env.vcsReach !== undefined;
    const forwards = agent.forwards && calls;
    const fetches = principal.isOwnWorker === true ? calls : forwards;
    // Agents of pools do not evaluate policies, because they are controlled by users whose plans are checked.
    const judges = principal.isOwnWorker === true;
    return json({ ...agent, installation, fetches, forwards, judges }, 201);
  },
});

const exiting = raw('DELETE')(agent, {
  ...forAgents,
  summary: 'Deregister an agent. Other agents can take jobs that it had not started.',
  refuses: [403],
  answers: { 204: { description: 'The agent is deregistered.' } },
  load,
  run: async ({ db, principal, target, request }: Call<typeof agent, undefined, Agent>) => {
    await signOff(db, actorOf({ principal, request }), target, principal.organizationId ?? null);
    return noContent;
  },
});

/**
 * How often the request of a waiting agent checks for queued jobs if no notification arrives, and after how many quick
 * checks it makes a complete one.
 */
const lookMs = 200;
const wholeLooks = 5;

/**
 * Releases jobs that were given to an agent in a response that never arrived, so that other agents or the agent itself
 * can take them.
 */
const releaseUnheard = ({ prisma }: Database, workerId: string, holds: readonly string[]) =>
  prisma.$executeRaw`
    UPDATE run_job SET state = 'queued', worker_id = NULL, claimed_until = NULL
     WHERE worker_id = ${workerId} AND state = 'claimed' AND id <> ALL(${[...holds]})`;

/**
 * The next job for an agent. Waits as long as the agent asks for, and until it disconnects (`mustStop`). Throws
 * `unauthenticated` when its token ends in the meantime.
 */
async function claimFor(
  db: Database,
  { keyring, queuedBell }: Pick<Environment, 'keyring' | 'queuedBell'>,
  agent: Agent,
  claim: z.infer<typeof Claim>,
  { mustStop, isKnown }: { mustStop: () => boolean; isKnown: () => Promise<boolean> },
): Promise<RunJob | undefined> {
  const { id: workerId, versions, agentPoolId } = agent;
  const by = { workerId, versions, agentPoolId, leaseSeconds: claim['lease-seconds'] };
  const prepare = () => releaseUnheard(db, workerId, claim.holds);
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
  return waitForWork(
    { queuedBell },
    { prepare, take, release },
    { waitSeconds: claim['wait-seconds'], lookMs, mustStop },
  );
}

const claiming = raw('POST')(`${agent}/jobs`, {
  ...forAgents,
  summary:
    'Take the next job of a workspace that uses the pool, or a remote job. Waits up to the time that the agent requests.',
  body: bodyOf(Claim),
  refuses: [403, 409],
  answers: {
    200: described('A job, and the proof that the agent holds it.', JobAnswer),
    204: { description: 'There is no job at present.' },
  },
  load,
  run: async ({ db, env, target, body, request, renew }) => {
    requireAlive(target as Agent);
    const job = await env.waiting.run((target as Agent).id, (mustStop) =>
      claimFor(db, env, target as Agent, body, {
        mustStop: () => mustStop() || request.isGone(),
        isKnown: async () => (await renew()) !== undefined,
      }),
    );
    if (!job) return noContent;
    // Values of variables are sent when the job starts.
    const { variables: _values, configurationBlobId: _blob, ...shown } = job;
    return json(toWire({ ...shown, lease: mintLease(env.keyring, (target as Agent).id, job) }));
  },
});

/**
 * The endpoints for agents. They need the token of the pool. Requests about a job also need a proof that the agent
 * holds the job.
 */
export const agentResource: Resource = {
  name: 'agents',
  endpoints: [registering, exiting, claiming, ...jobEndpoints, ...requestEndpoints],
};
