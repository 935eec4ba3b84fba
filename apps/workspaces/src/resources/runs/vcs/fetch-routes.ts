import type { Database } from '../../../kernel/database/database';
import type { Resource } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { type Agent, findAgent, type Loading, requireAlive, requireStillKnown, takeWork } from '../agents/agent';

import { leaseLost, mintLease, requireLease } from '../agents/lease';
import * as wire from '../agents/protocol';
import { aboutWork, bodyOf, described, json, noContent, raw, toWire } from '../agents/wire';
import {
  claimFetch,
  type Fetch,
  failFetch,
  findTaken,
  finishFetch,
  releaseFetch,
  releaseUnheard,
  type TakenFetch,
} from './fetches';

const fetches = `${wire.agentPrefix}/agents/:agent_id/fetches` as const;
const one = `${fetches}/:configuration_version_id` as const;

/**
 * Finds the agent of a request. Only the installation's own agents, and agents of the pool in a connection, get
 * credentials of repositories.
 */
const load = async ({ db, principal, params }: Loading): Promise<Agent | undefined> => {
  const agent = await findAgent(db, principal, params.agent_id);
  return agent && (agent.agentPoolId === undefined || agent.forwards) ? agent : undefined;
};

const claiming = raw('POST')(fetches, {
  ...aboutWork,
  summary: 'Take the next commit to fetch, with a credential for it. Waits up to the time that the agent requests.',
  body: bodyOf(wire.FetchClaim),
  answers: {
    200: described('A commit, and the proof that the agent holds it.', wire.FetchAnswer),
    204: { description: 'There is no commit at present.' },
  },
  load,
  run: async ({ target, ...call }) => {
    const { db, env } = call;
    const agent = target as Agent;
    const { id } = agent;
    requireAlive(agent);
    if (!env.vcsReach) return noContent;
    const work = {
      prepare: () => releaseUnheard(db, id),
      take: () => claimFetch(db, env.keyring, id, agent.agentPoolId ?? null),
      release: (fetch: Fetch) => releaseFetch(db, fetch),
    };
    const fetch = await takeWork(call, `${id} fetches`, work, 1000);
    if (!fetch) return noContent;
    const { configurationVersionId, attempt, ref = null, sshKey = null } = fetch;
    const lease = mintLease(env.keyring, id, { id: configurationVersionId, attempt }, 'agent-fetch');
    const { configurationBytes } = env;
    // This service's setting of private networks does not apply to agents of pools, which have a separate setting.
    const networks = agent.agentPoolId === undefined ? env.vcsNetworks : [];
    return json(toWire({ ...fetch, ref, sshKey, networks, configurationBytes, lease }));
  },
});

/** The dependencies of requests about a commit. */
interface FetchRequest {
  readonly db: Database;
  readonly env: Environment;
  readonly params: { readonly agent_id: string; readonly configuration_version_id: string };
  readonly request: { readonly headers: NodeJS.Dict<string | string[]> };
}

/** The fetch, if this agent was the last to claim it. Otherwise throws `transition`. */
async function requireTaken({ db, env, params, request }: FetchRequest): Promise<TakenFetch> {
  const { agent_id, configuration_version_id: id } = params;
  const { attempt } = requireLease(env.keyring, agent_id, id, request.headers, 'agent-fetch');
  const claim = await findTaken(db, id, attempt);
  if (!claim) throw leaseLost();
  return claim;
}

const archiving = raw('PUT')(`${one}/archive`, {
  ...aboutWork,
  summary: 'Upload the archive of a commit. Runs that wait for it can then start.',
  takes: 'application/octet-stream',
  streams: true,
  refuses: [403, 409, 413],
  answers: { 204: { description: 'Taken.' } },
  load,
  run: async (call) => {
    const { keyring, configurationBytes } = call.env;
    const claim = await requireTaken(call);
    // The claim is checked again at the end, because an archive may take long to arrive.
    const still = async () => {
      await requireStillKnown(call.renew, async () => undefined);
      await requireTaken(call);
    };
    await finishFetch(call.db, { keyring, configurationBytes }, claim, call.request.stream!, still);
    return noContent;
  },
});

const failing = raw('POST')(`${one}/failure`, {
  ...aboutWork,
  summary: 'Report why a commit was not fetched. The fetch is retried if that may help.',
  body: bodyOf(wire.FetchFailure),
  answers: { 204: { description: 'Noted.' } },
  load,
  run: async (call) => {
    await failFetch(call.db, await requireTaken(call), call.body.reason, call.body.again);
    return noContent;
  },
});

/** How agents fetch commits. */
export const fetchResource: Resource = { name: 'fetches', endpoints: [claiming, archiving, failing] };
