import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adoptRepositories } from '../src/resources/connections/repositories/hooks';
import { FakeGitea } from './fake-gitea';
import { grant, member, project, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('the repositories of a connection', () => {
  const host = new FakeGitea();
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const { admin } = workspaces;
  let token = '';
  const connect = async (organization: string, attributes: object = {}, projects: readonly string[] = []) => {
    const place = { 'http-url': host.origin, 'api-url': `${host.origin}/api/v1` };
    const body = resource(
      'oauth-clients',
      { 'service-provider': 'gitea', 'oauth-token-string': 'text', ...place, ...attributes },
      projects.length === 0 ? {} : { projects: { data: projects.map((id) => ({ type: 'projects', id })) } },
    );
    const { body: made } = await admin.post(`organizations/${organization}/oauth-clients`, body).expect(201);
    return made.data.relationships['oauth-tokens'].data[0].id as string;
  };

  beforeAll(async () => {
    await host.start();
    host.branches.set('main', host.commit('Begin'));
    host.tags.set('v1', host.commit('Tagged'));
    await workspaces.organization('acme');
    await workspaces.organization('other');
    token = await connect('acme');
  });
  afterAll(() => host.stop());

  const names = async (query = '') => {
    const { body } = await admin.get(`oauth-tokens/${token}/authorized-repos${query}`).expect(200);
    const shown = body.data.map((one: { attributes: Record<string, string> }) => one.attributes['display-identifier']);
    return { shown, next: body.meta['next-page'] };
  };

  it('are listed by asking the host, in pages of any size', async () => {
    expect(await names()).toEqual({ shown: ['team/net'], next: null });
    host.others.push(...Array.from({ length: 120 }, (_, at) => `team/r${at + 1}`));
    const all = ['team/net', ...host.others];
    for (const [number, size] of [
      [1, 20],
      [3, 20],
      [2, 30],
      [1, 100],
      [2, 100],
      [9, 100],
    ] as const) {
      const from = (number - 1) * size;
      const next = from + size < all.length ? number + 1 : null;
      const found = await names(`?page[number]=${number}&page[size]=${size}`);
      expect({ number, size, ...found }).toEqual({ number, size, shown: all.slice(from, from + size), next });
    }
    host.others.length = 0;
  });

  it('are followed by a workspace that moves to the project they are open to in the same request', async () => {
    const place = await project(workspaces, 'acme', 'inner');
    const scoped = await connect('acme', { 'organization-scoped': false }, [place]);
    const { id } = await workspaces.workspace('acme', 'mover');
    const repository = { 'vcs-repo': { identifier: 'team/net', 'oauth-token-id': scoped } };
    await admin.patch(`workspaces/${id}`, resource('workspaces', repository)).expect(422);
    const both = resource('workspaces', repository, { project: ref('projects', place) });
    await admin.patch(`workspaces/${id}`, both).expect(200);
  });

  it('are shown by workspaces with the name that their host gives them', async () => {
    const repository = { 'vcs-repo': { identifier: 'team/net', 'oauth-token-id': token } };
    const { id } = await workspaces.workspace('acme', 'follower', repository);
    const shown = async () => (await admin.get(`workspaces/${id}`).expect(200)).body.data.attributes['vcs-repo'];
    const listed = async () => {
      const { body } = await admin.get('organizations/acme/workspaces?search[name]=follower').expect(200);
      return body.data[0].attributes['vcs-repo'];
    };
    for (let again = 0; again < 3; again++) expect(await listed()).toEqual(await shown());
    expect(await shown()).toMatchObject({ 'display-identifier': 'team/net' });
    await workspaces.service.db.prisma.vcsRepository.updateMany({
      where: { oauthTokenId: token, identifier: 'team/net' },
      data: { displayIdentifier: 'team/renamed', httpUrl: `${host.origin}/team/renamed` },
    });
    const renamed = {
      'display-identifier': 'team/renamed',
      'repository-http-url': `${host.origin}/team/renamed`,
    };
    expect(await shown()).toMatchObject(renamed);
    expect(await listed()).toMatchObject(renamed);
    // An older node may remove the row of a repository. It is added again.
    const { db, env } = workspaces.service;
    await db.prisma.vcsRepository.deleteMany({ where: { oauthTokenId: token, identifier: 'team/net' } });
    expect(await shown()).toMatchObject({ 'display-identifier': 'team/net', 'webhook-url': null });
    await adoptRepositories({ ...env, db, reach: env.vcsReach! });
    expect(await shown()).toMatchObject({ 'webhook-url': expect.stringContaining('/webhooks/vcs/') });
    expect(await listed()).toEqual(await shown());
  });

  const repo = (identifier: string, by = admin, of = token) =>
    by.get(`organizations/acme/vcs/repo?oauth_token_id=${of}&identifier=${identifier}`);
  const tree = (more = '', identifier = 'team/net') =>
    admin.get(`organizations/acme/vcs/tree?oauth_token_id=${token}&identifier=${identifier}${more}`);

  it('are reported as existing or missing', async () => {
    const { body } = await repo('team/net').expect(200);
    expect(body.data).toMatchObject({ type: 'vcs-repo-check', attributes: { exists: true, identifier: 'team/net' } });
    expect((await repo('team/none').expect(200)).body.data.attributes.exists).toBe(false);
    await admin.get('organizations/acme/vcs/repo').expect(400);
  });

  it('have folders, on the default branch and on other branches', async () => {
    host.entries.push({ type: 'dir', path: 'modules' }, { type: 'file', path: 'main.tf' });
    for (const more of ['', '&branch=main', '&branch=v1', `&branch=${host.commit('Begin')}`]) {
      const { body } = await tree(more).expect(200);
      expect(body.data).toMatchObject([{ type: 'vcs-tree', id: 'modules' }]);
    }
    expect((await tree('&branch=none').expect(422)).body.errors[0].detail).toContain(
      'has no branch, tag or commit none',
    );
    expect((await tree('', 'team/none').expect(422)).body.errors[0].detail).toContain('was not found');
  });

  it('are only shown to those who may see the connection, of the same organization', async () => {
    const plain = await member(workspaces, 'acme');
    const managing = await member(workspaces, 'acme', [await team(workspaces, 'acme', 'vcs', ['manage-vcs-settings'])]);
    await managing.get(`oauth-tokens/${token}/authorized-repos`).expect(200);
    await repo('team/net', managing).expect(200);
    await plain.get(`oauth-tokens/${token}/authorized-repos`).expect(404);
    await repo('team/net', plain).expect(404);
    const calls = host.calls.length;
    await repo('team/net', admin, await connect('other')).expect(404);
    expect(host.calls).toHaveLength(calls);
  });

  it('are only shown to administrators in the projects that the connection is limited to', async () => {
    const [here, there] = await Promise.all(
      ['here', 'there'].map(async (name) => {
        const project = (await admin.post('organizations/acme/projects', resource('projects', { name })).expect(201))
          .body.data.id;
        const into = { project: ref('projects', project) };
        const made = await admin
          .post('organizations/acme/workspaces', resource('workspaces', { name }, into))
          .expect(201);
        const teamId = await team(workspaces, 'acme', name);
        await grant(workspaces, teamId, made.body.data.id, 'admin');
        return { project, person: await member(workspaces, 'acme', [teamId]) };
      }),
    );
    const of = await connect('acme', { 'organization-scoped': false }, [here!.project]);
    await repo('team/net', here!.person, of).expect(200);
    await here!.person.get(`oauth-tokens/${of}/authorized-repos`).expect(200);
    const calls = host.calls.length;
    await repo('team/net', there!.person, of).expect(404);
    await there!.person.get(`oauth-tokens/${of}/authorized-repos`).expect(404);
    expect(host.calls).toHaveLength(calls);
    await repo('team/net', there!.person).expect(200);
  });

  it('are not listed if the host is down, or its address is stored but may not be called', async () => {
    host.away = true;
    await admin.get(`oauth-tokens/${token}/authorized-repos`).expect(422);
    host.away = false;
    const closed = await connect('acme', {
      'api-url': 'http://169.254.169.254/api',
      'http-url': 'http://169.254.169.254',
    });
    await admin.get(`oauth-tokens/${closed}/authorized-repos`).expect(422);
  });

  it('belong to a connection that may name its organization in the body', async () => {
    const attributes = {
      'oauth-token-string': 'text',
      'service-provider': 'gitea',
      'http-url': host.origin,
      'api-url': `${host.origin}/api/v1`,
    };
    const create = (more: object, relationships: object, by = admin) =>
      by.post('oauth-clients', resource('oauth-clients', { ...attributes, ...more }, relationships));
    const { body } = await create(
      { 'oauth-token-string': 'text' },
      { organization: ref('organizations', 'acme') },
    ).expect(201);
    expect(body.data.relationships.organization.data.id).toBe('acme');
    const [other] = (await admin.get('organizations?q=other').expect(200)).body.data;
    await create({ 'organization-id': other.attributes['external-id'] }, {}).expect(201);
    const plain = await member(workspaces, 'acme');
    for (const [given, by] of [
      [{ 'organization-id': 'acme' }, plain],
      [{ 'organization-id': 'none' }, admin],
      [{}, admin],
    ] as const) {
      const refused = await create(given, {}, by).expect(422);
      expect(refused.body.errors[0].detail).toContain('must be an organization whose VCS connections you may manage');
    }
  });
});
