import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { renewTokens } from '../src/resources/connections/oauth/grants';
import { lookForInstallations } from '../src/resources/connections/oauth/installations';
import { processDeliveries } from '../src/resources/runs/vcs/deliveries';
import { claimFetch } from '../src/resources/runs/vcs/fetches';
import { reportStatuses } from '../src/resources/runs/vcs/reports';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { allRows } from './database-rows';
import { FakeGithub } from './fake-github';
import { resource, startWorkspaces } from './start-workspaces';

describe('a GitHub App', () => {
  const host = new FakeGithub();
  const output: string[] = [];
  const workspaces = startWorkspaces({
    keyed: true,
    env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' },
    log: { write: (line) => void output.push(line) },
  });
  const { admin } = workspaces;
  let connection = '';
  let installation = '';
  const app = (more: object = {}) =>
    resource('oauth-clients', {
      'service-provider': 'github_app',
      'http-url': host.origin,
      'api-url': host.origin,
      key: host.appId,
      secret: host.webhookSecret,
      'private-key': host.privateKey,
      ...more,
    });
  const connect = (more: object = {}, organization = 'acme') =>
    admin.post(`organizations/${organization}/oauth-clients`, app(more));
  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: env.vcsReach!, publicUrl: env.publicUrl };
  };
  const look = async () => {
    await means().db.prisma.githubApp.updateMany({ data: { lookAt: new Date(0) } });
    await lookForInstallations(means(), () => Date.now());
  };
  const installed = async (as = admin): Promise<string[]> =>
    (await as.get('github-app/installations').expect(200)).body.data.map(
      ({ attributes }: { attributes: { name: string } }) => attributes.name,
    );
  const follow = (name: string, repo: object) =>
    admin.post(
      'organizations/acme/workspaces',
      resource('workspaces', { name, 'queue-all-runs': true, 'vcs-repo': repo }),
    );
  const deliver = ({ headers, text }: ReturnType<FakeGithub['delivery']>, to = connection) =>
    request(workspaces.server).post(`/webhooks/github-app/${to}`).set(headers).send(text);
  const settings = () => workspaces.service.env.settings();
  const tend = async () => {
    await means().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(means(), settings, 3600);
  };
  const waiting = async () => means().db.prisma.vcsDelivery.count({ where: { state: 'waiting' } });

  beforeAll(async () => {
    await host.start();
    host.push('Begin');
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    await workspaces.organization('other');
    const { body } = await connect().expect(201);
    connection = body.data.id;
    await look();
    [{ id: installation }] = (await admin.get('github-app/installations').expect(200)).body.data;
  });
  afterAll(() => host.stop());

  it.each([
    ['no id', { key: '' }, 'key'],
    ['a malformed id', { key: '12/34' }, 'key'],
    ['no key', { 'private-key': null }, 'private-key'],
    ['an invalid key', { 'private-key': 'secret' }, 'private-key'],
    ['a word instead of a key', { 'private-key': 'kept' }, 'private-key'],
    ['the key of another app', { key: '1' }, 'private-key'],
    ['a personal token', { 'oauth-token-string': 'text' }, 'oauth-token-string'],
    ['an invalid host', { 'api-url': 'http://127.0.0.1:1' }, 'api-url'],
  ])('is not connected with %s', async (_, more, field) => {
    const { body } = await connect(more, 'other').expect(422);
    expect(body.errors[0].source.pointer).toBe(`/data/attributes/${field}`);
    expect((await admin.get('organizations/other/oauth-clients').expect(200)).body.data).toEqual([]);
  });

  it('is shown with the address of its webhook, and no secrets', async () => {
    const { body } = await admin.get(`oauth-clients/${connection}`).expect(200);
    expect(body.data.attributes).toMatchObject({
      'service-provider': 'github_app',
      'service-provider-display-name': 'GitHub App',
      key: host.appId,
      secret: null,
      'webhook-url': expect.stringMatching(`/webhooks/github-app/${connection}$`),
      problem: null,
    });
    expect(body.data.relationships['oauth-tokens'].data).toEqual([]);
    expect((await admin.get('organizations/acme/oauth-tokens').expect(200)).body.data).toEqual([]);
    await admin.get(`oauth-tokens/${installation}`).expect(404);
    await admin.post(`oauth-clients/${connection}/authorizations`, resource('oauth-authorizations')).expect(422);
  });

  it('is installed on accounts, which are visible to those who may use its connection (WV.20)', async () => {
    const { body } = await admin.get(`github-app/installation/${installation}`).expect(200);
    expect(body.data).toMatchObject({
      type: 'github-app-installations',
      attributes: { name: 'team', 'installation-id': 7001, 'installation-type': 'Organization' },
      relationships: { 'oauth-client': { data: { type: 'oauth-clients', id: connection } } },
    });
    const found = async (query: string) => {
      const paths = [
        'github-app/installations',
        'github-app-installations',
        'organizations/acme/github-app-installations',
      ];
      const counts = await Promise.all(
        paths.map(async (path) => (await admin.get(`${path}?${query}`).expect(200)).body.data.length),
      );
      expect(new Set(counts).size).toBe(1);
      return counts[0];
    };
    expect(await found('filter[name]=team')).toBe(1);
    expect(await found('filter[name]=tea')).toBe(0);
    expect(await found('filter[installation_id]=7001')).toBe(1);
    expect(await found('filter[installation_id]=7002')).toBe(0);
    expect(await found('filter[installation_id]=x')).toBe(0);
    expect(await found('page[size]=1&page[number]=2')).toBe(0);
    const stranger = await workspaces.person('stranger');
    expect(await installed(stranger)).toEqual([]);
    await stranger.get(`github-app/installation/${installation}`).expect(404);
  });

  it('connects a workspace, under either name of the attribute, and neither name accepts ids meant for the other (W6.23, WV.20)', async () => {
    const made = await follow('net', { identifier: 'team/net', 'github-app-installation-id': installation }).expect(
      201,
    );
    const shown = made.body.data.attributes['vcs-repo'];
    expect(shown).toMatchObject({
      'oauth-token-id': null,
      'vcshost-app-installation-id': installation,
      'github-app-installation-id': installation,
      'service-provider': 'github_app',
      'webhook-url': null,
    });
    await follow('wrong', { identifier: 'team/net', 'oauth-token-id': installation }).expect(422);
    const ot = 'ot-1234567812345678';
    await follow('wrong', { identifier: 'team/net', 'vcshost-app-installation-id': ot }).expect(422);
    await follow('wrong', { identifier: 'team/gone', 'vcshost-app-installation-id': installation }).expect(422);
    const change = async (repo: object | null) => {
      const body = resource('workspaces', { 'vcs-repo': repo });
      const answer = await admin.patch(`workspaces/${made.body.data.id}`, body).expect(200);
      return answer.body.data.attributes['vcs-repo'];
    };
    const kept = await change({ branch: 'main', 'oauth-token-id': null });
    expect(kept).toMatchObject({ branch: 'main', 'vcshost-app-installation-id': installation });
    expect(await change(null)).toBeNull();
    const again = await change({ identifier: 'team/net', 'vcshost-app-installation-id': installation });
    expect(again).toMatchObject({ 'vcshost-app-installation-id': installation });
  });

  it('belongs to one organization, or only to its projects in the project scopes', async () => {
    const repo = { identifier: 'team/net', 'vcshost-app-installation-id': installation };
    const attributes = { name: 'net', 'vcs-repo': repo };
    const { body } = await admin.post('organizations/other/workspaces', resource('workspaces', attributes)).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/vcs-repo/vcshost-app-installation-id');
    const scope = (open: boolean) =>
      admin
        .patch(`oauth-clients/${connection}`, resource('oauth-clients', { 'organization-scoped': open }))
        .expect(200);
    await scope(false);
    await follow('scoped', repo).expect(422);
    await scope(true);
  });

  it('reports pushes by one webhook, once, for the repositories that are followed', async () => {
    await tend();
    const sha = host.push('Change');
    const genuine = host.delivery('push', host.pushed());
    await deliver(host.delivery('push', host.pushed(), { secret: 'guessed' })).expect(403);
    await deliver(host.delivery('push', host.pushed()), 'oc-1234567812345678').expect(404);
    await deliver(host.delivery('push', host.pushed(7001, 43))).expect(202);
    await deliver(host.delivery('push', host.pushed(7002))).expect(202);
    expect(await waiting()).toBe(0);
    await deliver(genuine).expect(202);
    await deliver(genuine).expect(202);
    expect(await waiting()).toBe(1);
    await processDeliveries(means(), settings);
    const fetches = [
      await claimFetch(means().db, means().keyring, 'worker'),
      await claimFetch(means().db, means().keyring, 'worker'),
    ];
    expect(fetches.map((fetch) => fetch?.commit)).toContain(sha);
    const [, credential = ''] = /Basic (.*)$/.exec(fetches[0]!.authorization) ?? [];
    const [user, token = ''] = Buffer.from(credential, 'base64').toString().split(':');
    expect([user, host.tokens.get(token)]).toEqual(['x-access-token', 7001]);
  });

  it('has commits of its merge queue planned with a status, and never applied', async () => {
    const { db, keyring } = means();
    const { sha, body } = host.queue(12, 'Merge on trial');
    await deliver(host.delivery('push', body)).expect(202);
    await processDeliveries(means(), settings);
    const tried = await db.prisma.ingressAttributes.findMany({
      where: { commitSha: sha },
      select: { isPullRequest: true, pullRequestNumber: true, configurationVersion: true },
    });
    expect(tried).toMatchObject([
      {
        isPullRequest: false,
        pullRequestNumber: null,
        configurationVersion: { speculative: true, autoQueueRuns: true },
      },
    ]);
    expect((await claimFetch(db, keyring, 'worker'))?.commit).toBe(sha);
    await reportStatuses(means());
    expect(host.statuses).toContainEqual(expect.objectContaining({ sha, state: 'pending' }));
    await db.prisma.workspace.updateMany({ data: { speculativeEnabled: false } });
    await deliver(host.delivery('push', host.queue(13, 'Merge without plans').body)).expect(202);
    await processDeliveries(means(), settings);
    expect(await db.prisma.ingressAttributes.count({ where: { commitMessage: 'Merge without plans' } })).toBe(0);
    await db.prisma.workspace.updateMany({ data: { speculativeEnabled: true } });
  });

  it('has its tokens replaced after half of their lifetime', async () => {
    const expiry = async () =>
      (await means().db.prisma.oauthToken.findUniqueOrThrow({ where: { id: installation } })).expiresAt!;
    const before = await expiry();
    await renewTokens(means(), () => Date.now());
    expect(await expiry()).toEqual(before);
    await means().db.prisma.oauthToken.updateMany({ data: { renewAt: new Date(0) } });
    await renewTokens(means(), () => Date.now());
    expect((await expiry()).getTime()).toBeGreaterThan(before.getTime());
    host.tokens.clear();
    await means().db.prisma.oauthToken.updateMany({ data: { renewAt: new Date(0) } });
    await renewTokens(means(), () => Date.now());
    await tend();
    expect((await means().db.prisma.vcsRepository.findFirstOrThrow()).problem).toBeNull();
  });

  it('is tried again if the host is down, lies or refuses, and shows the reason', async () => {
    const problem = async () =>
      (await admin.get(`oauth-clients/${connection}`).expect(200)).body.data.attributes.problem;
    host.away = true;
    await look();
    expect(await problem()).toContain('500');
    host.away = false;
    host.lies = true;
    host.installations.push({ id: 7002, login: 'second' });
    await look();
    expect(await problem()).toContain('did not answer with a token');
    host.lies = false;
    host.refuses = true;
    await look();
    expect(await problem()).toContain('second: ');
    host.refuses = false;
    await look();
    expect(await problem()).toBeNull();
    expect(await installed()).toEqual(['second', 'team']);
  });

  it('learns from its webhook where it is installed, and deletes unused installations', async () => {
    host.installations.pop();
    host.installations[0]!.suspended = true;
    await deliver(host.delivery('installation', { action: 'suspend', installation: { id: 7001 } })).expect(202);
    await lookForInstallations(means(), () => Date.now());
    expect(await installed()).toEqual([]);
    const rows = await means().db.prisma.githubAppInstallation.findMany();
    expect(rows.map(({ name }) => name)).toEqual(['team']);
    host.installations[0]!.suspended = false;
    await deliver(host.delivery('installation', { action: 'unsuspend', installation: { id: 7001 } })).expect(202);
    await lookForInstallations(means(), () => Date.now());
    expect(await installed()).toEqual(['team']);
  });

  it('replaces characters in names that the database cannot store, and still calls the hosts of others', async () => {
    const { body } = await connect({ name: 'besides' }).expect(201);
    host.installations.push({ id: 7003, login: 'no\0body \ud800' });
    await look();
    expect(await installed()).toEqual(['no\uFFFDbody \uFFFD', 'no\uFFFDbody \uFFFD', 'team', 'team']);
    host.installations.pop();
    host.says = 'away\0';
    await look();
    host.says = '';
    for (const id of [connection, body.data.id]) {
      const { problem } = (await admin.get(`oauth-clients/${id}`).expect(200)).body.data.attributes;
      expect(problem).toContain('away\uFFFD');
    }
    await admin.delete(`oauth-clients/${body.data.id}`).expect(204);
    await look();
  });

  it('waits its turn, however often it reports changes', async () => {
    const { body } = await connect({ name: 'patient' }, 'other').expect(201);
    await deliver(host.delivery('installation', { action: 'created' })).expect(202);
    const [next] = await means().db.prisma.githubApp.findMany({ orderBy: { lookAt: 'asc' }, take: 1 });
    expect(next?.oauthClientId).toBe(body.data.id);
    await admin.delete(`oauth-clients/${body.data.id}`).expect(204);
  });

  it('requests tokens for only a few accounts at a time', async () => {
    for (let id = 8000; id < 8030; id++) host.installations.push({ id, login: `many-${id}` });
    const before = host.minted;
    host.seconds = 1;
    await look();
    expect(host.minted - before).toBe(20);
    expect((await means().db.prisma.githubApp.findFirstOrThrow()).lookAt.getTime()).toBeLessThan(Date.now() + 60_000);
    await renewTokens(means(), () => Date.now());
    expect(host.minted - before).toBe(20);
    await look();
    expect(host.minted - before).toBe(30);
    host.seconds = 3600;
    host.installations.splice(1);
    await look();
  });

  it('accepts a new key, but not for other kinds of connection', async () => {
    const change = (id: string, attributes: object) =>
      admin.patch(`oauth-clients/${id}`, resource('oauth-clients', attributes));
    for (const none of ['none', 'kept', '', null]) await change(connection, { 'private-key': none }).expect(422);
    await change(connection, { name: 'renamed' }).expect(200);
    await change(connection, { key: '' }).expect(422);
    await change(connection, { 'oauth-token-string': 'text' }).expect(422);
    await change(connection, { 'private-key': host.privateKey, secret: host.webhookSecret }).expect(200);
    const gitea = { 'service-provider': 'gitea', 'oauth-token-string': 'text', key: null, secret: null };
    await connect({ ...gitea }).expect(422);
    const { body } = await connect({ ...gitea, 'private-key': null }).expect(201);
    await change(body.data.id, { 'private-key': host.privateKey }).expect(422);
    expect(body.data.attributes).toMatchObject({ 'webhook-url': null, problem: null });
  });

  it('leaves nothing readable when it is removed; its workspaces then have no connection', async () => {
    const rows = JSON.stringify(await allRows(workspaces.databaseUrl));
    for (const secret of ['ghs_canary', 'canary-webhook', 'PRIVATE KEY']) {
      expect(rows).not.toContain(secret);
      expect(output.join('\n')).not.toContain(secret);
    }
    await admin.delete(`oauth-clients/${connection}`).expect(204);
    const { body } = await admin.get('organizations/acme/workspaces/net').expect(200);
    expect(body.data.attributes['vcs-repo']).toMatchObject({ 'oauth-token-id': null });
    expect(body.data.attributes['vcs-repo']).not.toHaveProperty('vcshost-app-installation-id');
    expect(await installed()).toEqual([]);
    await deliver(host.delivery('push', host.pushed())).expect(404);
  });
});
