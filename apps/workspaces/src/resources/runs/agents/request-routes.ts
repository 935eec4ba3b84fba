import type { Environment } from '../../../kernel/endpoints/environment';
import {
  answerRequest,
  failRequest,
  type GivenRequest,
  largestAnswer,
  releaseRequest,
  takeRequest,
} from '../../connections/forwarding/requests';
import { type Agent, findAgent, type Loading, requireAlive, takeWork } from './agent';
import { leaseLost, mintLease, requireLease } from './lease';
import * as wire from './protocol';
import { aboutWork, bodyOf, described, gather, json, noContent, numberOf, raw, toWire } from './wire';

const requests = `${wire.agentPrefix}/agents/:agent_id/requests` as const;
const one = `${requests}/:request_id` as const;

/** An agent of a pool that registered with request forwarding. For other agents these endpoints do not exist. */
type Forwarder = Agent & { readonly agentPoolId: string };

const load = async ({ db, principal, params }: Loading): Promise<Agent | undefined> => {
  const agent = await findAgent(db, principal, params.agent_id);
  return agent?.forwards && agent.agentPoolId !== undefined ? agent : undefined;
};

const claiming = raw('POST')(requests, {
  ...aboutWork,
  summary:
    'Take the next request to a Git host of the pool’s connections. Waits up to the time that the agent requests.',
  body: bodyOf(wire.RequestClaim),
  answers: {
    200: described('A request, and the proof that the agent holds it.', wire.RequestGiven),
    204: { description: 'There is no request at present.' },
  },
  load,
  run: async ({ target, ...call }) => {
    const { db, env } = call;
    const agent = target as Forwarder;
    requireAlive(agent);
    await db.prisma.$executeRaw`UPDATE run_worker SET seen_at = now() WHERE id = ${agent.id}`;
    if (!env.vcsReach) return noContent;
    const assigned = await takeWork(call, `${agent.id} requests`, {
      take: () => takeRequest({ db, keyring: env.keyring }, agent),
      release: ({ id }: GivenRequest) => releaseRequest(db, id, agent.id),
    });
    if (!assigned) return noContent;
    return json(
      toWire({ ...assigned, lease: mintLease(env.keyring, agent.id, leaseOf(assigned.id), 'agent-request') }),
    );
  },
});

/** The lease of a request. It has only one attempt, because a request is given to only one agent. */
const leaseOf = (id: string) => ({ id, attempt: 1 });

/** The dependencies of endpoints about forwarded requests. */
interface AboutRequest {
  readonly env: Environment;
  readonly params: { readonly agent_id: string; readonly request_id: string };
  readonly request: { readonly headers: NodeJS.Dict<string | string[]> };
}

function givenTo({ env, params, request }: AboutRequest): { id: string; agentId: string } {
  const { agent_id: agentId, request_id: id } = params;
  requireLease(env.keyring, agentId, id, request.headers, 'agent-request');
  return { id, agentId };
}

const answering = raw('PUT')(`${one}/answer`, {
  ...aboutWork,
  summary: 'Report the response of a Git host.',
  query: { status: 'The status of the answer.', 'retry-after': 'Seconds that the host asks to wait.' },
  takes: 'application/octet-stream',
  streams: true,
  refuses: [403, 409, 413],
  answers: { 204: { description: 'Taken.' } },
  load,
  run: async (call) => {
    const assigned = givenTo(call);
    const status = Math.min(numberOf(call, 'status'), 999);
    const retryAfterSeconds = Math.min(numberOf(call, 'retry-after'), 86_400);
    const bytes = await gather(call.request.stream, largestAnswer, 'an answer');
    const { db, env } = call;
    if (!(await answerRequest({ db, keyring: env.keyring }, assigned, { status, retryAfterSeconds, bytes })))
      throw leaseLost();
    return noContent;
  },
});

const failing = raw('POST')(`${one}/failure`, {
  ...aboutWork,
  summary: 'Report the reason why a Git host did not answer.',
  body: bodyOf(wire.RequestFailure),
  answers: { 204: { description: 'Noted.' } },
  load,
  run: async (call) => {
    if (!(await failRequest(call.db, givenTo(call), call.body.reason))) throw leaseLost();
    return noContent;
  },
});

/** How agents carry out requests to Git hosts that only they can reach. */
export const requestEndpoints = [claiming, answering, failing];
