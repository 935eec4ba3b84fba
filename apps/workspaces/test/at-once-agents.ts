import { createHash } from 'node:crypto';
import type { Example, Making, World } from './at-once-examples';
import { resource, WORKER_TOKEN } from './start-workspaces';

const agents = '/api/agent/v1/agents';
const job = `${agents}/:agent_id/jobs/:job_id`;
const registration = {
  name: 'builder',
  version: '0.2.0',
  protocol: { oldest: 1, newest: 1 },
  'tool-versions': ['1.11.4'],
  isolation: 'own-user',
};
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');
const second = { also: [409] } as const;

const poolOf = async (world: World): Promise<string> => {
  const path = `organizations/${world.organization}/agent-pools`;
  return (await world.root('POST', path, resource('agent-pools', { name: world.fresh() }))).id;
};

/** An agent that has registered with the token of its pool. */
async function agent(world: World, more: object = {}) {
  const pool = await poolOf(world);
  const body = resource('authentication-tokens', { description: world.fresh() });
  const made = await world.root('POST', `agent-pools/${pool}/authentication-tokens`, body);
  const token: string = made.attributes.token;
  return { pool, token, id: (await world.as(token, 'POST', agents, { ...registration, ...more })).id as string };
}

const ofAgent =
  (more: Partial<Example> = {}): Making =>
  async (world) => {
    const { id, token } = await agent(world);
    return { at: { agent_id: id }, token, ...more };
  };

/** A plan, or the following apply, held by an agent. */
const ofJob =
  (
    more: Partial<Example>,
    { begun = true, kind = 'plan' }: { begun?: boolean; kind?: 'plan' | 'apply' } = {},
  ): Making =>
  async (world) => {
    const { id, token, pool } = await agent(world);
    const attributes = {
      name: world.fresh(),
      'execution-mode': 'agent',
      'agent-pool-id': pool,
      'infra-version': '1.11.4',
      'auto-apply': true,
    };
    const path = `organizations/${world.organization}/workspaces`;
    const { id: workspaceId } = await world.root('POST', path, resource('workspaces', attributes));
    await world.configuration(workspaceId);
    const workspace = { data: { type: 'workspaces', id: workspaceId } };
    await world.root('POST', 'runs', resource('runs', {}, { workspace }));
    const claim = () =>
      world.as(token, 'POST', `${agents}/${id}/jobs`, { 'lease-seconds': 600, 'wait-seconds': 5, holds: [] });
    const act = ({ id: jobId, lease }: { id: string; lease: string }, verb: string, body?: object) =>
      world.as(token, 'POST', `${agents}/${id}/jobs/${jobId}/${verb}`, body, { 'X-Agent-Lease': lease });
    let held = await claim();
    if (kind === 'apply') {
      await act(held, 'start');
      await act(held, 'finish', { outcome: 'planned', 'has-changes': true });
      held = await claim();
    }
    if (begun) await act(held, 'start');
    return { at: { agent_id: id, job_id: held.id }, headers: { 'X-Agent-Lease': held.lease }, token, ...more };
  };

const state = Buffer.from(
  '{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{},"resources":[]}',
);

const needsConnection = 'needs a private connection: `private-connections.test.ts` sends it again';
const needsPlan = 'needs a plan that waits for policies: `policy-evaluations.test.ts` sends it twice at once';
const needsHost = 'needs a Git host: `vcs.test.ts` sends it twice at once';

/** The requests of agents, made by many at once about one agent or one job. */
export const agentExamples = {
  'DELETE /agents/:agent_id': async (world: World) => {
    const { id, token } = await agent(world);
    await world.as(token, 'DELETE', `${agents}/${id}`);
    return { at: { agent_id: id }, also: [404] };
  },
  [`POST ${agents}`]: async (world: World) => ({ token: (await agent(world)).token, body: () => registration }),
  [`DELETE ${agents}/:agent_id`]: ofAgent(),
  [`POST ${agents}/:agent_id/jobs`]: ofAgent({
    body: () => ({ 'lease-seconds': 60, 'wait-seconds': 0, holds: [] }),
  }),
  [`POST ${agents}/:agent_id/fetches`]: async (world: World) => {
    const { id } = await world.as(WORKER_TOKEN, 'POST', agents, registration);
    return { at: { agent_id: id }, token: WORKER_TOKEN, body: () => ({ 'wait-seconds': 0 }) };
  },
  [`POST ${agents}/:agent_id/evaluations`]: async (world: World) => {
    const { id } = await world.as(WORKER_TOKEN, 'POST', agents, registration);
    return { at: { agent_id: id }, token: WORKER_TOKEN, body: () => ({ 'wait-seconds': 0, busy: [] }) };
  },
  ...Object.fromEntries(
    ['POST keep', 'POST release', 'PUT verdicts'].map((call) => {
      const [method, name] = call.split(' ');
      return [`${method} ${agents}/:agent_id/evaluations/:policy_evaluation_id/${name}`, needsPlan];
    }),
  ),
  [`PUT ${agents}/:agent_id/fetches/:configuration_version_id/archive`]: needsHost,
  [`POST ${agents}/:agent_id/fetches/:configuration_version_id/failure`]: needsHost,
  [`POST ${agents}/:agent_id/requests`]: async (world: World) => {
    const { id, token } = await agent(world, { forwards: true });
    return { at: { agent_id: id }, token, body: () => ({ 'wait-seconds': 0 }) };
  },
  [`PUT ${agents}/:agent_id/requests/:request_id/answer`]: needsConnection,
  [`POST ${agents}/:agent_id/requests/:request_id/failure`]: needsConnection,
  [`POST ${job}/start`]: ofJob({}, { begun: false }),
  [`POST ${job}/heartbeat`]: ofJob({ body: () => ({ 'lease-seconds': 60 }) }),
  [`PUT ${job}/log`]: ofJob({ query: '?offset=0', body: () => Buffer.from('the same piece') }),
  [`PUT ${job}/state`]: ofJob(
    { query: `?serial=1&lineage=l&md5=${md5(state)}`, body: () => state, ...second },
    { kind: 'apply' },
  ),
  ...Object.fromEntries(
    ['json-plan', 'redacted-json-plan', 'plan-file', 'errored-state'].map((name) => [
      `PUT ${job}/uploads/${name}`,
      ofJob({ body: () => Buffer.from('{}') }),
    ]),
  ),
  [`POST ${job}/finish`]: ofJob({ body: () => ({ outcome: 'errored' }), ...second }),
  [`POST ${job}/release`]: ofJob({}, { begun: false }),
  [`POST ${job}/login`]: ofJob({}),
  [`POST ${job}/identities`]: ofJob({}),
  [`POST ${job}/credentials`]: ofJob({ body: (n) => ({ token: `t-${n}`, accessor: '', namespace: '' }) }),
  [`DELETE ${job}/credentials/:credential_id`]: async (world: World) => {
    const example = await (ofJob({}) as (one: World) => Promise<Example>)(world);
    return { ...example, at: { ...example.at, credential_id: 'cred-1' } };
  },
} satisfies Readonly<Record<string, Making>>;
