import { parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';
import type { Resource } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { type Agent, findAgent, type Loading, requireAlive, requireStillKnown, takeWork } from '../agents/agent';

import { leaseLost, mintLease, requireLease } from '../agents/lease';
import * as wire from '../agents/protocol';
import { aboutWork, bodyOf, described, gather, json, noContent, raw, toWire } from '../agents/wire';
import type { SetVerdict } from '../runs/stages/policies';
import {
  concludeEvaluation,
  findEvaluation,
  type JudgingSet,
  keepEvaluation,
  postponeEvaluation,
  prepareEvaluation,
  returnEvaluation,
  type TakenEvaluation,
  takeEvaluations,
  unjudged,
} from './perform';

const evaluations = `${wire.agentPrefix}/agents/:agent_id/evaluations` as const;
const one = `${evaluations}/:policy_evaluation_id` as const;
const octets = 'application/octet-stream';
const largestVerdicts = 64 * 1024 * 1024;

/**
 * Only the installation's own agents evaluate policies, because users whose plans are checked control the agents of a
 * pool.
 */
const load = async ({ db, principal, params }: Loading): Promise<Agent | undefined> => {
  const agent = await findAgent(db, principal, params.agent_id);
  return agent && agent.agentPoolId === undefined ? agent : undefined;
};

const claiming = raw('POST')(evaluations, {
  ...aboutWork,
  summary: 'Take the next plan to evaluate with policies. Waits up to the time that the agent requests.',
  body: bodyOf(wire.EvaluationClaim),
  answers: {
    200: described('The policies, and the proof that the agent holds the plan.', wire.EvaluationGiven),
    204: { description: 'There is no plan at present.' },
  },
  load,
  run: async ({ target, ...call }) => {
    const { db, env, body } = call;
    const agent = target as Agent;
    requireAlive(agent);
    const due = await takeWork(call, `${agent.id} evaluations`, {
      take: async () => (await takeEvaluations(db, body.busy))[0],
      release: (one: TakenEvaluation) => returnEvaluation(db, one),
    });
    if (!due) return noContent;
    const prepared = await prepareEvaluation({ db, keyring: env.keyring }, due);
    if (!prepared) return noContent;
    const { id, claim: attempt, organization_id: organizationId } = due;
    const sets = (await prepared.sets()).flatMap((loaded) => ('set' in loaded ? shownSet(loaded.set) : []));
    const lease = mintLease(env.keyring, agent.id, { id, attempt }, 'agent-evaluation');
    return json(toWire({ id, organizationId, run: prepared.run, sets, lease }));
  },
});

const shownSet = ({ policies, ...set }: JudgingSet) =>
  toWire({ ...set, policies: policies.map(({ name, query }) => ({ name, query })) });

/** The dependencies of endpoints about plans under evaluation. */
interface JudgingRequest {
  readonly db: Database;
  readonly env: Environment;
  readonly params: { readonly agent_id: string; readonly policy_evaluation_id: string };
  readonly request: { readonly headers: NodeJS.Dict<string | string[]> };
}

/** The evaluation, if this agent was the last to claim it. Otherwise throws `transition`. */
async function requireTaken({ db, env, params, request }: JudgingRequest): Promise<TakenEvaluation> {
  const { agent_id, policy_evaluation_id: id } = params;
  const { attempt } = requireLease(env.keyring, agent_id, id, request.headers, 'agent-evaluation');
  const evaluation = await findEvaluation(db, id, attempt);
  if (!evaluation) throw leaseLost();
  return evaluation;
}

const reading = raw('GET')(`${one}/plan`, {
  ...aboutWork,
  summary: 'Download the plan to evaluate.',
  answers: { 200: { description: 'The plan in JSON.', type: octets, schema: { type: 'string', format: 'binary' } } },
  load,
  run: async (call) => {
    const evaluation = await requireTaken(call);
    const prepared = await prepareEvaluation({ db: call.db, keyring: call.env.keyring }, evaluation);
    const body = await prepared?.plan();
    if (!body) throw leaseLost();
    return { status: 200, headers: { 'Content-Type': octets }, body };
  },
});

const keeping = raw('POST')(`${one}/keep`, {
  ...aboutWork,
  summary: 'Report that the evaluation of a plan is still in progress.',
  answers: { 204: { description: 'The agent still holds the plan.' } },
  load,
  run: async (call) => {
    if ((await keepEvaluation(call.db, await requireTaken(call))) === 0) throw leaseLost();
    return noContent;
  },
});

const releasing = raw('POST')(`${one}/release`, {
  ...aboutWork,
  summary: 'Return a plan that could not be evaluated. It is evaluated again later.',
  answers: { 204: { description: 'Other agents can take the plan.' } },
  load,
  run: async (call) => {
    await postponeEvaluation(call.db, await requireTaken(call));
    return noContent;
  },
});

function verdictsIn(bytes: Buffer): ReadonlyMap<string, (typeof wire.Verdicts)['_output']['sets'][number]> {
  let parsed: unknown;
  try {
    parsed = parseExact(bytes.toString('utf8'));
  } catch {
    throw new Refusal('malformed', 'the results are not JSON');
  }
  const read = wire.Verdicts.safeParse(parsed);
  if (!read.success) throw new Refusal('invalid', 'the results do not follow the protocol');
  return new Map(read.data.sets.map((set) => [set.id, set]));
}

/** The verdict on a set. It is an error unless each of the set's policies was evaluated. */
function verdictOf(set: JudgingSet, verdicts: ReturnType<typeof verdictsIn>): SetVerdict {
  const { error = 'The worker did not evaluate this set', outcomes = [] } = verdicts.get(set.id) ?? {};
  const blank = unjudged(set.policies);
  if (outcomes.length !== blank.length) {
    return { id: set.id, error: error || 'The worker evaluated other policies', outcomes: blank };
  }
  return { id: set.id, error, outcomes: blank.map((policy, at) => ({ ...policy, ...outcomes[at]! })) };
}

const judging = raw('PUT')(`${one}/verdicts`, {
  ...aboutWork,
  summary: 'Report the policy results for a plan, as JSON. The run then continues.',
  takes: octets,
  streams: true,
  refuses: [403, 409, 413],
  answers: { 204: { description: 'Taken.' } },
  load,
  run: async (call) => {
    await requireTaken(call);
    const verdicts = verdictsIn(await gather(call.request.stream, largestVerdicts, 'a verdict'));
    await requireStillKnown(call.renew, async () => undefined);
    const evaluation = await requireTaken(call);
    await concludeEvaluation({ db: call.db, keyring: call.env.keyring }, evaluation, (set) => verdictOf(set, verdicts));
    return noContent;
  },
});

/** How agents of the installation evaluate policies. */
export const judgingResource: Resource = {
  name: 'evaluations',
  endpoints: [claiming, reading, keeping, releasing, judging],
};
