import { beforeAll, describe, expect, it } from '@jest/globals';
import { grant, grantProject, member, project, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('members do not see', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on' } });
  const { admin } = workspaces;
  let workspaceId = '';
  const namesAt = async (by: typeof admin, path: string): Promise<string[]> =>
    (await by.get(path).expect(200)).body.data.map((one: { attributes: { name: string } }) => one.attributes.name);
  beforeAll(async () => {
    await workspaces.organization('acme');
    workspaceId = (await workspaces.workspace('acme', 'web')).id;
  });

  it('agent pools, except those of workspaces that they see or may choose pools for', async () => {
    const pool = async (name: string, relationships?: object) =>
      (await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name }, relationships)).expect(201))
        .body.data.id as string;
    const hidden = await pool('hidden');
    await pool('shown', { 'allowed-workspaces': { data: [{ type: 'workspaces', id: workspaceId }] } });
    const readers = await team(workspaces, 'acme', 'readers');
    const reader = await member(workspaces, 'acme', [readers]);
    const path = 'organizations/acme/agent-pools';
    expect(await namesAt(reader, path)).toEqual([]);
    await reader.get(`agent-pools/${hidden}`).expect(404);
    await reader.get(`agent-pools/${hidden}/agents`).expect(404);
    const granted = await grant(workspaces, readers, workspaceId, 'read');
    expect(await namesAt(reader, path)).toEqual(['shown']);
    // Those who see the project see its workspaces; pages and filters count only those.
    const projectId = await project(workspaces, 'acme', 'of readers');
    await grantProject(workspaces, readers, projectId, 'read');
    const relationships = { project: ref('projects', projectId) };
    const { id: other } = (
      await admin
        .post('organizations/acme/workspaces', resource('workspaces', { name: 'other' }, relationships))
        .expect(201)
    ).body.data;
    await pool('zone', { 'allowed-workspaces': { data: [{ type: 'workspaces', id: other }] } });
    expect(await namesAt(reader, path)).toEqual(['shown', 'zone']);
    const page = (await reader.get(`${path}?page[size]=1&page[number]=2`).expect(200)).body;
    expect([page.data[0].attributes.name, page.meta.pagination['total-count']]).toEqual(['zone', 2]);
    expect(await namesAt(reader, `${path}?q=hid`)).toEqual([]);
    await admin.delete(`team-workspaces/${granted}`).expect(204);
    expect(await namesAt(reader, path)).toEqual(['zone']);
    await grant(workspaces, readers, workspaceId, 'read');
    await reader.get(`agent-pools/${hidden}`).expect(404);
    const creators = await team(workspaces, 'acme', 'creators');
    await grantProject(workspaces, creators, await project(workspaces, 'acme', 'own'), 'maintain');
    expect(await namesAt(await member(workspaces, 'acme', [creators]), path)).toEqual(['hidden', 'shown', 'zone']);
  });

  it('the projects that use a connection, except visible ones', async () => {
    const [seen, unseen] = [await project(workspaces, 'acme', 'seen'), await project(workspaces, 'acme', 'unseen')];
    const data = [seen, unseen].map((id) => ({ type: 'projects', id }));
    const client = {
      'service-provider': 'gitea',
      'http-url': 'https://git.test',
      'api-url': 'https://git.test/api/v1',
      'oauth-token-string': 'token',
      'organization-scoped': false,
    };
    const made = await admin
      .post('organizations/acme/oauth-clients', resource('oauth-clients', client, { projects: { data } }))
      .expect(201);
    const admins = await team(workspaces, 'acme', 'admins of one');
    await grant(workspaces, admins, workspaceId, 'admin');
    await grantProject(workspaces, admins, seen, 'read');
    const one = await member(workspaces, 'acme', [admins]);
    const shown = async (by: typeof admin) =>
      (await by.get(`oauth-clients/${made.body.data.id}`).expect(200)).body.data.relationships.projects.data;
    expect(await shown(one)).toEqual([{ type: 'projects', id: seen }]);
    expect(await shown(admin)).toHaveLength(2);
  });

  it('the names of secret teams with access to a workspace or a project that they administer', async () => {
    const secret = await team(workspaces, 'acme', 'secret', [], { visibility: 'secret' });
    const projectId = await project(workspaces, 'acme', 'shared');
    await grant(workspaces, secret, workspaceId, 'read');
    await grantProject(workspaces, secret, projectId, 'read');
    const admins = await team(workspaces, 'acme', 'both', [], { visibility: 'organization' });
    await grant(workspaces, admins, workspaceId, 'admin');
    await grantProject(workspaces, admins, projectId, 'admin');
    const one = await member(workspaces, 'acme', [admins]);
    for (const path of [
      `team-workspaces?filter[workspace][id]=${workspaceId}`,
      `team-projects?filter[project][id]=${projectId}`,
    ]) {
      const { text, body } = await one.get(path).expect(200);
      expect(text).not.toContain(secret);
      expect(body.data.length).toBeGreaterThan(1);
      expect((await admin.get(path).expect(200)).text).toContain(secret);
    }
    const refused = resource(
      'team-workspaces',
      { access: 'read' },
      {
        team: ref('teams', secret),
        workspace: ref('workspaces', workspaceId),
      },
    );
    await one.post('team-workspaces', refused).expect(404);
  });
});
