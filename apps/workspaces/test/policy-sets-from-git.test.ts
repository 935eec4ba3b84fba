import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { followArtifacts, publishFetched } from '../src/resources/artifacts/fetched/publish-fetched';
import { adoptRepositories } from '../src/resources/connections/repositories/hooks';
import { type JudgingSet, performEvaluations, unjudged } from '../src/resources/runs/policy-evaluations/perform';
import { processDeliveries } from '../src/resources/runs/vcs/deliveries';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { FakeGitea } from './fake-gitea';
import { fetchAll } from './fetch-all';
import { member, team } from './members';
import { policiesOf } from './policy-sets';
import { startRuns } from './run-fixture';
import { type Client, resource } from './start-workspaces';

const hcl = (name: string) =>
  `policy "${name}" {\n  query = "data.${name}.deny"\n  enforcement_level = "mandatory"\n}\n`;
const files = (name: string, folder = '') => ({
  [`${folder}policies.hcl`]: hcl(name),
  [`${folder}${name}.rego`]: `package ${name}`,
  'package.json': 'no JSON',
});

describe('policy sets that follow a repository', () => {
  const host = new FakeGitea();
  const runs = startRuns({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const { admin, workspaces } = runs;
  const { post, set, policy } = policiesOf(workspaces);
  let token = '';

  const connection = async (organization: string) => {
    const attributes = {
      'service-provider': 'gitea',
      'http-url': host.origin,
      'api-url': `${host.origin}/api/v1`,
      'oauth-token-string': 'text',
    };
    const { body } = await admin
      .post(`organizations/${organization}/oauth-clients`, resource('oauth-clients', attributes))
      .expect(201);
    return { id: body.data.id as string, token: body.data.relationships['oauth-tokens'].data[0].id as string };
  };
  beforeAll(async () => {
    await host.start();
    await workspaces.organization('other');
    token = (await connection('acme')).token;
  });
  afterAll(() => host.stop());
  let count = 0;
  beforeEach(async () => {
    await workspaces.service.pool.query('DELETE FROM policy_set; DELETE FROM policy');
    host.branches.clear();
    count += 1;
    host.branches.set('main', host.commit(`Begin ${count}`));
  });

  const deps = () => {
    const { db, env } = workspaces.service;
    const { keyring, publicUrl, configurationBytes, largeUploads } = env;
    return { db, keyring, publicUrl, reach: env.vcsReach!, configurationBytes, largeUploads };
  };
  const settings = () => workspaces.service.env.settings();
  const look = async () => {
    await deps().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(deps(), settings, 3600, undefined, followArtifacts);
  };
  /** The jobs of all nodes about repositories, and of a worker about commits. */
  const work = async (fetching: Parameters<typeof fetchAll>[1]) => {
    await look();
    await deps().db.prisma.moduleFetch.updateMany({ data: { nextAt: new Date(0) } });
    await fetchAll(workspaces.service, fetching);
    await publishFetched(deps());
  };
  const repo = (more: object = {}) => ({ identifier: 'team/net', 'oauth-token-id': token, ...more });
  const follow = (name: string, attributes: object = {}, repository: object = {}) =>
    set(name, { 'vcs-repo': repo(repository), ...attributes }, { workspaces: [runs.workspace] });
  const show = async (id: string) =>
    (await admin.get(`policy-sets/${id}?include=newest_version,current_version`).expect(200)).body;
  const newest = async (id: string) => {
    const { data, included } = await show(id);
    return included.find((one: { id: string }) => one.id === data.relationships['newest-version'].data.id);
  };
  const current = async (id: string): Promise<string | undefined> => {
    const { data, included } = await show(id);
    const at = data.relationships['current-version']?.data.id;
    return included?.find((one: { id: string }) => one.id === at)?.attributes['ingress-attributes']['commit-sha'];
  };
  const judged = async (): Promise<{ names: string[]; status: string; error: string }> => {
    const asked: JudgingSet[] = [];
    const id = await runs.started();
    await runs.worker.plan({ jsonPlan: Buffer.from('{}') });
    const passing = async (sets: readonly JudgingSet[]) => {
      asked.push(...sets);
      return sets.map((one) => ({
        id: one.id,
        error: '',
        outcomes: unjudged(one.policies).map((outcome) => ({ ...outcome, status: 'passed' as const })),
      }));
    };
    await performEvaluations({ ...deps(), engine: { judge: passing } });
    const { included } = (await admin.get(`runs/${id}/task-stages?include=policy_evaluations`).expect(200)).body;
    const { body } = await admin.get(`policy-evaluations/${included[0].id}/policy-set-outcomes`).expect(200);
    const status = await runs.statusOf(id);
    if (status === 'post_plan_completed') await runs.act(id, 'discard').expect(202);
    return {
      names: asked.flatMap(({ policies }) => policies.map(({ name }) => name)),
      status,
      error: body.data[0].attributes.error,
    };
  };

  it('use the current commit of the branch, and show it', async () => {
    const { id, attributes } = await follow('first');
    expect(attributes).toMatchObject({
      versioned: true,
      'policies-path': null,
      'vcs-repo': {
        identifier: 'team/net',
        'display-identifier': 'team/net',
        branch: null,
        'oauth-token-id': token,
        'vcshost-app-installation-id': null,
        'ingress-submodules': false,
      },
    });
    await work({ files: files('one') });
    const commit = host.branches.get('main');
    expect(await newest(id)).toMatchObject({
      attributes: {
        status: 'ready',
        source: 'gitea',
        'ingress-attributes': { 'commit-sha': commit, identifier: 'team/net' },
        'status-timestamps': { 'ingressing-at': expect.anything(), 'ready-at': expect.anything() },
      },
    });
    expect((await show(id)).data.attributes['vcs-repo']['webhook-url']).toMatch(/\/webhooks\/vcs\/[0-9a-f-]{36}$/);
    await expect(judged()).resolves.toEqual({ names: ['one'], status: 'post_plan_completed', error: '' });
  });

  it('use the next commit when the host reports it, once all of it was read', async () => {
    const { id } = await follow('told');
    await work({ files: files('one') });
    const first = host.branches.get('main');
    host.branches.set('main', host.commit('Second'));
    const repository = await deps().db.prisma.vcsRepository.findFirstOrThrow();
    const secret = [...host.hooks.values()].find(({ url }) => url.endsWith(repository.id))!.secret;
    const told = { ref: 'refs/heads/main', before: first, after: host.branches.get('main'), repository: { id: 42 } };
    const body = JSON.stringify({ ...told, sender: { login: 'grace' } });
    await request(workspaces.server)
      .post(`/webhooks/vcs/${repository.id}`)
      .set('content-type', 'application/json')
      .set('x-gitea-event', 'push')
      .set('x-gitea-signature', createHmac('sha256', secret).update(body).digest('hex'))
      .send(body)
      .expect(202);
    await processDeliveries(deps(), settings, undefined, followArtifacts);
    expect((await newest(id)).attributes.status).toBe('ingressing');
    expect(await current(id)).toBe(first);
    await expect(judged()).resolves.toMatchObject({ names: ['one'] });
    await fetchAll(workspaces.service, { files: files('two') });
    expect(await current(id)).toBe(first);
    await publishFetched(deps());
    expect(await current(id)).toBe(host.branches.get('main'));
    await expect(judged()).resolves.toMatchObject({ names: ['two'] });
  });

  it('fail every run until a version could be read, with the reason', async () => {
    const { id } = await follow('closed');
    await expect(judged()).resolves.toEqual({
      names: [],
      status: 'errored',
      error: 'No version of the set could be read yet',
    });
    await work({ files: { 'README.md': '' } });
    expect(await newest(id)).toMatchObject({
      attributes: {
        status: 'errored',
        error: 'ingress failed',
        'error-message': 'the archive has no policies.hcl at its root',
      },
    });
  });

  it.each<[string, Parameters<typeof fetchAll>[1], RegExp]>([
    ['cannot be fetched', { fails: 'not our ref' }, /not our ref/],
    ['holds no policies', { files: { 'a.rego': '' } }, /the archive has no policies.hcl at its root/],
    ['holds policies that cannot be read', { files: { 'policies.hcl': 'policy {{' } }, /policies.hcl/],
  ])('keep their current version if a commit %s, and name the reason', async (_, fetching, why) => {
    const { id } = await follow('kept');
    await work({ files: files('one') });
    const before = host.branches.get('main');
    host.branches.set('main', host.commit(`Broken ${String(why)}`));
    await work(fetching);
    expect((await newest(id)).attributes).toMatchObject({
      status: 'errored',
      'error-message': expect.stringMatching(why),
    });
    expect(await current(id)).toBe(before);
    await expect(judged()).resolves.toMatchObject({ names: ['one'], status: 'post_plan_completed' });
    await admin.patch(`policy-sets/${id}`, resource('policy-sets', { 'vcs-repo': {} })).expect(200);
    await work({ files: files('two') });
    expect(await current(id)).toBe(host.branches.get('main'));
  });

  it('use only their own folder, and are read again if that changes', async () => {
    const { id } = await follow('folder', { 'policies-path': '/policies/net/' });
    await work({ files: files('two', 'policies/net/') });
    expect((await show(id)).data.attributes['policies-path']).toBe('/policies/net/');
    await expect(judged()).resolves.toMatchObject({ names: ['two'] });
    await admin.patch(`policy-sets/${id}`, resource('policy-sets', { 'policies-path': 'elsewhere' })).expect(200);
    await work({ files: files('two', 'policies/net/') });
    expect((await newest(id)).attributes['error-message']).toBe('elsewhere/policies.hcl does not exist');
    await expect(judged()).resolves.toMatchObject({ names: ['two'] });
  });

  it('can follow another branch or stop following, and keep their current version', async () => {
    const { id } = await follow('moves', {}, { branch: 'main', 'ingress-submodules': true });
    await work({ files: files('one') });
    const change = (sent: object | null) =>
      admin.patch(`policy-sets/${id}`, resource('policy-sets', { 'vcs-repo': sent }));
    await change({ branch: 'nowhere' }).expect(422);
    host.branches.set('strict', host.commit('Strict'));
    const { body } = await change({ branch: 'strict' }).expect(200);
    expect(body.data.attributes['vcs-repo']).toMatchObject({ branch: 'strict', 'ingress-submodules': true });
    await work({ files: files('two') });
    expect(await current(id)).toBe(host.branches.get('strict'));
    await admin.post(`policy-sets/${id}/versions`).expect(422);
    await change(null).expect(200);
    await look();
    await expect(deps().db.prisma.vcsRepository.count()).resolves.toBe(0);
    await expect(judged()).resolves.toMatchObject({ names: ['two'] });
    await admin.post(`policy-sets/${id}/versions`).expect(201);
  });

  it('create no version for a commit that changes nothing in their patterns', async () => {
    const { id, attributes } = await follow('patterned', { 'policy-update-patterns': ['rules/**', '*.hcl'] });
    expect(attributes['policy-update-patterns']).toEqual(['rules/**', '*.hcl']);
    await work({ files: files('one') });
    const first = host.branches.get('main')!;
    expect(await current(id)).toBe(first);
    const move = async (message: string, changed?: string[]) => {
      const before = host.branches.get('main')!;
      const after = host.commit(message);
      host.branches.set('main', after);
      if (changed) host.changed.set(`${before}...${after}`, changed);
      await work({ files: files('one') });
      return after;
    };
    await move('Words', ['README.md', 'docs/rules.md']);
    expect(await current(id)).toBe(first);
    const second = await move('Rules', ['rules/net/cost.rego']);
    expect(await current(id)).toBe(second);
    // If the host cannot compare commits, anything may have changed.
    const third = await move('Unknown');
    expect(await current(id)).toBe(third);
  });

  it('show that their branch was deleted, and keep their current version', async () => {
    host.branches.set('short', host.commit('Short'));
    const { id } = await follow('gone', {}, { branch: 'short' });
    await work({ files: files('one') });
    const commit = host.branches.get('short');
    const error = async () => (await show(id)).data.attributes['vcs-error'];
    expect(await error()).toBeNull();
    host.branches.delete('short');
    await look();
    expect(await error()).toBe(
      'the branch short does not exist in the repository: the policy set keeps its current version',
    );
    expect(await current(id)).toBe(commit);
    host.branches.set('short', commit!);
    await look();
    expect(await error()).toBeNull();
    host.branches.delete('short');
    await look();
    const body = resource('policy-sets', { 'vcs-repo': { branch: 'main' } });
    const changed = await admin.patch(`policy-sets/${id}`, body).expect(200);
    expect(changed.body.data.attributes['vcs-error']).toBeNull();
  });

  it('ignore a repository that they no longer follow', async () => {
    const { id } = await follow('left');
    await look();
    await fetchAll(workspaces.service, { files: files('one') });
    await admin.patch(`policy-sets/${id}`, resource('policy-sets', { 'vcs-repo': null })).expect(200);
    await publishFetched(deps());
    expect((await newest(id)).attributes).toMatchObject({
      status: 'errored',
      'error-message': 'the policy set is no longer connected to the repository',
    });
    const brief = await connection('acme');
    const other = await follow('cut', {}, { 'oauth-token-id': brief.token });
    await look();
    await admin.delete(`oauth-clients/${brief.id}`).expect(204);
    await look();
    expect((await newest(other.id)).attributes.status).toBe('errored');
    await expect(judged()).resolves.toMatchObject({ names: [], status: 'errored' });
  });

  it('store each commit once, even if several nodes read at the same time, and keep the newest hundred', async () => {
    const { id } = await follow('once');
    await deps().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await Promise.all([1, 2, 3].map(() => syncRepositories(deps(), settings, 3600, undefined, followArtifacts)));
    await fetchAll(workspaces.service, { files: files('one') });
    await Promise.all([1, 2, 3].map(() => publishFetched(deps())));
    const versions = () => deps().db.prisma.policySetVersion.count({ where: { policySetId: id } });
    await expect(versions()).resolves.toBe(1);
    const first = await current(id);
    await workspaces.service.pool.query(
      `INSERT INTO policy_set_version (id, policy_set_id, status, commit_sha)
       SELECT 'polsetver-' || n, $1, 'errored', 'x' FROM generate_series(1, 120) n`,
      [id],
    );
    host.branches.set('main', host.commit('Later'));
    await look();
    await expect(versions()).resolves.toBe(101);
    expect(await current(id)).toBe(first);
  });

  it('find their repository again after an older node has removed it', async () => {
    const { id } = await follow('forgotten');
    await deps().db.prisma.vcsRepository.deleteMany();
    await adoptRepositories(deps());
    await work({ files: files('one') });
    expect(await current(id)).toBe(host.branches.get('main'));
  });

  it('reject invalid answers of a host, and wait for one that is down', async () => {
    const { id } = await follow('lies');
    host.branches.set('main', '--upload-pack=evil');
    await look();
    expect((await show(id)).data.relationships['newest-version']).toBeUndefined();
    host.away = true;
    await look();
    host.away = false;
    host.branches.set('main', host.commit('Good'));
    await work({ files: files('one') });
    expect(await current(id)).toBe(host.branches.get('main'));
  });

  it.each<[string, object, object]>([
    ['/data/attributes/vcs-repo/oauth-token-id', { 'oauth-token-id': 'ot-0123456789abcdef' }, {}],
    ['/data/attributes/vcs-repo/oauth-token-id', { 'oauth-token-id': null }, {}],
    ['/data/attributes/vcs-repo/identifier', { identifier: 'team/unknown' }, {}],
    ['/data/attributes/vcs-repo/identifier', { identifier: 'net' }, {}],
    ['/data/attributes/vcs-repo/branch', { branch: 'nowhere' }, {}],
    ['/data/attributes/policies-path', {}, { 'policies-path': '../up' }],
    ['/data/attributes/policies-path', {}, { 'policies-path': 'net', 'vcs-repo': null }],
  ])('refuse a wrong %s by name', async (pointer, repository, attributes) => {
    const given = { name: 'wrong', kind: 'opa', 'vcs-repo': repo(repository), ...attributes };
    const { body } = await post('policy-sets', resource('policy-sets', given)).expect(422);
    expect(body.errors[0].source.pointer).toBe(pointer);
  });

  it('accept no individual policies, and follow only through connections of their whole organization', async () => {
    const create = (by: Client, repository: object = {}, relationships?: object) =>
      by.post(
        'organizations/acme/policy-sets',
        resource('policy-sets', { name: 'mixed', kind: 'opa', 'vcs-repo': repo(repository) }, relationships),
      );
    const own = await policy('own');
    await create(admin, {}, { policies: { data: [{ type: 'policies', id: own }] } }).expect(422);
    await create(admin, { 'oauth-token-id': (await connection('other')).token }).expect(422);
    await create(await member(workspaces, 'acme')).expect(404);
    const makers = await team(workspaces, 'acme', 'set-makers', ['manage-policies']);
    const { body } = await create(await member(workspaces, 'acme', [makers])).expect(201);
    const add = { data: [{ type: 'policies', id: own }] };
    await admin.post(`policy-sets/${body.data.id}/relationships/policies`, add).expect(422);
  });
});
