import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { followArtifacts, publishFetched } from '../src/resources/artifacts/fetched/publish-fetched';
import { processDeliveries } from '../src/resources/runs/vcs/deliveries';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { fetchUrl } from './configurations';
import { FakeGitea } from './fake-gitea';
import { fetchAll } from './fetch-all';
import { member } from './members';
import { type Client, resource, startWorkspaces } from './start-workspaces';

const module1 = { 'main.tf': 'output "x" { value = 1 }' };
const protocol = '/api/registry/v1/modules/acme';

describe('modules that follow a repository', () => {
  const host = new FakeGitea();
  const workspaces = startWorkspaces({
    keyed: true,
    env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' },
  });
  const { admin } = workspaces;
  const vcs = 'organizations/acme/registry-modules/vcs';
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
    host.branches.set('main', host.commit('Begin'));
    for (const name of ['acme', 'other']) await workspaces.organization(name);
    token = (await connection('acme')).token;
  });
  afterAll(() => host.stop());
  beforeEach(() => host.tags.clear());

  const deps = () => {
    const { db, env } = workspaces.service;
    const { keyring, publicUrl, configurationBytes, largeUploads } = env;
    return { db, keyring, publicUrl, reach: env.vcsReach!, configurationBytes, largeUploads };
  };
  const settings = () => workspaces.service.env.settings();
  /** The jobs of all nodes about repositories, and of a worker about commits. */
  const work = async (fetching: Parameters<typeof fetchAll>[1] = { files: module1 }) => {
    await deps().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(deps(), settings, 3600, undefined, followArtifacts);
    await deps().db.prisma.moduleFetch.updateMany({ data: { nextAt: new Date(0) } });
    await fetchAll(workspaces.service, fetching);
    await publishFetched(deps());
  };
  const create = (name: string, repo: object = {}, attributes: object = {}, by: Client = admin) =>
    by.post(
      vcs,
      resource('registry-modules', {
        name,
        provider: 'crane',
        'vcs-repo': { identifier: 'team/net', 'display-identifier': 'team/net', 'oauth-token-id': token, ...repo },
        ...attributes,
      }),
    );
  const named = (name: string) => `organizations/acme/registry-modules/private/acme/${name}/crane`;
  const shown = async (name: string) => (await admin.get(named(name)).expect(200)).body.data;
  const statuses = async (name: string): Promise<string[]> =>
    (await shown(name)).attributes['version-statuses'].map(
      ({ version, status }: { version: string; status: string }) => `${version} ${status}`,
    );
  const archiveAt = async (name: string, version: string) => {
    const { headers } = await admin.get(`${protocol}/${name}/crane/${version}/download`).expect(204);
    return headers['x-terraform-get']!;
  };
  /** The origin of a version in its signed statement. */
  const originOf = async (name: string, version: string) => {
    const { body } = await admin.get(`${protocol}/${name}/crane/${version}/provenance`).buffer(true).expect(200);
    const { payload } = Buffer.isBuffer(body) ? JSON.parse(body.toString()) : body;
    const { externalParameters, resolvedDependencies } = JSON.parse(Buffer.from(payload, 'base64').toString()).predicate
      .buildDefinition;
    const commits = resolvedDependencies.map(({ digest }: { digest: { gitCommit: string } }) => digest.gitCommit);
    return { ...externalParameters, commits };
  };
  const gone = (name: string) => admin.delete(named(name)).expect(204);

  it('publish the tags that are versions, and keep published versions if a tag moves', async () => {
    for (const tag of ['v1.0.0', '1.1.0', 'v2.0.0-rc1', 'net/v3.0.0', 'latest', 'v1']) {
      host.tags.set(tag, host.commit(tag));
    }
    const { body } = await create('tags').expect(201);
    expect(body.data.attributes).toMatchObject({
      status: 'pending',
      'publishing-mechanism': 'git_tag',
      'vcs-repo': { identifier: 'team/net', branch: null, tags: true, 'tag-prefix': '', 'source-directory': '' },
    });
    await work();
    await expect(statuses('tags')).resolves.toEqual(['2.0.0-rc1 ok', '1.1.0 ok', '1.0.0 ok']);
    const first = await fetchUrl(workspaces, await archiveAt('tags', '1.0.0')).expect(200);
    await expect(originOf('tags', '1.0.0')).resolves.toEqual({
      publisher: { type: 'system', id: 'system', name: 'system' },
      repository: `${host.origin}/team/net`,
      ref: 'refs/tags/v1.0.0',
      commits: [host.commit('v1.0.0')],
    });
    const { body: docs } = await admin.get(`${protocol}/tags/crane/1.0.0`).expect(200);
    expect(docs).toMatchObject({ tag: 'v1.0.0', root: { outputs: [{ name: 'x' }] } });
    host.tags.set('v1.0.0', host.commit('Moved'));
    await work({ files: { 'main.tf': 'output "other" { value = 2 }' } });
    const second = await fetchUrl(workspaces, await archiveAt('tags', '1.0.0')).expect(200);
    expect(second.body.equals(first.body)).toBe(true);
    await gone('tags');
  });

  it('publish a new tag when the host reports it, and only in this repository', async () => {
    await create('told').expect(201);
    await work();
    expect((await shown('told')).attributes.status).toBe('no_version_tags');
    const repository = await deps().db.prisma.vcsRepository.findFirstOrThrow();
    host.tags.set('v1.0.0', host.commit('Tagged'));
    const secret = [...host.hooks.values()].find(({ url }) => url.endsWith(repository.id))!.secret;
    const body = JSON.stringify({
      ref: 'refs/tags/v1.0.0',
      after: host.tags.get('v1.0.0'),
      repository: { id: 42 },
      sender: { login: 'grace' },
    });
    const deliver = (signature: string) =>
      request(workspaces.server)
        .post(`/webhooks/vcs/${repository.id}`)
        .set('content-type', 'application/json')
        .set('x-gitea-event', 'push')
        .set('x-gitea-signature', signature)
        .send(body);
    await deliver('00').expect(403);
    await deliver(createHmac('sha256', secret).update(body).digest('hex')).expect(202);
    await processDeliveries(deps(), settings, undefined, followArtifacts);
    await fetchAll(workspaces.service, { files: module1 });
    await publishFetched(deps());
    await expect(statuses('told')).resolves.toEqual(['1.0.0 ok']);
    await gone('told');
  });

  it('use only the tags with their prefix, and their own folder', async () => {
    for (const tag of ['v9.0.0', 'net/v1.0.0', 'net/1.2.0', 'network/v5.0.0']) host.tags.set(tag, host.commit(tag));
    const repo = { 'tag-prefix': 'net/', 'source-directory': '/modules/net/' };
    await create('mono', repo).expect(201);
    await work({ files: { 'main.tf': 'output "root" { value = 1 }', 'modules/net/main.tf': module1['main.tf'] } });
    await expect(statuses('mono')).resolves.toEqual(['1.2.0 ok', '1.0.0 ok']);
    expect(await archiveAt('mono', '1.0.0')).toMatch(/\/module\.tar\.gz\/\/modules\/net\?expires=/);
    const { body: docs } = await admin.get(`${protocol}/mono/crane/1.0.0`).expect(200);
    expect(docs.root.outputs).toEqual([{ name: 'x', description: '', sensitive: false }]);
    await gone('mono');
  });

  it('publish commits of a branch, the first automatically and others on request', async () => {
    const repo = { branch: 'main' };
    await create('branch', { branch: 'nowhere' }).expect(422);
    const tested = { 'initial-version': '0.1.0', 'test-config': { 'tests-enabled': true } };
    const { body } = await create('branch', repo, tested).expect(201);
    expect(body.data.attributes).toMatchObject({
      'publishing-mechanism': 'branch',
      'vcs-repo': { branch: 'main', tags: false },
    });
    await work();
    await work();
    await expect(statuses('branch')).resolves.toEqual(['0.1.0 ok']);
    const tests = 'organizations/acme/tests/registry-modules/private/acme/branch/crane/test-runs';
    const run = (await admin.get(tests).expect(200)).body.data;
    expect(run).toHaveLength(1);
    expect(run[0]).toMatchObject({
      attributes: { status: 'queued', source: 'tfe-vcs' },
      relationships: {
        'configuration-version': { data: null },
        'registry-module-version': { data: { id: expect.any(String) } },
      },
    });
    const versions = 'registry-modules/acme/branch/crane/versions';
    const announce = (attributes: object) => admin.post(versions, resource('registry-module-versions', attributes));
    const refused = await announce({ version: '0.2.0' }).expect(422);
    expect(refused.body.errors[0].source.pointer).toBe('/data/attributes/commit-sha');
    const made = await announce({ version: '0.2.0', 'commit-sha': host.commit('Chosen') }).expect(201);
    expect(made.body.data).toMatchObject({ attributes: { source: 'tfe-vcs', status: 'cloning' } });
    expect(made.body.data.links?.upload).toBeUndefined();
    await work();
    await expect(statuses('branch')).resolves.toEqual(['0.2.0 ok', '0.1.0 ok']);
    host.tags.set('v1.0.0', host.commit('Tagged'));
    const change = (sent: object) => admin.patch(named('branch'), resource('registry-modules', { 'vcs-repo': sent }));
    await change({ tags: true, branch: 'main' }).expect(422);
    await change({ branch: 'nowhere' }).expect(422);
    const tagged = await change({ tags: true }).expect(200);
    expect(tagged.body.data.attributes['publishing-mechanism']).toBe('git_tag');
    await work();
    await expect(statuses('branch')).resolves.toEqual(['1.0.0 ok', '0.2.0 ok', '0.1.0 ok']);
    await announce({ version: '3.0.0' }).expect(422);
    await gone('branch');
  });

  it('show why a version could not be published, and try again when its tag moves or on request', async () => {
    host.tags.set('v1.0.0', host.commit('Away'));
    await create('trouble').expect(201);
    await work({ fails: 'the host is down', again: true });
    await expect(statuses('trouble')).resolves.toEqual(['1.0.0 cloning']);
    await work({ fails: 'not our ref' });
    await expect(statuses('trouble')).resolves.toEqual(['1.0.0 clone_failed']);
    const { attributes } = await shown('trouble');
    expect(attributes).toMatchObject({ status: 'setup_failed', 'version-statuses': [{ error: 'not our ref' }] });
    await work();
    await expect(statuses('trouble')).resolves.toEqual(['1.0.0 clone_failed']);
    host.tags.set('v1.0.0', host.commit('Broken'));
    await work({ files: { 'main.tf': 'resource "x" {{' } });
    await expect(statuses('trouble')).resolves.toEqual(['1.0.0 reg_ingress_failed']);
    const { id } = await shown('trouble');
    await admin.post(`registry-modules/${id}/actions/resync`).expect(204);
    await work();
    await expect(statuses('trouble')).resolves.toEqual(['1.0.0 ok']);
    await expect(deps().db.prisma.moduleFetch.count()).resolves.toBe(0);
    await gone('trouble');
  });

  it('do not create a deleted version again', async () => {
    for (const tag of ['v1.0.0', 'v1.1.0']) host.tags.set(tag, host.commit(tag));
    await create('deleted').expect(201);
    await work();
    await admin.delete(`${named('deleted')}/1.0.0`).expect(204);
    await work();
    await expect(statuses('deleted')).resolves.toEqual(['1.1.0 ok']);
    await gone('deleted');
  });

  it('reject invalid answers of a host, and wait for one that is down', async () => {
    host.tags.set('v1.0.0', '--upload-pack=evil');
    host.tags.set('v1.1.0', host.commit('Good'));
    await create('lies').expect(201);
    host.away = true;
    await work();
    await expect(statuses('lies')).resolves.toEqual([]);
    host.away = false;
    await work();
    await expect(statuses('lies')).resolves.toEqual(['1.1.0 ok']);
    await gone('lies');
  });

  it('create each version once, even if several nodes read at the same time', async () => {
    for (const tag of ['v1.0.0', '1.0.0', 'v1.1.0']) host.tags.set(tag, host.commit(tag));
    await create('once').expect(201);
    await work();
    const { length } = await statuses('once');
    await deps().db.prisma.registryModuleVersion.deleteMany();
    await deps().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await Promise.all([1, 2, 3].map(() => syncRepositories(deps(), settings, 3600, undefined, followArtifacts)));
    await fetchAll(workspaces.service, { files: module1 });
    await Promise.all([1, 2, 3].map(() => publishFetched(deps())));
    await expect(statuses('once')).resolves.toEqual(['1.1.0 ok', '1.0.0 ok']);
    expect(length).toBe(2);
    await gone('once');
  });

  it('accept no upload, and their repository is removed with the last such module', async () => {
    host.tags.set('v1.0.0', host.commit('One'));
    await create('last').expect(201);
    await work();
    const { body } = await admin.get(`${named('last')}/version?module_version=1.0.0`).expect(200);
    expect(body.data.links?.upload).toBeUndefined();
    await gone('last');
    const before = host.hooks.size;
    await syncRepositories(deps(), settings, 3600, undefined, followArtifacts);
    expect(host.hooks.size).toBe(before - 1);
    await expect(deps().db.prisma.vcsRepository.count()).resolves.toBe(0);
  });

  it('end their waiting versions when the connection is removed, and then accept uploads', async () => {
    const { id, token: brief } = await connection('acme');
    host.tags.set('v1.0.0', host.commit('One'));
    await create('cut', { 'oauth-token-id': brief }).expect(201);
    await deps().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(deps(), settings, 3600, undefined, followArtifacts);
    await expect(statuses('cut')).resolves.toEqual(['1.0.0 cloning']);
    await admin.delete(`oauth-clients/${id}`).expect(204);
    await deps().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(deps(), settings, 3600, undefined, followArtifacts);
    await expect(statuses('cut')).resolves.toEqual(['1.0.0 clone_failed']);
    const uploaded = await admin
      .post('registry-modules/acme/cut/crane/versions', resource('registry-module-versions', { version: '1.1.0' }))
      .expect(201);
    expect(uploaded.body.data.links.upload).toBeDefined();
    await gone('cut');
  });

  it.each<[string, object, object]>([
    ['/data/attributes/vcs-repo/oauth-token-id', { 'oauth-token-id': 'ot-0123456789abcdef' }, {}],
    ['/data/attributes/vcs-repo/identifier', { identifier: 'team/unknown' }, {}],
    ['/data/attributes/vcs-repo/identifier', { identifier: 'net' }, {}],
    ['/data/attributes/vcs-repo/tags', { branch: 'main', tags: true }, {}],
    ['/data/attributes/vcs-repo/tag-prefix', { branch: 'main', 'tag-prefix': 'net/' }, {}],
    ['/data/attributes/vcs-repo/source-directory', { 'source-directory': '../up' }, {}],
    ['/data/attributes/initial-version', {}, { 'initial-version': '1.0.0' }],
    ['/data/attributes/name', {}, { name: null }],
    ['/data/attributes/test-config/agent-pool-id', {}, { 'test-config': { 'agent-execution-mode': 'agent' } }],
  ])('refuse a wrong %s by name', async (pointer, repo, attributes) => {
    const { body } = await create('wrong', repo, attributes).expect(422);
    expect(body.errors[0].source.pointer).toBe(pointer);
  });

  it('use only connections of the whole organization, for callers who may manage modules', async () => {
    const foreign = await connection('other');
    await create('foreign', { 'oauth-token-id': foreign.token }).expect(422);
    const plain = await member(workspaces, 'acme');
    await create('plain', {}, {}, plain).expect(404);
    const attributes = {
      name: 'older',
      provider: 'crane',
      'vcs-repo': { identifier: 'team/net', 'oauth-token-id': token },
    };
    await plain.post('registry-modules', resource('registry-modules', attributes)).expect(422);
    await admin.post('registry-modules', resource('registry-modules', attributes)).expect(201);
    await admin
      .patch(
        `oauth-clients/${(await connection('acme')).id}`,
        resource('oauth-clients', { 'organization-scoped': false }),
      )
      .expect(200);
    const { rows } = await workspaces.service.pool.query(
      `SELECT t.id FROM oauth_token t JOIN oauth_client c ON c.id = t.oauth_client_id WHERE NOT c.organization_scoped`,
    );
    await create('scoped', { 'oauth-token-id': rows[0].id }).expect(422);
    await gone('older');
  });

  it('have versions that can be deprecated, with a message to the tools', async () => {
    host.tags.set('v1.0.0', host.commit('One'));
    await create('old').expect(201);
    await work();
    const deprecate = (deprecation: object, by: Client = admin) =>
      by.patch(`${named('old')}/1.0.0`, { data: { type: 'module-versions', attributes: { deprecation } } });
    const why = { reason: 'Use 2.', link: 'https://example.com/2' };
    const { body } = await deprecate({ 'deprecated-status': 'Deprecated', ...why }).expect(200);
    expect(body.data.attributes.deprecation).toEqual({ 'deprecated-status': 'Deprecated', ...why });
    const versions = async () => (await admin.get(`${protocol}/old/crane/versions`)).body.modules[0].versions;
    await expect(versions()).resolves.toEqual([{ version: '1.0.0', deprecation: why }]);
    await deprecate({ 'deprecated-status': 'Undeprecated' }, await member(workspaces, 'acme')).expect(404);
    await deprecate({ 'deprecated-status': 'Old' }).expect(422);
    await deprecate({ 'deprecated-status': 'Deprecated', link: 'javascript:alert(1)' }).expect(422);
    await deprecate({ 'deprecated-status': 'Undeprecated' }).expect(200);
    await expect(versions()).resolves.toEqual([{ version: '1.0.0' }]);
    await gone('old');
  });
});
