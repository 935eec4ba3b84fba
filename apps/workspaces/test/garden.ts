import { generateKeyPairSync, randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createLogger } from '@keystead/server';
import { type FuzzExample, smallState } from '@keystead/testing';
import { readConfig } from '../src/config';
import { resources } from '../src/resources/registry';
import type { ApplyResult, PlanResult, RunJob } from '../src/resources/runs/runs/jobs/job';
import { createService } from '../src/service';
import { archiveOf } from './configurations';
import { fakeWorker } from './fake-worker';
import { idSlots } from './id-slots';
import { stateWithOutput } from './run-fixture';
import { clientOf, organizationOf, PASSWORD, personIn, resource, type Spoken } from './start-workspaces';
import { type Tenant, tenant } from './tenant';

const mostTenants = 3;
const tenantEveryMs = 5_000;
const jobsAtOnce = 12;
const patience = 400;

/** Organizations with one object of every kind, recreated while other requests delete them, and a worker for runs. */
export interface Garden {
  /**
   * Works, and now and then creates another tenant and deletes the oldest; reports which exist and how to call them.
   */
  tend(): Promise<readonly FuzzExample[]>;
  close(): Promise<void>;
}

/** A garden in a service that runs elsewhere, on the same database; one person owns everything in it. */
export async function startGarden(
  place: { url: string; databaseUrl: string; sealKey: string },
  owner: { token: string; id: string; username: string },
): Promise<Garden> {
  // Another node, for what the API does not allow: creating people, and working on runs.
  const config = readConfig({
    WORKSPACES_DATABASE_URL: place.databaseUrl,
    WORKSPACES_SEAL_KEY: place.sealKey,
    WORKSPACES_PUBLIC_URL: place.url,
    WORKSPACES_MIGRATE: 'off',
  });
  const service = await createService(config, { log: createLogger({ name: 'garden', level: 'silent' }) });
  const as = (token?: string) => clientOf(() => place.url, token);
  const root = { ...as(owner.token), ...owner };
  const spoken: Spoken = {
    server: place.url,
    admin: root,
    as,
    async person(username, given) {
      const { id, secret } = await personIn(service, username, given);
      return { ...as(secret), id, username };
    },
    organization: (name, attributes, by = root) => organizationOf(by, name, attributes),
  };
  const uploads = await uploadsOf();
  const worker = patientWorker(fakeWorker({ service }));
  const tenants: Tenant[] = [];
  /** SCIM switched on, with a token: others switch it off and end its tokens. */
  const directory = async (): Promise<FuzzExample> => {
    await root.patch('admin/scim-settings', resource('scim-settings', { enabled: true, paused: false })).expect(200);
    const token = resource('authentication-tokens', { description: 'directory' });
    const { body } = await root.post('admin/scim-tokens', token).expect(201);
    return { pooled: ['token of a directory', body.data.attributes.token] };
  };
  let made = 0;
  let madeAtMs = 0;
  return {
    async tend() {
      await worker.workOff();
      if (tenants.length > 0 && Date.now() - madeAtMs < tenantEveryMs) return [];
      madeAtMs = Date.now();
      tenants.push(await tenant(spoken, worker, `garden-${++made}`, root));
      if (tenants.length > mostTenants) await root.delete(`organizations/${tenants.shift()!.name}`);
      return [...tenants.slice(-1).flatMap(examplesOf), ...uploads, await directory()];
    },
    close: () => service.close(),
  };
}

/** A worker that claims jobs until it gets a certain one, and ends the others in random ways. */
function patientWorker(worker: ReturnType<typeof fakeWorker>) {
  const endPlan = async (job: RunJob, result: Partial<PlanResult> = {}) => {
    await worker.start(job);
    await worker.log(job, 'The tool will perform the following actions\n');
    const planned = { outcome: 'planned', hasChanges: true, additions: 1, planFile: Buffer.from('plan') } as const;
    await worker.endPlan(job, { ...planned, ...result });
  };
  const endApply = async (job: RunJob, result: Partial<ApplyResult> = {}) => {
    await worker.start(job);
    await worker.endApply(job, { outcome: 'applied', additions: 1, ...result });
  };
  const outcomes = ['planned', 'planned', 'planned', 'errored', 'canceled'] as const;
  const workOn = (job: RunJob) =>
    job.kind === 'plan'
      ? endPlan(job, { outcome: outcomes[randomInt(outcomes.length)]!, jsonPlan: Buffer.from('{}') })
      : endApply(job, { state: stateWithOutput(randomInt(1, 1000), 'made') });
  const until = async (kind: RunJob['kind'], runId: string): Promise<RunJob> => {
    for (let i = 0; i < patience; i++) {
      const job = await worker.claim();
      if (job?.runId === runId && job.kind === kind) return job;
      if (job === undefined) await wait(25);
      else await workOn(job);
    }
    throw new Error(`there was no ${kind} of ${runId}`);
  };
  return {
    claim: () => worker.claim(),
    async workOff() {
      for (let i = 0; i < jobsAtOnce; i++) {
        const job = await worker.claim();
        if (job === undefined) return;
        await workOn(job);
      }
    },
    async plan(result: Partial<PlanResult> = {}, runId = '') {
      const job = await until('plan', runId);
      await endPlan(job, result);
      return job;
    },
    async apply(result: Partial<ApplyResult> = {}, runId = '') {
      const job = await until('apply', runId);
      await endApply(job, result);
      return job;
    },
  };
}

