import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { mintLease } from '../src/resources/runs/agents/lease';
import { inlineBytes } from '../src/resources/runs/agents/protocol';
import { agentResource } from '../src/resources/runs/agents/routes';
import { judgingResource } from '../src/resources/runs/policy-evaluations/judging-routes';
import { fetchResource } from '../src/resources/runs/vcs/fetch-routes';
import { archiveOf, configured, fetchUrl, putUrl, startRun } from './configurations';
import { rowsButRefusals } from './database-rows';
import { stateOf } from './run-fixture';
import { resource, startWorkspaces } from './start-workspaces';

const prefix = '/api/agent/v1/agents';
const registration = {
  name: 'builder-1',
  version: '0.2.0',
  protocol: { oldest: 1, newest: 1 },
  'tool-versions': ['1.11.4'],
  isolation: 'own-user',
};
const bodies: Readonly<Record<string, object>> = {
  '/jobs': { 'lease-seconds': 60, 'wait-seconds': 0, holds: [] },
  '/heartbeat': { 'lease-seconds': 60 },
  '/finish': { outcome: 'errored' },
  '/fetches': { 'wait-seconds': 0 },
  '/evaluations': { 'wait-seconds': 0, busy: [] },
  '/requests': { 'wait-seconds': 0 },
  '/failure': { reason: 'gone', again: false },
  '/credentials': { token: 't', accessor: '', namespace: '' },
};
const endOf = (path: string): string => path.replace(/^.*(?=\/)/, '');
const bodyOf = (path: string): object | undefined =>
  path.endsWith(':request_id/failure') ? { reason: 'gone' } : new Map(Object.entries(bodies)).get(endOf(path));
const queryOf = (path: string): string =>
  path.endsWith('/answer')
    ? '?status=200&retry-after=0'
    : path.endsWith('/log')
      ? '?offset=0'
      : path.endsWith('/state')
        ? `?serial=1&md5=${'0'.repeat(32)}`
        : '';
const asked = { 'lease-seconds': 60, 'wait-seconds': 0, holds: [] };

