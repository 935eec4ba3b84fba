import { actorOf } from '../../../kernel/audit/audit';
import type { Call, Resource } from '../../../kernel/endpoints/endpoint';
import { type Agent, findAgent, type Loading, register, requireAlive, signOff } from './agent';
import { claimFor } from './claim';
import { jobEndpoints } from './job-routes';
import { mintLease } from './lease';
import { agentPrefix, Claim, JobAnswer, Registered, Registration } from './protocol';
import { requestEndpoints } from './request-routes';
import { bodyOf, described, done, forAgents, json, raw, toWire } from './wire';

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
    // Users whose plans are checked control the agents of a pool.
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
    return done;
  },
});

/**
 * A job as it is sent: without data that only this service needs, and without values, which have a separate endpoint.
 */
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
    const job = await env.waiting.run((target as Agent).id, (left) =>
      claimFor(db, env, target as Agent, body, {
        left: () => left() || request.isGone(),
        isKnown: async () => (await renew()) !== undefined,
      }),
    );
    if (!job) return done;
    const { variables: _values, configurationBlobId: _blob, ...shown } = job;
    return json(toWire({ ...shown, lease: mintLease(env.keyring, (target as Agent).id, job) }));
  },
});

/**
 * The endpoints for agents. They need the token of the pool, and requests about a job need proof that the agent holds
 * it.
 */
export const agentResource: Resource = {
  name: 'agents',
  endpoints: [registering, exiting, claiming, ...jobEndpoints, ...requestEndpoints],
};