const json = (operation: string, path: string | undefined, body: object): FuzzExample => ({ operation, path, body });

/** The bytes that may be uploaded to a link. */
async function uploadsOf(): Promise<FuzzExample[]> {
  const bytes = (await archiveOf()).toString('base64');
  const content = '/api/v2/configuration-versions/{configuration_version_id}/content';
  const states = [1, 2, 3].map((serial) => smallState(serial).bytes.toString('base64'));
  return [
    { operation: `PUT ${content}`, bytes },
    ...states.map((state) => ({
      operation: 'PUT /api/v2/state-versions/{state_version_id}/content/raw',
      bytes: state,
    })),
  ];
}

/** Values other than ids, and those that people with a password send. */
function plainExamplesOf({ name, params, plain, tokens }: Tenant): FuzzExample[] {
  const under = `/api/v2/organizations/${name}`;
  const workspace = `/api/v2/workspaces/${params[':workspace_id']}`;
  const value = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const tags = { data: [{ type: 'tags', attributes: { name: 'blue' } }] };
  const signIn = resource('sessions', { username: plain.username, password: PASSWORD });
  const lock = { reason: 'at work', 'heartbeat-seconds': 30 };
  const login = {
    response_type: 'code',
    client_id: 'keystead-cli',
    redirect_uri: 'http://localhost:10003/login',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  };
  const agentToken = tokens.agent.token!;
  const named = `filter[organization][name]=${name}&filter[workspace][name]=${params[':name']}`;
  return [
    { pooled: ['token of an agent pool', agentToken] },
    { path: `/app/oauth2/auth?${new URLSearchParams(login)}` },
    { path: `/api/v2/vars?${named}` },
    { path: `/api/v2/state-versions?${named}` },
    { path: `/api/v2/team-workspaces?filter[workspace][id]=${params[':workspace_id']}` },
    { path: `/api/v2/team-projects?filter[project][id]=${params[':project_id']}` },
    json('POST /api/v2/session', undefined, signIn),
    json(
      'POST /api/v2/organizations/{organization_name}/ssh-keys',
      `${under}/ssh-keys`,
      resource('ssh-keys', { name: 'a', value }),
    ),
    json('POST /api/v2/workspaces/{workspace_id}/relationships/tags', `${workspace}/relationships/tags`, tags),
    json('POST /api/v2/workspaces/{workspace_id}/actions/lock', `${workspace}/actions/lock`, lock),
  ];
}

/** Every operation as it is called in a tenant, with the tenant's ids in the path and in each place of a body. */
function examplesOf(mine: Tenant): FuzzExample[] {
  const examples = plainExamplesOf(mine);
  for (const endpoint of resources.flatMap(({ endpoints }) => endpoints)) {
    const prefix = endpoint.outside ? '' : '/api/v2';
    const first = endpoint.path.split('/')[1]!;
    let isWhole = true;
    const filled = endpoint.path.replace(/:\w+/g, (part) => {
      const value = part === ':registry_name' ? 'private' : (mine.params[`${first}/${part}`] ?? mine.params[part]);
      isWhole &&= value !== undefined;
      return value ?? part;
    });
    const path = isWhole ? prefix + filled : undefined;
    const operation = `${endpoint.method} ${prefix}${endpoint.path.replace(/:(\w+)/g, '{$1}')}`;
    const bodies = idSlots(endpoint, mine).flatMap(({ type, body }) => (mine.ids[type] ? [body(mine.ids[type])] : []));
    if (path !== undefined) examples.push({ path });
    for (const body of bodies) examples.push(json(operation, path, body));
  }
  return examples;
}
