import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@keystead/server';
import request from 'supertest';
import { callOf } from '../src/resources/connections/forwarding/host-call';
import { forgetRequests, largestAnswer } from '../src/resources/connections/forwarding/requests';
import { claimFetch } from '../src/resources/runs/vcs/fetches';
import { reportStatuses, writeComments } from '../src/resources/runs/vcs/reports';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { AgentClient } from '../src/worker/agent/client';
import { Forwarding } from '../src/worker/forwarding/forwarding';
import { startForwarding } from '../src/worker/forwarding/requests';
import { allRows } from './database-rows';
import { FakeGitea } from './fake-gitea';
import { FakeGithub } from './fake-github';
import { fetchAll } from './fetch-all';
import { withSecondNode } from './second-node';
import { ref, resource, startWorkspaces, WORKER_TOKEN } from './start-workspaces';
import { archiveOf } from './worker-fixture';

const prefix = '/api/agent/v1/agents';
const registration = {
  name: 'in the network',
  version: '0.3.0',
  protocol: { oldest: 1, newest: 1 },
  'tool-versions': ['1.11.4'],
  isolation: 'own-user',
};
const credential = 'canary-of-the-host';

// The service has no access to the host's network: every request that reaches the host came through an agent.
describe('a connection that names an agent pool', () => {
  const host = new FakeGitea();
  const output: string[] = [];
  const log = { write: (line: string) => void output.push(line) };
  const workspaces = startWorkspaces({ keyed: true, env: { WORKSPACES_VCS: 'on' }, log });
  const nodes = withSecondNode(workspaces);
  const { admin } = workspaces;
  let counter = 0;
  let pool = '';
  let token = '';
  let connection = '';
  let oauthToken = '';
  const agents: { close(): Promise<void> }[] = [];

  const makePool = async (organization = 'acme') => {
    const body = resource('agent-pools', { name: `pool-${++counter}` });
    const { id } = (await admin.post(`organizations/${organization}/agent-pools`, body).expect(201)).body.data;
    const path = `agent-pools/${id}/authentication-tokens`;
    const made = await admin.post(path, resource('authentication-tokens', { description: 'of a test' })).expect(201);
    return { id: id as string, tokenId: made.body.data.id, secret: made.body.data.attributes.token as string };
  };
  const send = (method: 'post' | 'put', path: string, secret = token, lease = '') =>
    request(workspaces.server)
      [method](`${prefix}${path}`)
      .set('Authorization', `Bearer ${secret}`)
      .set('X-Agent-Lease', lease);
  const register = async (secret = token, more: object = { forwards: true }): Promise<string> =>
    (
      await send('post', '', secret)
        .send({ ...registration, ...more })
        .expect(201)
    ).body.id;
  const take = (agent: string, secret = token) =>
    send('post', `/${agent}/requests`, secret).send({ 'wait-seconds': 5 });
  /** An agent that carries out its requests. */
  const agent = async (to: readonly string[] = [host.origin], secret = token) => {
    const id = await register(secret);
    const { port } = workspaces.server.address() as { port: number };
    const client = new AgentClient(new URL(`http://127.0.0.1:${port}`), secret, undefined);
    const silent = createLogger({ name: 'agent', level: 'trace', destination: log });
    const forwarding = startForwarding(client, () => id, new Forwarding(to), silent);
    const closing = {
      close: async () => {
        await forwarding.close();
        client.close();
        await workspaces.service.pool.query('UPDATE run_worker SET ended_at = now() WHERE id = $1', [id]);
      },
    };
    agents.push(closing);
    return { id, ...closing };
  };
  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: env.vcsReach!, publicUrl: env.publicUrl };
  };
  const connect = (organization = 'acme', poolId: string | null = pool, more: object = {}) =>
    admin.post(
      `organizations/${organization}/oauth-clients`,
      resource(
        'oauth-clients',
        {
          'service-provider': 'gitea',
          'http-url': host.origin,
          'api-url': `${host.origin}/api/v1`,
          'oauth-token-string': credential,
          ...more,
        },
        poolId === null ? {} : { 'agent-pool': ref('agent-pools', poolId) },
      ),
    );
  const follow = (name: string) => {
    const repo = { identifier: 'team/net', 'oauth-token-id': oauthToken };
    const body = resource('workspaces', { name, 'queue-all-runs': true, 'vcs-repo': repo });
    return admin.post('organizations/acme/workspaces', body);
  };
  const tend = async () => {
    await means().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(means(), () => workspaces.service.env.settings(), 3600);
  };
  const report = async () => {
    await means().db.prisma.ingressAttributes.updateMany({ data: { statusAt: new Date(0) } });
    await reportStatuses(means());
  };
  const problem = async () =>
    (await admin.get(`oauth-clients/${connection}`).expect(200)).body.data.attributes.problem as string | null;
  const repositoryProblem = async () => (await means().db.prisma.vcsRepository.findFirstOrThrow()).problem;
  const waiting = () => means().db.prisma.forwardedRequest.findMany();
  const expire = () =>
    workspaces.service.pool.query(`UPDATE forwarded_request SET ends_at = now() - interval '1 second'`);
  const call = (url: string, more: object = {}) =>
    callOf(means(), { apiUrl: `${host.origin}/api/v1`, httpUrl: host.origin, agentPoolId: pool })(
      url,
      { headers: { authorization: `token ${credential}` }, ...more },
      5000,
    );

  beforeAll(async () => {
    await host.start();
    host.branches.set('main', host.commit('Begin'));
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    await workspaces.organization('other');
    ({ id: pool, secret: token } = await makePool());
    const { body } = await connect().expect(201);
    connection = body.data.id;
    oauthToken = body.data.relationships['oauth-tokens'].data[0].id;
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((one) => one.close()));
    await workspaces.service.pool.query('DELETE FROM run_worker');
  });
  afterAll(() => host.stop());

  it('waits for a forwarding agent, shows it, and does not call the host from the service', async () => {
    await register(token, {});
    expect(await problem()).toContain('no agent');
    const { body } = await follow('early').expect(422);
    expect(body.errors[0].detail).toContain('no agent of the connection’s pool that forwards requests is connected');
    expect(host.calls).toEqual([]);
    await agent();
    expect(await problem()).toBeNull();
  });

  it('sends everything through an agent of its pool: look-ups, the webhook, statuses, comments', async () => {
    await agent();
    await follow('net').expect(201);
    await tend();
    expect(await repositoryProblem()).toBeNull();
    expect(host.hooks.size).toBe(1);
    host.pulls.push({ number: 1, head: host.commit('First'), files: ['main.tf'] });
    await tend();
    host.pulls[0]!.head = host.commit('Second');
    await tend();
    await report();
    expect(host.statuses.map(({ context }) => context)).toContain('keystead/acme');
    await writeComments(means());
    expect(host.comments).toHaveLength(1);
    // The node died after it wrote the comment, before this was recorded: the comment is found, and no second one is
    // written.
    host.comments.push(host.comments[0]!);
    const forgotten = { commentId: null, digest: null, nextAt: new Date(0), attempts: 1 };
    await means().db.prisma.vcsComment.updateMany({ data: forgotten });
    await writeComments(means());
    expect(host.comments).toHaveLength(2);
    expect((await means().db.prisma.vcsComment.findFirstOrThrow()).commentId).toBe('1');
    expect(new Set(host.calls.map(({ authorization }) => authorization))).toEqual(new Set([`token ${credential}`]));
    expect(await waiting()).toEqual([]);
  });

  it('has its commits fetched only by agents of its pool', async () => {
    const { db, keyring } = means();
    await means().db.prisma.ingressAttributes.updateMany({ data: { fetchAt: new Date(0) } });
    expect(await claimFetch(db, keyring, 'worker')).toBeUndefined();
    const own = (await send('post', '', WORKER_TOKEN).send(registration).expect(201)).body.id;
    await send('post', `/${own}/fetches`, WORKER_TOKEN).send({ 'wait-seconds': 0 }).expect(204);
    const plain = await register(token, {});
    await send('post', `/${plain}/fetches`).send({ 'wait-seconds': 0 }).expect(404);
    const elsewhere = await makePool();
    const stranger = await register(elsewhere.secret);
    await send('post', `/${stranger}/fetches`, elsewhere.secret).send({ 'wait-seconds': 0 }).expect(204);
    const mine = await register();
    const { body: fetch } = await send('post', `/${mine}/fetches`).send({ 'wait-seconds': 0 }).expect(200);
    expect(fetch).toMatchObject({ 'clone-url': `${host.origin}/team/net.git`, networks: [] });
    const archive = await archiveOf({ 'main.tf': '' });
    const put = (by: string, secret: string) =>
      send('put', `/${by}/fetches/${fetch['configuration-version-id']}/archive`, secret, fetch.lease)
        .set('Content-Type', 'application/octet-stream')
        .send(archive);
    await put(stranger, elsewhere.secret).expect(403);
    await put(mine, token).expect(204);
    expect(await fetchAll(workspaces.service, { agentPoolId: pool })).toBeGreaterThan(0);
  });

  it('shows what a run waits for if its commit cannot be fetched, with advice', async () => {
    await agent();
    const { id } = (await follow('awaits').expect(201)).body.data;
    await tend();
    await fetchAll(workspaces.service, { agentPoolId: pool });
    host.branches.set('main', host.commit('To be fetched'));
    const sent = resource('runs', {}, { workspace: ref('workspaces', id) });
    const run = (await admin.post('runs', sent).expect(201)).body.data;
    const reason = async () => (await admin.get(`runs/${run.id}`).expect(200)).body.data.attributes['status-reason'];
    const { name } = await means().db.prisma.agentPool.findUniqueOrThrow({ where: { id: pool } });
    expect(await reason()).toBe(`Waiting for an agent of the pool ${name} to fetch its commit`);
    await fetchAll(workspaces.service, { agentPoolId: pool, fails: 'away', again: true });
    expect(await reason()).toContain('fetching it from the Git host failed once and is retried');
    await Promise.all(agents.splice(0).map((one) => one.close()));
    await workspaces.service.pool.query('DELETE FROM run_worker');
    expect(await reason()).toContain(
      `the connection’s agent pool ${name} that forwards requests is connected. Start one`,
    );
    await admin.patch(`oauth-clients/${connection}`, resource('oauth-clients', {}, { 'agent-pool': { data: null } }));
    expect(await reason()).toContain('Waiting for a worker of the service to fetch its commit');
    await admin.patch(
      `oauth-clients/${connection}`,
      resource('oauth-clients', {}, { 'agent-pool': ref('agent-pools', pool) }),
    );
    await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('accepts no archive from an agent that lost its commit or its token during the upload', async () => {
    const pools = await makePool();
    const body = resource('oauth-clients', {}, { 'agent-pool': ref('agent-pools', pools.id) });
    const repo = { identifier: 'team/net', 'oauth-token-id': oauthToken };
    await agent();
    const made = resource('workspaces', { name: 'slow', 'vcs-repo': repo, 'queue-all-runs': false });
    await admin.post('organizations/acme/workspaces', made).expect(201);
    await tend();
    await admin.patch(`oauth-clients/${connection}`, body).expect(200);
    const claim = async () => {
      const by = await register(pools.secret);
      await means().db.prisma.ingressAttributes.updateMany({ data: { fetchAt: new Date(0) } });
      const path = `/${by}/fetches`;
      const given = (await send('post', path, pools.secret).send({ 'wait-seconds': 0 }).expect(200)).body;
      const id = given['configuration-version-id'] as string;
      return { id, path: `${path}/${id}/archive`, lease: given.lease as string };
    };
    const { port } = workspaces.server.address() as { port: number };
    /** Sends everything except the end, which follows when the returned function is called. */
    const begin = async ({ path, lease }: { path: string; lease: string }, archive: Buffer) => {
      const headers = {
        Authorization: `Bearer ${pools.secret}`,
        'X-Agent-Lease': lease,
        'Content-Type': 'application/octet-stream',
      };
      const sent = httpRequest({ port, host: '127.0.0.1', method: 'PUT', path: `${prefix}${path}`, headers });
      const answered = once(sent, 'response').then(([answer]) => answer.resume().statusCode as number);
      sent.write(archive.subarray(0, -10));
      await sleep(300);
      return () => {
        sent.end(archive.subarray(-10));
        return answered;
      };
    };
    const digest = async (id: string) =>
      (await means().db.prisma.configurationVersion.findUniqueOrThrow({ where: { id } })).digest;
    const [good, bad] = [await archiveOf({ 'main.tf': 'good' }), await archiveOf({ 'main.tf': 'bad' })];
    const first = await claim();
    const end = await begin(first, bad);
    const second = await claim();
    expect(second.id).toBe(first.id);
    await send('put', second.path, pools.secret, second.lease)
      .set('Content-Type', 'application/octet-stream')
      .send(good)
      .expect(204);
    const kept = await digest(second.id);
    expect(await end()).toBe(409);
    expect(await digest(second.id)).toEqual(kept);

    await means().db.prisma.configurationVersion.updateMany({
      where: { id: second.id },
      data: { status: 'fetching', digest: null },
    });
    const endLate = await begin(await claim(), bad);
    await admin.delete(`authentication-tokens/${pools.tokenId}`).expect(204);
    expect(await endLate()).toBe(401);
    expect(await digest(second.id)).toBeNull();
    const back = resource('oauth-clients', {}, { 'agent-pool': ref('agent-pools', pool) });
    await admin.patch(`oauth-clients/${connection}`, back).expect(200);
    await admin.delete('organizations/acme/workspaces/slow');
  });

  it('does not let its host redirect an agent to other addresses', async () => {
    await means().db.prisma.ingressAttributes.updateMany({
      data: { fetchAt: new Date(0), cloneUrl: 'http://10.0.0.7/internal.git' },
    });
    await means().db.prisma.configurationVersion.updateMany({ data: { status: 'fetching' } });
    const { db, keyring } = means();
    expect(await claimFetch(db, keyring, await register(), pool)).toBeUndefined();
    const { errorMessage } = await db.prisma.configurationVersion.findFirstOrThrow({ where: { status: 'errored' } });
    expect(errorMessage).toContain('is not at the host of its connection');
  });

  it('is invisible to agents of other pools, and to those that do not forward', async () => {
    const foreign = await makePool('other');
    const [mine, second, stranger] = [await register(), await register(), await register(foreign.secret)];
    const plain = await register(token, {});
    const own = (
      await send('post', '', WORKER_TOKEN)
        .send({ ...registration, forwards: true })
        .expect(201)
    ).body;
    expect(own.forwards).toBe(false);
    const asking = call(`${host.origin}/api/v1/version`).catch((error: Error) => error.message);
    await send('post', `/${stranger}/requests`, foreign.secret).send({ 'wait-seconds': 1 }).expect(204);
    await take(plain).expect(404);
    await take(own.id, WORKER_TOKEN).expect(404);
    await take(mine, foreign.secret).expect(404);
    const { body: given } = await take(mine).expect(200);
    expect(given).toMatchObject({ method: 'GET', url: `${host.origin}/api/v1/version`, body: null });
    await send('post', `/${second}/requests`).send({ 'wait-seconds': 0 }).expect(204);
    const answer = (by: string, secret: string, lease: string, id = given.id) =>
      send('put', `/${by}/requests/${id}/answer?status=200&retry-after=0`, secret, lease)
        .set('Content-Type', 'application/octet-stream')
        .send(Buffer.from('{"forged":true}'));
    const fail = (by: string, secret: string) =>
      send('post', `/${by}/requests/${given.id}/failure`, secret, given.lease).send({ reason: 'forged' });
    await answer(stranger, foreign.secret, given.lease).expect(403);
    await fail(stranger, foreign.secret).expect(403);
    await answer(mine, foreign.secret, given.lease).expect(404);
    await answer(second, token, given.lease).expect(403);
    await answer(mine, token, '').expect(403);
    await answer(mine, token, given.lease, 'freq-other').expect(403);
    await fail(mine, token).expect(204);
    // After a report, the result is final.
    await answer(mine, token, given.lease).expect(409);
    await fail(mine, token).expect(409);
    expect(await asking).toContain('unreachable for the agent: forged');
  });

  it('repeats a request if its agent dies halfway, and changes nothing twice', async () => {
    await workspaces.service.pool.query('UPDATE vcs_repository SET hook_id = NULL');
    host.hooks.clear();
    // This agent sends the request, and dies before it reports.
    const dying = await register();
    const tending = tend();
    for (let made = false; !made; ) {
      const { body: given } = await take(dying).expect(200);
      const { method, url, headers, body } = given;
      made = method === 'POST';
      const answer = await fetch(url, {
        method,
        headers: { ...headers, ...(body && { 'content-type': body.type }) },
        body: body?.text,
      });
      if (made) break;
      const bytes = Buffer.from(await answer.arrayBuffer());
      await send(
        'put',
        `/${dying}/requests/${given.id}/answer?status=${answer.status}&retry-after=0`,
        token,
        given.lease,
      )
        .set('Content-Type', 'application/octet-stream')
        .send(bytes)
        .expect(204);
    }
    await expire();
    await tending;
    expect(host.hooks.size).toBe(1);
    expect(await repositoryProblem()).toContain('did not answer in time');
    await agent();
    await tend();
    expect(await repositoryProblem()).toBeNull();
    expect(host.hooks.size).toBe(1);
    expect((await means().db.prisma.vcsRepository.findFirstOrThrow()).hookId).toBe('1');
  });

  it('waits for an answer no longer than its limit, and ignores later answers', async () => {
    const late = await register();
    const asking = call(`${host.origin}/api/v1/version`).catch((error: Error) => error.message);
    const { body: given } = await take(late).expect(200);
    await expire();
    await send('put', `/${late}/requests/${given.id}/answer?status=200&retry-after=0`, token, given.lease)
      .set('Content-Type', 'application/octet-stream')
      .send(Buffer.from('{}'))
      .expect(409);
    expect(await asking).toContain('did not answer in time');
    const ignored = call(`${host.origin}/api/v1/version`).catch((error: Error) => error.message);
    while ((await waiting()).length === 0) await sleep(10);
    await expire();
    expect(await ignored).toContain('took the request in time');
    // Requests of a node that died are removed, too.
    await workspaces.service.pool.query(
      `INSERT INTO forwarded_request (id, agent_pool_id, request, ends_at) VALUES ('freq-left', $1, '', now() - interval '1 hour')`,
      [pool],
    );
    expect((await send('post', `/${late}/requests`).send({ 'wait-seconds': 0 })).status).toBe(204);
    await forgetRequests(means().db);
    expect(await waiting()).toEqual([]);
  });

  it('accepts the answer of an agent that is connected to another node, of either kind', async () => {
    const mine = await register();
    const elsewhere = (method: 'post' | 'put', path: string, lease = '') =>
      request(nodes[1]!)
        [method](`${prefix}/${mine}/requests${path}`)
        .set('Authorization', `Bearer ${token}`)
        .set('X-Agent-Lease', lease);
    const url = `${host.origin}/api/v1/version`;
    const answered = call(url);
    const { body: given } = await elsewhere('post', '').send({ 'wait-seconds': 20 }).expect(200);
    await elsewhere('put', `/${given.id}/answer?status=429&retry-after=7`, given.lease)
      .set('Content-Type', 'application/octet-stream')
      .send(Buffer.from('{"said":"elsewhere"}'))
      .expect(204);
    expect(await answered).toMatchObject({ status: 429, retryAfterSeconds: 7, json: { said: 'elsewhere' } });
    const failed = call(url).catch((error: Error) => error.message);
    const { body: next } = await elsewhere('post', '').send({ 'wait-seconds': 20 }).expect(200);
    await elsewhere('post', `/${next.id}/failure`, next.lease).send({ reason: 'of the host' }).expect(204);
    expect(await failed).toContain('unreachable for the agent: of the host');
  });

  it('gives each of many requests to one of many agents', async () => {
    await Promise.all([agent(), agent(), agent()]);
    const before = host.calls.length;
    const paths = Array.from({ length: 40 }, (_, n) => `${host.origin}/api/v1/repos/team/net?n=${n}`);
    const answers = await Promise.all(paths.map((path) => call(path)));
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
    const seen = host.calls.slice(before).map(({ call: one }) => one);
    expect(seen).toHaveLength(40);
    expect(new Set(seen).size).toBe(40);
  });

  it('ends with the token of its agent, even while the agent waits', async () => {
    const second = await makePool();
    await admin.patch(
      `oauth-clients/${connection}`,
      resource('oauth-clients', {}, { 'agent-pool': ref('agent-pools', second.id) }),
    );
    const gone = await register(second.secret);
    const place = { apiUrl: host.origin, agentPoolId: second.id };
    const asking = callOf(means(), place)(host.origin, {}, 60_000).catch((error: Error) => error.message);
    while ((await waiting()).length === 0) await sleep(10);
    const hold = (by: string | null) => means().db.prisma.forwardedRequest.updateMany({ data: { workerId: by } });
    await hold('another');
    const [answer] = await Promise.all([
      send('post', `/${gone}/requests`, second.secret).send({ 'wait-seconds': 30 }),
      sleep(500)
        .then(() => admin.delete(`authentication-tokens/${second.tokenId}`).expect(204))
        .then(() => hold(null)),
    ]);
    expect(answer.status).toBe(401);
    expect((await waiting()).map(({ workerId }) => workerId)).toEqual([null]);
    await expire();
    expect(await asking).toContain('took the request in time');
    await send('post', `/${gone}/requests`, second.secret).send({ 'wait-seconds': 0 }).expect(401);
    expect(await problem()).toContain('no agent');
    await admin.delete(`agent-pools/${second.id}`).expect(422);
    await admin.patch(
      `oauth-clients/${connection}`,
      resource('oauth-clients', {}, { 'agent-pool': ref('agent-pools', pool) }),
    );
    await admin.delete(`agent-pools/${second.id}`).expect(204);
  });

  it('is created only with a pool of the same organization: another organization’s pool gets no request', async () => {
    const foreign = await makePool('other');
    await agent([host.origin], foreign.secret);
    const app = new FakeGithub();
    await app.start();
    try {
      const more = {
        'service-provider': 'github_app',
        'http-url': app.origin,
        'api-url': app.origin,
        'oauth-token-string': null,
        key: app.appId,
        secret: 'text',
        'private-key': app.privateKey,
      };
      await connect('acme', foreign.id, more).expect(422);
      await connect('acme', 'apool-1234567812345678', more).expect(422);
      expect(await waiting()).toEqual([]);
      expect(app.calls).toEqual([]);
      // The host is asked through the pool whether it accepts the key.
      await agent([app.origin]);
      const { body } = await connect('acme', pool, more).expect(201);
      expect(app.calls).toEqual(['GET /app']);
      await admin.delete(`oauth-clients/${body.data.id}`).expect(204);
    } finally {
      app.stop();
    }
  });

  describe('and a host that', () => {
    let server: Server;
    const listen = async (answer: RequestListener): Promise<string> => {
      server = createServer(answer).listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    };
    const ask = (origin: string, url: string, timeoutMs = 5000) =>
      callOf(means(), { apiUrl: origin, agentPoolId: pool })(url, {}, timeoutMs).then(
        ({ status, json }) => ({ status, json }),
        (error: Error) => error.message,
      );
    afterEach(() => {
      server?.closeAllConnections();
      server?.close();
    });

    it('people consent to in the browser gives its token through an agent', async () => {
      const asked: string[] = [];
      const origin = await listen((req, res) => {
        asked.push(`${req.method} ${req.url}`);
        const body =
          req.url === '/api/v1/user' ? { login: 'grace' } : { access_token: 'canary-granted', expires_in: 3600 };
        req.resume().on('end', () => res.setHeader('content-type', 'application/json').end(JSON.stringify(body)));
      });
      await agent([origin]);
      const application = { key: 'application', secret: 'text', 'oauth-token-string': null };
      const at = { 'http-url': origin, 'api-url': `${origin}/api/v1` };
      const { id } = (await connect('acme', pool, { ...at, ...application }).expect(201)).body.data;
      const left = await admin.post(`oauth-clients/${id}/authorizations`).expect(201);
      const state = new URL(left.body.data.attributes['authorize-url']).searchParams.get('state');
      const returned = resource('oauth-tokens', { code: 'of the host', state });
      const { body } = await admin.post(`oauth-clients/${id}/oauth-tokens`, returned).expect(201);
      expect(body.data.attributes['service-provider-user']).toBe('grace');
      expect(asked).toEqual(['POST /login/oauth/access_token', 'GET /api/v1/user']);
      expect(JSON.stringify(await allRows(workspaces.databaseUrl))).not.toContain('canary-granted');
      await admin.delete(`oauth-clients/${id}`).expect(204);
    });

    it('redirects elsewhere is not followed', async () => {
      const origin = await listen((_, res) => res.writeHead(302, { location: `${host.origin}/inside` }).end());
      await agent([origin, host.origin]);
      const before = host.calls.length;
      expect(await ask(origin, `${origin}/api`)).toEqual({ status: 302, json: undefined });
      expect(await ask(origin, `${host.origin}/inside`)).toContain('redirects to an address that is not its own');
      expect(host.calls).toHaveLength(before);
    });

    it('is slow, disconnects, or sends too many bytes: its answer is ignored', async () => {
      const origin = await listen((req, res) => {
        if (req.url === '/slow') return;
        if (req.url === '/middle') {
          res.writeHead(200, { 'content-length': '100' }).write('{');
          setTimeout(() => res.destroy(), 20);
          return;
        }
        res.end(Buffer.alloc(largestAnswer + 1, ' '));
      });
      await agent([origin]);
      expect(await ask(origin, `${origin}/slow`, 200)).toContain('no answer in time');
      expect(await ask(origin, `${origin}/middle`)).toContain('unreachable for the agent');
      expect(await ask(origin, `${origin}/large`)).toContain('too large');
      server.closeAllConnections();
      server.close();
      expect(await ask(origin, `${origin}/dead`)).toContain('ECONNREFUSED');
    });

    it('its agent may not call is not called; nor are its own machine and the metadata addresses of clouds', async () => {
      await agent([host.origin]);
      expect(await ask('http://127.0.0.1:9', 'http://127.0.0.1:9/x')).toContain(
        'does not forward to http://127.0.0.1:9',
      );
      const open = new Forwarding('any');
      expect(open.refusal('file:///etc/passwd')).toContain('no http');
      expect([open.reach.allows('10.1.2.3'), open.reach.allows('192.168.1.1'), open.reach.allows('1.1.1.1')]).toEqual([
        true,
        true,
        true,
      ]);
      for (const one of [open, new Forwarding(['http://169.254.169.254'])]) {
        expect(one.reach.allows('169.254.169.254')).toBe(false);
      }
      expect([open.reach.allows('127.0.0.1'), open.reach.allows('::1')]).toEqual([false, false]);
    });
  });

  it('keeps its credential out of the database and of every log, and leaves nothing once it is removed', async () => {
    const silent = await register();
    const asking = call(`${host.origin}/api/v1/version`).catch(() => undefined);
    const { body: given } = await take(silent).expect(200);
    expect(given.headers.authorization).toBe(`token ${credential}`);
    expect(JSON.stringify(await allRows(workspaces.databaseUrl))).not.toContain(credential);
    await send('post', `/${silent}/requests/${given.id}/failure`, token, given.lease)
      .send({ reason: 'over' })
      .expect(204);
    await asking;
    await agent();
    await admin.delete('organizations/acme/workspaces/net').expect(204);
    await admin.delete(`oauth-clients/${connection}`).expect(204);
    // The webhook is removed in the same way, with the data stored for cleaning up.
    await tend();
    expect(host.hooks.size).toBe(0);
    expect(await means().db.prisma.vcsRepository.count()).toBe(0);
    expect(output.join('\n')).not.toContain(credential);
  });
});
