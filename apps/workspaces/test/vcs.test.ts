import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { SiteSettings } from '../src/kernel/endpoints/environment';
import { processDeliveries } from '../src/resources/runs/vcs/deliveries';
import { reportStatuses } from '../src/resources/runs/vcs/reports';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { reportUntriggered } from '../src/resources/runs/vcs/untriggered-statuses';
import { FakeGitea } from './fake-gitea';
import { fakeWorker } from './fake-worker';
import { fetchAll as fetchEverything } from './fetch-all';
import { resource, startWorkspaces, WORKER_TOKEN } from './start-workspaces';
import { archiveOf } from './worker-fixture';

describe('workspaces that follow a repository', () => {
  const host = new FakeGitea();
  const workspaces = startWorkspaces({
    keyed: true,
    env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' },
  });
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  let token = '';
  beforeAll(async () => {
    await host.start();
    host.branches.set('main', host.commit('Begin'));
    await workspaces.organization('acme', {
      'default-execution-mode': 'remote',
      'aggregated-commit-status-enabled': false,
    });
    const attributes = {
      'service-provider': 'gitea',
      'http-url': host.origin,
      'api-url': `${host.origin}/api/v1`,
      'oauth-token-string': 'text',
    };
    const made = await admin
      .post('organizations/acme/oauth-clients', resource('oauth-clients', attributes))
      .expect(201);
    token = made.body.data.relationships['oauth-tokens'].data[0].id;
  });
  afterAll(() => host.stop());

  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: env.vcsReach!, publicUrl: env.publicUrl };
  };
  const followed = async (name: string, attributes: object = {}, repo: object = {}): Promise<string> => {
    const body = resource('workspaces', {
      name,
      'queue-all-runs': true,
      ...attributes,
      'vcs-repo': { identifier: 'team/net', 'oauth-token-id': token, ...repo },
    });
    const { id } = (await admin.post('organizations/acme/workspaces', body).expect(201)).body.data;
    await look();
    return id;
  };
  const look = async (changed: Partial<SiteSettings> = {}, pollSeconds = 3600) => {
    await means().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    const settings = async () => ({ ...(await workspaces.service.env.settings()), ...changed });
    await syncRepositories(means(), settings, pollSeconds);
  };
  const commitsOf = async (workspace: string): Promise<string[]> => {
    const rows = await means().db.prisma.ingressAttributes.findMany({
      where: { configurationVersion: { workspaceId: workspace } },
      orderBy: { configurationVersion: { createdAt: 'asc' } },
    });
    return rows.map(({ commitMessage, tag }) => tag ?? commitMessage);
  };
  const fetchAll = (fails?: string, again?: boolean) => fetchEverything(workspaces.service, { fails, again });
  const runOf = (workspace: string) =>
    admin.post('runs', resource('runs', {}, { workspace: { data: { type: 'workspaces', id: workspace } } }));

  it('a commit of a host that is down is fetched when it works again, and given up after hours', async () => {
    const id = await followed('patient');
    const { ingressAttributes, configurationVersion, run } = means().db.prisma;
    const where = { workspaceId: id };
    const status = async () => (await configurationVersion.findFirstOrThrow({ where })).status;
    for (let failed = 1; failed <= 10; failed++) {
      const longestMs = Math.min(60_000, 2500 * 2 ** (failed - 1));
      await ingressAttributes.updateMany({ data: { fetchAt: new Date(0) } });
      expect(await fetchAll('the host is down', true)).toBe(1);
      const kept = await ingressAttributes.findFirstOrThrow({ where: { configurationVersion: where } });
      const { fetchFailures, fetchAt } = kept;
      expect(fetchFailures).toBe(failed);
      expect(fetchAt.getTime() - Date.now()).toBeLessThanOrEqual(longestMs);
      expect(await status()).toBe('fetching');
    }
    await configurationVersion.updateMany({ where, data: { createdAt: new Date(Date.now() - 6 * 3_600_000) } });
    await ingressAttributes.updateMany({ data: { fetchAt: new Date(0) } });
    expect(await fetchAll('the host is down', true)).toBe(1);
    expect(await status()).toBe('errored');
    expect(await run.count({ where })).toBe(0);
    await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('a commit that waits for its host is fetched soon after another was fetched from it', async () => {
    const [first, second] = [await followed('waits'), await followed('arrives')];
    const { ingressAttributes, run } = means().db.prisma;
    expect(await fetchAll('the host is down', true)).toBe(2);
    // Neither is due, however slow this machine is.
    await ingressAttributes.updateMany({ data: { fetchAt: new Date(Date.now() + 3_600_000) } });
    expect(await fetchAll()).toBe(0);
    await ingressAttributes.updateMany({
      where: { configurationVersion: { workspaceId: second } },
      data: { fetchAt: new Date(0) },
    });
    expect(await fetchAll()).toBe(2);
    expect(await run.count({ where: { workspaceId: { in: [first, second] } } })).toBe(2);
    for (const id of [first, second]) await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('a host that was down for a long time is read again within minutes', async () => {
    const id = await followed('looked-at');
    const { vcsRepository } = means().db.prisma;
    await vcsRepository.updateMany({ data: { attempts: 9 } });
    host.away = true;
    await look({}, 300);
    host.away = false;
    const { attempts, nextAt } = await vcsRepository.findFirstOrThrow();
    expect(attempts).toBe(10);
    expect(nextAt.getTime() - Date.now()).toBeLessThanOrEqual(300_000);
    await look();
    expect((await vcsRepository.findFirstOrThrow()).attempts).toBe(0);
    await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('finds tags by polling; older ones start nothing', async () => {
    host.tags.set('v0', host.commit('Old'));
    const id = await followed('tagged', {}, { 'tags-regex': '^v' });
    expect(await commitsOf(id)).toEqual([]);
    host.tags.set('v1', host.commit('One'));
    host.tags.set('x1', host.commit('Other'));
    await look();
    await look();
    expect(await commitsOf(id)).toEqual(['v1']);
    host.tags.set('v1', host.commit('One again'));
    await look();
    expect(await commitsOf(id)).toEqual(['v1', 'v1']);
    // Another expression finds old tags, which no run waits for.
    const path = `workspaces/${id}`;
    await admin.patch(path, resource('workspaces', { 'vcs-repo': { 'tags-regex': '^x' } })).expect(200);
    await look();
    host.tags.set('x2', host.commit('Two'));
    await look();
    expect(await commitsOf(id)).toEqual(['v1', 'v1', 'x2']);
  });

  it('a run started by hand uses the newest commit, waits for it, and ends with the reason if it cannot be fetched', async () => {
    const id = await followed('by-hand');
    await fetchAll();
    const newest = host.commit('Without a webhook');
    host.branches.set('main', newest);
    await worker.claim();
    const first = (await runOf(id).expect(201)).body.data;
    expect(first.attributes.status).toBe('pending');
    const configuration = first.relationships['configuration-version'].data.id;
    const ingress = await admin.get(`configuration-versions/${configuration}/ingress-attributes`).expect(200);
    expect(ingress.body.data.attributes['commit-sha']).toBe(newest);
    // Neither another poll nor another run fetches it a second time.
    await look();
    const second = (await runOf(id).expect(201)).body.data;
    expect(second.relationships['configuration-version'].data.id).toBe(configuration);
    expect(await commitsOf(id)).toEqual(['Begin', 'Without a webhook']);
    const statusOf = async (run: string) => (await admin.get(`runs/${run}`).expect(200)).body.data.attributes;
    await fetchAll();
    const queued = await means().db.prisma.run.findMany({ where: { configurationVersionId: configuration } });
    expect(queued).toHaveLength(2);
    host.branches.set('main', host.commit('Too large'));
    const third = (await runOf(id).expect(201)).body.data;
    await fetchAll('the commit needs more than 5 bytes');
    expect(await statusOf(third.id)).toMatchObject({ status: 'errored' });
    // While the host is down, runs still use the fetched configuration.
    host.away = true;
    try {
      const fourth = (await runOf(id).expect(201)).body.data;
      expect(fourth.relationships['configuration-version'].data.id).toBe(configuration);
    } finally {
      host.away = false;
    }
  });

  it('an agent of the installation fetches commits over HTTP once, unlike agents of a pool', async () => {
    const agents = '/api/agent/v1/agents';
    const registration = {
      name: 'own',
      version: '0.3.0',
      protocol: { oldest: 1, newest: 1 },
      'tool-versions': ['1.11.4'],
      isolation: 'own-user',
    };
    const send = (method: 'post' | 'put', path: string, secret = WORKER_TOKEN, lease = '') =>
      request(workspaces.server)
        [method](`${agents}${path}`)
        .set('Authorization', `Bearer ${secret}`)
        .set('X-Agent-Lease', lease);
    const { body: own } = await send('post', '').send(registration).expect(201);
    expect(own.fetches).toBe(true);
    const pool = await admin
      .post('organizations/acme/agent-pools', resource('agent-pools', { name: 'dmz' }))
      .expect(201);
    const path = `agent-pools/${pool.body.data.id}/authentication-tokens`;
    const made = await admin.post(path, resource('authentication-tokens', { description: 'dmz' })).expect(201);
    const foreign = made.body.data.attributes.token;
    const { body: other } = await send('post', '', foreign).send(registration).expect(201);
    expect(other.fetches).toBe(false);

    const id = await followed('over-http');
    await worker.claim();
    const run = (await runOf(id).expect(201)).body.data;
    for (const agent of [own.id, other.id])
      await send('post', `/${agent}/fetches`, foreign).send({ 'wait-seconds': 0 }).expect(404);
    const take = (agent: { id: string }) => send('post', `/${agent.id}/fetches`).send({ 'wait-seconds': 0 });
    const { body: third } = await send('post', '')
      .send({ ...registration, name: 'third' })
      .expect(201);
    const { body: unheard } = await take(own).expect(200);
    expect(unheard).toMatchObject({
      'workspace-id': id,
      'clone-url': expect.stringContaining(host.origin),
      authorization: expect.stringContaining('Basic '),
      networks: ['127.0.0.1/32'],
      attempt: 1,
    });
    await take(third).expect(204);
    // A worker that asks for a commit has none, so the earlier answer did not arrive.
    const { body: fetch } = await take(own).expect(200);
    expect(fetch).toMatchObject({ 'configuration-version-id': unheard['configuration-version-id'], attempt: 2 });
    const at = `/${own.id}/fetches/${fetch['configuration-version-id']}`;
    const failure = { reason: 'no reason', again: false };
    for (const lease of ['', `1.${fetch.lease.slice(2)}`, `3.${fetch.lease.slice(2)}`])
      await send('post', `${at}/failure`, WORKER_TOKEN, lease).send(failure).expect(403);
    await send('post', `${at}/failure`, foreign, fetch.lease).send(failure).expect(404);
    await send('post', `${at}/failure`, WORKER_TOKEN, fetch.lease).send({ reason: '', again: false }).expect(422);

    // The commit is tried again, and the worker that had it before no longer has it.
    await send('post', `${at}/failure`, WORKER_TOKEN, fetch.lease).send({ reason: 'away', again: true }).expect(204);
    const waits = await means().db.prisma.ingressAttributes.findMany({ where: { fetchFailures: 1 } });
    expect(waits.map(({ fetchWorkerId }) => fetchWorkerId)).toEqual([null]);
    // A repeated report is counted only once.
    await send('post', `${at}/failure`, WORKER_TOKEN, fetch.lease).send({ reason: 'away', again: true }).expect(409);
    await means().db.prisma.ingressAttributes.updateMany({ data: { fetchAt: new Date(0) } });
    const { body: second } = await take(third).expect(200);
    expect(second.attempt).toBeGreaterThan(fetch.attempt);
    await take(own).expect(204);
    // An agent without heartbeats keeps no commit for long.
    await means().db.prisma.runWorker.updateMany({ where: { id: third.id }, data: { seenAt: new Date(0) } });
    const { body: again } = await take(own).expect(200);
    expect(again.attempt).toBe(second.attempt + 1);
    await send('post', `${at.replace(own.id, third.id)}/failure`, WORKER_TOKEN, second.lease)
      .send(failure)
      .expect(409);
    const archive = await archiveOf({ 'main.tf': '' });
    const put = (lease: string) =>
      send('put', `${at}/archive`, WORKER_TOKEN, lease).set('Content-Type', 'application/octet-stream').send(archive);
    await put(fetch.lease).expect(409);
    const answers = await Promise.all([put(again.lease), put(again.lease)]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(204);
    expect(statuses.filter((status) => status !== 204 && status !== 409)).toEqual([]);
    await put(again.lease).expect(409);
    await send('post', `${at}/failure`, WORKER_TOKEN, again.lease).send(failure).expect(409);

    // A remote run is for the installation's own agents.
    const claim = { 'lease-seconds': 60, 'wait-seconds': 0, holds: [] };
    await send('post', `/${other.id}/jobs`, foreign).send(claim).expect(204);
    const { body: job } = await send('post', `/${own.id}/jobs`).send(claim).expect(200);
    expect(job['run-id']).toBe(run.id);
    await send('post', `/${own.id}/jobs/${job.id}/release`, WORKER_TOKEN, job.lease).expect(204);
    await request(workspaces.server)
      .delete(`${agents}/${own.id}`)
      .set('Authorization', `Bearer ${WORKER_TOKEN}`)
      .expect(204);
    await send('post', `/${own.id}/jobs`).send(claim).expect(409);
    await workspaces.as(WORKER_TOKEN).get('organizations/acme').expect(401);
    await admin.post(`runs/${run.id}/actions/cancel`, {});
  });

  it('a check without changes needs as many database queries for many workspaces as for one', async () => {
    const asked = async () => {
      const names: string[] = [];
      const { db, ...rest } = means();
      const get = (target: object, name: string) => {
        names.push(name);
        return Reflect.get(target, name);
      };
      const prisma = new Proxy(db.prisma, { get } as ProxyHandler<typeof db.prisma>);
      await db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
      await syncRepositories({ ...rest, db: { ...db, prisma } }, () => workspaces.service.env.settings(), 3600);
      return names.filter((name) => name === 'vcsHead');
    };
    const follow = async (n: number) => {
      await followed(`quiet-${n}`);
      await followed(`tagged-${n}`, {}, { 'tags-regex': '^q' });
    };
    await follow(1);
    const forOne = await asked();
    await follow(2);
    await follow(3);
    expect([forOne.length > 0, await asked()]).toEqual([true, forOne]);
    const { body } = await admin.get('organizations/acme/workspaces?search[name]=-').expect(200);
    for (const { id, attributes } of body.data)
      if (/^(quiet|tagged)-/.test(attributes.name)) await admin.delete(`workspaces/${id}`).expect(204);
  });

  const patched = (repo: object | null) => (id: string) =>
    admin.patch(`workspaces/${id}`, resource('workspaces', { 'vcs-repo': repo })).expect(200);
  /** How the workspace stops following the commit of a run. */
  const retirements: Record<string, { by: (id: string) => Promise<unknown>; why?: string }> = {
    nothing: { by: async () => undefined },
    'its branch coming back': {
      by: async () => {
        const head = host.branches.get('release')!;
        host.branches.delete('release');
        await look();
        host.branches.set('release', head);
        await look();
      },
    },
    'the end of its branch': {
      by: async () => {
        host.branches.delete('release');
        await look();
      },
      why: 'the branch release no longer exists in the repository',
    },
    'another branch': {
      by: patched({ branch: 'main' }),
      why: 'the workspace no longer follows the branch release',
    },
    tags: {
      by: patched({ 'tags-regex': '^v' }),
      why: 'the workspace no longer follows the branch release',
    },
    'another repository': {
      by: (id) => workspaces.service.pool.query("UPDATE workspace SET vcs_identifier = 'team/x' WHERE id = $1", [id]),
      why: 'the workspace is connected to another repository now',
    },
    'no repository': { by: patched(null), why: 'the workspace is no longer connected to a repository' },
  };
  const phases = ['plan', 'apply'] as const;
  const retired = Object.keys(retirements).flatMap((how) => phases.map((phase) => [phase, how] as const));

  it.each(retired)('the %s of a push is not applied without confirmation after %s', async (phase, how) => {
    // Jobs that earlier tests left behind are not for this one.
    await workspaces.service.pool.query('DELETE FROM run');
    host.branches.set('release', host.commit('Release'));
    const id = await followed(
      `retired-${phase}-${how.replaceAll(' ', '-')}`,
      { 'auto-apply': true },
      { branch: 'release' },
    );
    await fetchAll();
    if (phase === 'apply') await worker.plan();
    await retirements[how]!.by(id);
    const { why } = retirements[how]!;
    if (phase === 'plan') await worker.plan();
    else expect(await worker.start(await worker.take('apply'))).toBe(why === undefined);
    const { attributes } = (await admin.get(`workspaces/${id}/runs`).expect(200)).body.data[0];
    const said = phase === 'plan' ? `Waits for confirmation: ${why}` : `Did not start: ${why}`;
    if (why !== undefined) expect(attributes['status-reason']).toBe(said);
    const status = { plan: ['apply_queued', 'planned'], apply: ['applying', 'discarded'] }[phase];
    expect(attributes.status).toBe(status[why === undefined ? 0 : 1]);
    await admin.delete(`workspaces/${id}`);
    await workspaces.service.pool.query('DELETE FROM workspace WHERE id = $1', [id]);
  });

  const tagRetirements: Record<string, { by: () => unknown; why?: string }> = {
    nothing: { by: () => undefined },
    'its tag coming back': {
      by: async () => {
        const head = host.tags.get('r1')!;
        host.tags.delete('r1');
        await look();
        host.tags.set('r1', head);
      },
    },
    'the end of its tag': { by: () => host.tags.delete('r1'), why: 'the tag r1 no longer exists in the repository' },
    'a move of its tag': {
      by: () => host.tags.set('r1', host.commit('Moved')),
      why: 'the tag r1 now points to another commit',
    },
  };

  it.each(Object.keys(tagRetirements))(
    'a tag that no webhook reported is not applied without confirmation after %s',
    async (how) => {
      await workspaces.service.pool.query('DELETE FROM run');
      host.tags.clear();
      const name = `tag-${how.replaceAll(' ', '-')}`;
      const id = await followed(name, { 'auto-apply': true }, { 'tags-regex': '^r' });
      host.tags.set('r1', host.commit('Release 1'));
      await look();
      await fetchAll();
      const { by, why } = tagRetirements[how]!;
      await by();
      await look();
      await worker.plan();
      const runs = (await admin.get(`workspaces/${id}/runs`).expect(200)).body.data;
      const { attributes } = runs.at(-1);
      expect(attributes.status).toBe(why === undefined ? 'apply_queued' : 'planned');
      if (why !== undefined) expect(attributes['status-reason']).toBe(`Waits for confirmation: ${why}`);
      await admin.delete(`workspaces/${id}`);
      await workspaces.service.pool.query('DELETE FROM workspace WHERE id = $1', [id]);
    },
  );

  it('deliveries that are due at the same time are processed in order of arrival', async () => {
    const id = await followed('in-order', {}, { 'tags-regex': '^o' });
    const { db } = means();
    const { id: repositoryId } = await db.prisma.vcsRepository.findFirstOrThrow({ where: { identifier: 'team/net' } });
    const sender = { username: 'ada', avatarUrl: null, url: null };
    const names = ['o3', 'o1', 'o4', 'o2'];
    for (const name of names) {
      host.tags.set(name, host.commit(name));
      const events = [{ kind: 'tag', repositoryId: '7', sender, tag: name, after: host.tags.get(name)! }];
      const receivedAt = new Date(Date.UTC(2026, 0, Number(name.slice(1))));
      const row = { id: `vd-${name}`, deliveryId: name, repositoryId, events, receivedAt, nextAt: new Date(0) };
      await db.prisma.vcsDelivery.create({ data: row });
    }
    await processDeliveries(means(), () => workspaces.service.env.settings());
    expect(await commitsOf(id)).toEqual([...names].sort());
    host.tags.clear();
    await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('reports that a pull request concerns no workspace, if configured', async () => {
    await followed('elsewhere', { 'working-directory': 'elsewhere' });
    const told = (head: string) => host.statuses.filter((one) => one.sha === head);
    host.pulls.push({ number: 1, head: host.commit('Before'), files: ['net/a.tf'] });
    await look();
    host.pulls[0]!.head = host.commit('Not told');
    await look();
    await reportUntriggered(means());
    expect(host.statuses.filter(({ context }) => context.endsWith('/elsewhere'))).toEqual([]);
    const head = host.commit('Told');
    host.pulls[0]!.head = head;
    await look({ sendPassingStatusesForUntriggeredSpeculativePlans: true });
    await reportUntriggered(means());
    await reportUntriggered(means());
    expect(told(head)).toContainEqual(
      expect.objectContaining({
        state: 'success',
        context: 'keystead/acme/elsewhere',
        description: expect.stringContaining('No plan'),
      }),
    );
    expect(told(head).filter(({ context }) => context.endsWith('/elsewhere'))).toHaveLength(1);
  });

  it('a fork is planned if site administrators allow it, and then without secrets', async () => {
    const id = await followed('forked');
    await fetchAll();
    for (const [key, sensitive] of [
      ['open', false],
      ['hidden', true],
    ] as const) {
      const attributes = { key, value: `of ${key}`, category: 'env', sensitive };
      await admin.post(`workspaces/${id}/vars`, resource('vars', attributes)).expect(201);
    }
    host.pulls.push({ number: 7, head: host.commit('Of a fork'), files: ['main.tf'], fork: true });
    await look();
    expect(await commitsOf(id)).not.toContain('Of a fork');
    const { db } = means();
    const allowed = { allowSpeculativePlansOnPullRequestsFromForks: true };
    // The commit from before the permission is not planned.
    await look(allowed);
    host.pulls.at(-1)!.head = host.commit('Of a fork, again');
    await look(allowed);
    expect(await commitsOf(id)).toContain('Of a fork, again');
    await fetchAll();
    const { configurationVersionId } = await db.prisma.ingressAttributes.findFirstOrThrow({
      where: { commitMessage: 'Of a fork, again', configurationVersion: { workspaceId: id } },
    });
    const run = await db.prisma.run.findFirstOrThrow({ where: { configurationVersionId } });
    expect(run.planOnly).toBe(true);
    const inputs = await worker.inputs({ ...job, runId: run.id, workspaceId: id });
    expect(inputs.environment.map(({ key }) => key)).toEqual(['open']);
    const own = await db.prisma.run.findFirstOrThrow({ where: { workspaceId: id, planOnly: false } });
    const trusted = await worker.inputs({ ...job, runId: own.id, workspaceId: id });
    expect(trusted.environment.map(({ key }) => key).sort()).toEqual(['hidden', 'open']);
    await reportStatuses(means());
  });
  const job = { variables: [], configurationBlobId: null, planId: '' } as never as Parameters<typeof worker.inputs>[0];
});