describe('agents', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let counter = 0;
  let pool = '';
  let token = '';
  let workspace = '';

  const makePool = async (attributes: object = {}) =>
    (
      await admin
        .post('organizations/acme/agent-pools', resource('agent-pools', { name: `pool-${++counter}`, ...attributes }))
        .expect(201)
    ).body.data.id as string;
  const makeToken = async (poolId: string) => {
    const body = resource('authentication-tokens', { description: `t-${++counter}` });
    const { id, attributes } = (await admin.post(`agent-pools/${poolId}/authentication-tokens`, body).expect(201)).body
      .data;
    return { id: id as string, secret: attributes.token as string };
  };
  const makeWorkspace = async (poolId: string) =>
    (await workspaces.workspace('acme', `ws-${++counter}`, { 'execution-mode': 'agent', 'agent-pool-id': poolId })).id;
  const send = (method: 'get' | 'post' | 'put' | 'delete', path: string, secret = token, lease?: string) => {
    const test = request(workspaces.server)[method](`${prefix}${path}`).set('Authorization', `Bearer ${secret}`);
    return lease === undefined ? test : test.set('X-Agent-Lease', lease);
  };
  const register = async (secret = token, more: object = {}): Promise<string> =>
    (
      await send('post', '', secret)
        .send({ ...registration, ...more })
        .expect(201)
    ).body.id;
  const claim = async (agent: string, more: object = {}, secret = token) => {
    const { status, body } = await send('post', `/${agent}/jobs`, secret).send({ ...asked, ...more });
    expect([200, 204]).toContain(status);
    return status === 204 ? undefined : body;
  };
  const queued = async (workspaceId = workspace): Promise<string> => {
    await configured(workspaces, workspaceId);
    return (await startRun(admin, workspaceId).expect(201)).body.data.id;
  };
  const run = async (id: string) => (await admin.get(`runs/${id}`).expect(200)).body.data.attributes;
  const actor = (agent: string, job: { id: string; lease: string }, secret = token) => ({
    post: (path: string, body?: object) =>
      send('post', `/${agent}/jobs/${job.id}${path}`, secret, job.lease).send(body),
    get: (path: string) => send('get', `/${agent}/jobs/${job.id}${path}`, secret, job.lease).buffer(true),
    put: (path: string, bytes: Buffer) =>
      send('put', `/${agent}/jobs/${job.id}${path}`, secret, job.lease)
        .set('Content-Type', 'application/octet-stream')
        .send(bytes),
  });
  /** An agent that has started the plan of a new run. */
  const begun = async () => {
    const id = await queued();
    const agent = await register();
    await claim(agent);
    const job = await claim(agent);
    const held = job ?? (await claim(agent));
    const doing = actor(agent, held);
    await doing.post('/start').expect(200);
    return { run: id, agent, job: held, doing };
  };

  beforeAll(() => workspaces.organization('acme'));
  beforeEach(async () => {
    await workspaces.service.pool.query('DELETE FROM run; DELETE FROM run_worker');
    pool = await makePool();
    token = (await makeToken(pool)).secret;
    workspace = await makeWorkspace(pool);
  });

  it('carry out a plan with only the token of their pool', async () => {
    const id = await queued();
    expect((await run(id))['status-reason']).toContain('No agent of the workspace’s pool is connected');
    const agent = await register();
    const job = await claim(agent);
    expect(job).toMatchObject({ kind: 'plan', 'run-id': id, 'workspace-id': workspace, attempt: 1 });
    expect(JSON.stringify(job)).not.toContain('blob');
    const doing = actor(agent, job);
    const { body: inputs } = await doing.get('/inputs').expect(200);
    const registry = { host: 'workspaces.test', token: expect.stringMatching(/^run\./) };
    expect(inputs).toEqual({ variables: [], environment: [], 'ssh-key': null, registry, 'logs-in': false });
    const setRole = (role: string | null) =>
      workspaces.service.pool.query('UPDATE workspace SET secrets_role = $2 WHERE id = $1', [workspace, role]);
    await setRole('deploy');
    expect((await doing.get('/inputs').expect(200)).body['logs-in']).toBe(true);
    await setRole(null);
    const { body: configuration } = await doing.get('/configuration').expect(200);
    expect(configuration.length).toBeGreaterThan(50);
    await doing.get('/state').expect(204);
    const given = { configuration: configuration.toString('base64'), state: null };
    const start = { 'log-offset': 0, inputs: { ...inputs, registry }, files: given };
    expect((await doing.post('/start').expect(200)).body).toEqual(start);
    expect((await doing.post('/start').expect(200)).body).toEqual(start);
    expect((await run(id)).status).toBe('planning');
    await doing.put('/log?offset=0', Buffer.from('hello ')).expect(200, { size: 6 });
    await doing.put('/log?offset=0', Buffer.from('hello world')).expect(200, { size: 11 });
    await doing.put('/log?offset=3', Buffer.from('lo')).expect(200, { size: 11 });
    await doing.put('/log?offset=12', Buffer.from('gap')).expect(409);
    await doing.post('/heartbeat', { 'lease-seconds': 60 }).expect(200, { cancel: 'no' });
    const upload = async (name: string, text: string) =>
      (await doing.put(`/uploads/${name}`, Buffer.from(text)).expect(201)).body.upload;
    const uploads = { 'plan-file': await upload('plan-file', 'plan') };
    const json = '{"format_version":"1.2"}';
    const result = { outcome: 'planned', 'has-changes': true, additions: 1, uploads };
    for (const bad of ['?', 'A'.repeat(4 * Math.ceil((inlineBytes + 3) / 3))]) {
      const { body } = await doing.post('/finish', { ...result, files: { 'json-plan': bad } }).expect(422);
      expect(body.errors[0].detail).toContain('files.json-plan');
      const { body: ofLog } = await doing.post('/finish', { ...result, log: { offset: 0, bytes: bad } }).expect(422);
      expect(ofLog.errors[0].detail).toContain('log.bytes');
    }
    expect((await run(id)).status).toBe('planning');
    const files = { 'json-plan': Buffer.from(json).toString('base64') };
    // The end of the log begins with bytes that are already stored.
    const log = { offset: 6, bytes: Buffer.from('world!').toString('base64') };
    await doing.post('/finish', { ...result, files, log }).expect(204);
    expect((await run(id)).status).toBe('planned');
    await doing.post('/finish', { ...result, files, log: { ...log, offset: 12 } }).expect(409);
    const { headers } = await admin.get(`runs/${id}/plan/json-output`).expect(307);
    expect((await fetchUrl(workspaces, headers.location ?? '')).body.toString()).toBe(json);
    const plan = (await admin.get(`runs/${id}/plan`).expect(200)).body.data;
    expect(plan.attributes).toMatchObject({ 'resource-additions': 1, 'has-changes': true });
    const { body: text } = await fetchUrl(workspaces, plan.attributes['log-read-url']).expect(200);
    expect(text.toString()).toBe('\x02hello world!\x03');
  });

  it('have the end of their log stored even if the service has lost a piece before it', async () => {
    const { run: id, doing } = await begun();
    await doing.put('/log?offset=0', Buffer.from('begun ')).expect(200);
    // For example after the promotion of a standby that did not have the last commit.
    await doing.put('/log?offset=10', Buffer.from('next')).expect(409);
    const log = { offset: 10, bytes: Buffer.from('Error: bad').toString('base64') };
    await doing.post('/finish', { outcome: 'errored', log }).expect(204);
    const plan = (await admin.get(`runs/${id}/plan`).expect(200)).body.data;
    const { body } = await fetchUrl(workspaces, plan.attributes['log-read-url']).expect(200);
    expect(body.toString()).toBe('\x02begun \n\nA part of the log is missing here.\n\nError: bad\x03');
  });

  it('lose nothing of a result that they send again while it is being stored', async () => {
    const { run: id, doing } = await begun();
    const { body } = await doing.put('/uploads/json-plan', Buffer.from('{"format_version":"1.2"}')).expect(201);
    const result = { outcome: 'planned', 'has-changes': true, uploads: { 'json-plan': body.upload } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => doing.post('/finish', result)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409, 409, 409, 409]);
    const { headers } = await admin.get(`runs/${id}/plan/json-output`).expect(307);
    await fetchUrl(workspaces, headers.location ?? '').expect(200);
  });

  it('stop when the run is canceled, and are ignored once it is force-canceled', async () => {
    const { run: id, job, agent, doing } = await begun();
    await admin.post(`runs/${id}/actions/cancel`, {}).expect(202);
    await doing.post('/heartbeat', { 'lease-seconds': 60 }).expect(200, { cancel: 'cancel' });
    await workspaces.service.pool.query(`UPDATE run_job SET claimed_until = now() - interval '1 s'`);
    await claim(await register());
    expect((await run(id)).status).toBe('canceled');
    for (const answer of [
      doing.post('/heartbeat', { 'lease-seconds': 60 }),
      doing.post('/start'),
      doing.get('/inputs'),
      doing.put('/log?offset=0', Buffer.from('late')),
      doing.put('/uploads/json-plan', Buffer.from('{}')),
      doing.post('/finish', { outcome: 'planned' }),
      doing.post('/login'),
      doing.post('/identities'),
      doing.post('/credentials', { token: 't', accessor: '', namespace: '' }),
    ]) {
      const { body } = await answer.expect(409);
      expect(body.errors[0].detail).toContain('this agent no longer holds the job');
    }
    expect(mintLease(workspaces.service.env.keyring, agent, { id: job.id, attempt: job.attempt })).toBe(job.lease);
  });

  it('prove for each request that they hold the job: proofs of other agents, other jobs and earlier attempts are refused', async () => {
    const { agent, job, doing } = await begun();
    const other = await register();
    const elsewhere = await makeToken(await makePool());
    const stranger = await register(elsewhere.secret);
    await actor(other, job).post('/heartbeat', { 'lease-seconds': 60 }).expect(403);
    await actor(agent, { ...job, id: 'job-x' })
      .post('/heartbeat', { 'lease-seconds': 60 })
      .expect(403);
    const later = { ...job, lease: job.lease.replace(/^\d+/, `${job.attempt + 1}`) };
    await actor(agent, later).post('/heartbeat', { 'lease-seconds': 60 }).expect(403);
    await actor(agent, { ...job, lease: '' })
      .get('/inputs')
      .expect(403);
    // A token of another pool: the answer does not reveal that the agent exists.
    await actor(agent, job, elsewhere.secret).get('/inputs').expect(404);
    await actor(stranger, job, elsewhere.secret).get('/inputs').expect(403);
    await claim(agent, {}, token);
    await send('post', `/${agent}/jobs`, elsewhere.secret).send(asked).expect(404);
    await send('delete', `/${agent}`, elsewhere.secret).expect(404);
    // Bytes uploaded for one job, or under one name, cannot be used for another.
    const { body } = await doing.put('/uploads/json-plan', Buffer.from('{}')).expect(201);
    await doing.post('/finish', { outcome: 'planned', uploads: { 'plan-file': body.upload } }).expect(403);
    await doing.post('/finish', { outcome: 'planned', uploads: { 'json-plan': 'blob-1.abc' } }).expect(403);
    await doing.post('/finish', { outcome: 'applied' }).expect(409);
    await doing.post('/finish', { outcome: 'errored', fresh: 1 }).expect(422);
    await doing.post('/heartbeat', { 'lease-seconds': 60 }).expect(200);
  });

  it('cannot change anything by a result of an attempt that has ended', async () => {
    const { run: id, agent, job, doing } = await begun();
    await workspaces.service.pool.query(`UPDATE run_job SET claimed_until = now() - interval '1 s'`);
    const second = await register();
    const again = await claim(second);
    expect(again).toMatchObject({ id: job.id, attempt: job.attempt + 1 });
    await doing.post('/finish', { outcome: 'errored', 'error-message': 'old' }).expect(409);
    await doing.put('/log?offset=0', Buffer.from('old')).expect(409);
    // If the same agent gets the job again, it has a new proof; the old one stays invalid.
    await actor(second, again).post('/start').expect(200);
    await doing.post('/heartbeat', { 'lease-seconds': 60 }).expect(409);
    expect((await run(id)).status).toBe('planning');
    expect(agent).not.toBe(second);
  });

  it('get a lost answer again, and each job only once', async () => {
    const ids = [];
    for (let n = 0; n < 20; n++) ids.push(await queued(await makeWorkspace(pool)));
    const two = [await register(), await register()];
    await Promise.all(two.map((agent) => claim(agent, { holds: ['job-none'] })));
    const unheard = await Promise.all(two.map((agent) => claim(agent)));
    const got = new Map<string, string>();
    // A late answer is ignored: the job has been assigned again.
    for (const [index, agent] of two.entries()) {
      const job = await claim(agent, { holds: [...got.keys()] });
      expect([job.id, job.attempt]).toEqual([unheard[index].id, unheard[index].attempt + 1]);
      await actor(agent, unheard[index]).post('/start').expect(409);
      got.set(job.id, agent);
    }
    await Promise.all(
      two.map(async (agent) => {
        for (;;) {
          const holds = [...got].flatMap(([id, by]) => (by === agent ? [id] : []));
          const job = await claim(agent, { holds });
          if (!job) return;
          expect(got.has(job.id)).toBe(false);
          got.set(job.id, agent);
        }
      }),
    );
    expect(got.size).toBe(20);
    const { rows } = await workspaces.service.pool.query('SELECT losses, count(*)::int AS n FROM run_job GROUP BY 1');
    expect(rows).toEqual([{ losses: 0, n: 20 }]);
    expect(ids).toHaveLength(20);
  });

  it('get runs of workspaces that use their pool now, and of no others', async () => {
    const other = await makePool();
    const elsewhere = (await makeToken(other)).secret;
    const id = await queued();
    const mine = await register();
    const theirs = await register(elsewhere);
    expect(await claim(theirs, {}, elsewhere)).toBeUndefined();
    const { id: plain } = await workspaces.workspace('acme', `plain-${++counter}`, { 'execution-mode': 'remote' });
    await queued(plain);
    const exclude = (...ids: string[]) =>
      workspaces.service.pool.query(
        ids.length === 0
          ? 'DELETE FROM agent_pool_exclusion'
          : `INSERT INTO agent_pool_exclusion (agent_pool_id, workspace_id) VALUES ('${pool}', '${ids[0]}')`,
      );
    await exclude(workspace);
    expect(await claim(mine)).toBeUndefined();
    expect((await run(id))['status-reason']).toContain('No agent');
    await exclude();
    expect((await claim(mine))['run-id']).toBe(id);
  });

  it('end with the token that they registered with', async () => {
    const first = await makeToken(pool);
    const agent = await register(first.secret);
    const id = await queued();
    const job = await claim(agent, {}, first.secret);
    expect(job['run-id']).toBe(id);
    const shown = async () => (await admin.get(`agents/${agent}`).expect(200)).body.data.attributes.status;
    expect(await shown()).toBe('busy');
    // A token of the same pool, but not the one that the agent registered with.
    await send('post', `/${agent}/jobs`).send(asked).expect(409);
    await admin.delete(`authentication-tokens/${first.id}`).expect(204);
    await actor(agent, job, first.secret).get('/inputs').expect(401);
    expect(await shown()).toBe('errored');
    await admin.delete(`agents/${agent}`).expect(204);
    await admin.get(`agents/${agent}`).expect(404);
  });

  // A pool cannot be closed to a workspace that uses it: the workspace has to leave it first.
  const closePool = async (attributes: object, relationships: object = {}) => {
    await admin.patch(`workspaces/${workspace}`, resource('workspaces', { 'execution-mode': 'remote' })).expect(200);
    await admin.patch(`agent-pools/${pool}`, resource('agent-pools', attributes, relationships)).expect(200);
  };
  const exclude = () => closePool({}, { 'excluded-workspaces': { data: [{ type: 'workspaces', id: workspace }] } });
  // Changes of the pool while an agent has a job, each with the answer that the agent then gets.
  const closings: readonly (readonly [string, number, () => Promise<unknown>])[] = [
    ['is limited to named workspaces', 409, () => closePool({ 'organization-scoped': false })],
    ['excludes the workspace', 409, exclude],
    [
      'has lost its token',
      401,
      () =>
        workspaces.service.pool.query(
          `DELETE FROM token WHERE id = (SELECT token_id FROM run_worker WHERE agent_pool_id = $1 LIMIT 1)`,
          [pool],
        ),
    ],
  ];

  it.each(closings)(
    'cannot submit results for a workspace whose pool %s in the meantime',
    async (_how, expected, close) => {
      const { run: id, agent, job } = await begun();
      await close();
      const before = await run(id);
      const taken: string[] = [];
      for (const { method, path } of agentResource.endpoints.filter((one) => one.path.includes(':job_id'))) {
        // The endpoints that return other work have no effect here.
        if (path.endsWith('/release') || path.endsWith(':credential_id')) continue;
        const at = path.replace(prefix, '').replace(':agent_id', agent).replace(':job_id', job.id);
        const query = method === 'PUT' ? queryOf(path) : '';
        const test = send(method.toLowerCase() as 'get', `${at}${query}`, token, job.lease);
        const { status } = await (method === 'GET' ? test : test.send(bodyOf(path)));
        if (status !== expected) taken.push(`${method} ${path}: ${status}`);
      }
      expect(taken).toEqual([]);
      expect(await run(id)).toEqual(before);
      const where = { action: 'agent.refuse', targetId: id };
      const audited = await workspaces.service.db.prisma.auditEvent.count({ where });
      expect(audited > 0).toBe(expected === 409);
    },
  );

  const toolJobs: readonly (readonly [string, () => Promise<string>])[] = [
    [
      'a query',
      async () => {
        await configured(workspaces, workspace);
        const relationships = { workspace: { data: { type: 'workspaces', id: workspace } } };
        return (await admin.post('queries', resource('queries', {}, relationships)).expect(201)).body.data.id;
      },
    ],
    [
      'tests of a module',
      async () => {
        const name = `tested-${++counter}`;
        const config = { 'tests-enabled': true, 'agent-execution-mode': 'agent', 'agent-pool-id': pool };
        const body = resource('registry-modules', { name, provider: 'crane', 'test-config': config });
        await admin.post('organizations/acme/registry-modules', body).expect(201);
        const runs = `organizations/acme/tests/registry-modules/private/acme/${name}/crane/test-runs`;
        const made = (await admin.post(`${runs}/configuration-versions`).expect(201)).body.data;
        await putUrl(workspaces, made.attributes['upload-url'], await archiveOf()).expect(200);
        const relationships = { 'configuration-version': { data: { type: 'configuration-versions', id: made.id } } };
        return (await admin.post(runs, resource('test-runs', {}, relationships)).expect(201)).body.data.id;
      },
    ],
  ];
  it.each(toolJobs)('get nothing more of %s when their pool is closed in the meantime', async (_what, start) => {
    const id = await start();
    const agent = await register(token, { protocol: { oldest: 1, newest: 2 } });
    const job = (await claim(agent)) ?? (await claim(agent));
    const doing = actor(agent, job);
    await doing.post('/start').expect(200);
    await doing.get('/inputs').expect(200);
    await closePool({ 'organization-scoped': false });
    await doing.get('/inputs').expect(409);
    await doing.get('/configuration').expect(409);
    await doing.post('/finish', { outcome: 'finished' }).expect(409);
    const where = { action: 'agent.refuse', targetId: id };
    expect(await workspaces.service.db.prisma.auditEvent.count({ where })).toBeGreaterThan(0);
  });

  it('cannot begin claimed jobs after their pool is closed to the workspace', async () => {
    const id = await queued();
    const agent = await register();
    const job = (await claim(agent)) ?? (await claim(agent));
    await exclude();
    await actor(agent, job).post('/start').expect(409);
    expect((await run(id)).status).toBe('plan_queued');
  });

  it('whose pool was closed during an apply have their state put in quarantine instead of made the current one', async () => {
    const { run: id, agent, doing } = await begun();
    await doing.post('/finish', { outcome: 'planned', 'has-changes': true }).expect(204);
    await admin.post(`runs/${id}/actions/apply`, {}).expect(202);
    const applying = actor(agent, await claim(agent));
    await applying.post('/start').expect(200);
    await exclude();
    const serial = '9007199254740993';
    const state = Buffer.from(String(stateOf(1)).replace('"serial":1', `"serial":${serial}`));
    const md5 = createHash('md5').update(state).digest('hex');
    await applying.put(`/state?serial=9223372036854775808&lineage=l-1&md5=${md5}`, state).expect(400);
    await applying.put(`/state?serial=${serial}&lineage=l-1&md5=${md5}`, state).expect(409);
    await admin.get(`workspaces/${workspace}/current-state-version`).expect(404);
    const { rows } = await workspaces.service.pool.query(
      'SELECT serial::text FROM quarantined_state WHERE workspace_id = $1',
      [workspace],
    );
    expect(rows).toEqual([{ serial }]);
  });

  it('are shown with their pool, and can sign off', async () => {
    const agent = await register();
    const listed = async (query = '') =>
      (await admin.get(`agent-pools/${pool}/agents${query}`).expect(200)).body.data.map(
        ({ id, attributes }: { id: string; attributes: { status: string } }) => [id, attributes.status],
      );
    expect(await listed()).toEqual([[agent, 'idle']]);
    expect(await listed('?filter[last-ping-since]=2100-01-01T00:00:00Z')).toEqual([]);
    await admin.get(`agent-pools/${pool}/agents?filter[last-ping-since]=soon`).expect(400);
    await admin.delete(`agents/${agent}`).expect(409);
    const count = async () => (await admin.get(`agent-pools/${pool}`).expect(200)).body.data.attributes['agent-count'];
    expect(await count()).toBe(1);
    const id = await queued();
    expect((await claim(agent))['run-id']).toBe(id);
    await send('delete', `/${agent}`).expect(204);
    expect([await listed(), await count()]).toEqual([[[agent, 'exited']], 0]);
    await send('post', `/${agent}/jobs`).send(asked).expect(409);
    expect((await claim(await register()))['run-id']).toBe(id);
  });

  it('that are too old or too new are refused with advice', async () => {
    const older = await send('post', '')
      .send({ ...registration, protocol: { oldest: 0, newest: 0 } })
      .expect(409);
    expect(older.body.errors[0].detail).toContain('upgrade the agent');
    const newer = await send('post', '')
      .send({ ...registration, protocol: { oldest: 3, newest: 4 } })
      .expect(409);
    expect(newer.body.errors[0].detail).toContain('upgrade the service');
    await register(token, { protocol: { oldest: 1, newest: 2 } });
  });

  it('have a token that is valid for nothing else, and no other token is valid for their endpoints', async () => {
    await workspaces.as(token).get('organizations/acme').expect(401);
    await workspaces.as(token).get('account/details').expect(401);
    await send('post', '', admin.token).send(registration).expect(404);
    await request(workspaces.server).post(prefix).send(registration).expect(401);
  });

  it('of one pool reach nothing of another pool by any request', async () => {
    const { agent, job } = await begun();
    const { secret } = await makeToken(await makePool());
    const own = await register(secret);
    const before = await rowsButRefusals(workspaces.databaseUrl);
    const reached: string[] = [];
    const paths = [agentResource, fetchResource, judgingResource]
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ path }) => path.includes(':agent_id'));
    expect(paths.length).toBeGreaterThan(15);
    for (const { method, path } of paths) {
      for (const [as, expected] of [
        [agent, 404],
        [own, 403],
      ] as const) {
        const at = path.replace(prefix, '').replace(':agent_id', as).replace(':job_id', job.id).replace(/:\w+/, 'x');
        const isAboutJob = path.includes(':job_id');
        if (as === own && !isAboutJob) continue;
        const word = method.toLowerCase() as 'get';
        const query = method === 'PUT' ? queryOf(path) : '';
        const test = send(word, `${at}${query}`, secret, job.lease);
        const { status } = await (method === 'GET' || method === 'DELETE' ? test : test.send(bodyOf(path)));
        if (status !== expected) reached.push(`${method} ${path}: ${status}`);
      }
    }
    expect(reached).toEqual([]);
    expect(await rowsButRefusals(workspaces.databaseUrl)).toEqual(before);
  });

  it('that wait learn that their token has ended', async () => {
    const first = await makeToken(pool);
    const agent = await register(first.secret);
    const waiting = send('post', `/${agent}/jobs`, first.secret).send({ ...asked, 'wait-seconds': 30 });
    const [answer] = await Promise.all([waiting, admin.delete(`authentication-tokens/${first.id}`).expect(204)]);
    expect(answer.status).toBe(401);
  });

  it('wait for a job until there is one', async () => {
    const agent = await register();
    await configured(workspaces, workspace);
    const waiting = claim(agent, { 'wait-seconds': 30 });
    const { id } = (await startRun(admin, workspace).expect(201)).body.data;
    expect((await waiting)['run-id']).toBe(id);
  });
});
