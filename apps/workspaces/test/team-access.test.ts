import { describe, expect, it, jest } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import request from 'supertest';
import { readConfig } from '../src/config';
import { createService } from '../src/service';
import { grant, grantProject, member, project, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

// A second service starts in one of these.
jest.setTimeout(120_000);

describe('team access', () => {
  const workspaces = startWorkspaces();
  const settingsOf = async (id: string) => {
    const { body } = await workspaces.admin.get(`team-workspaces/${id}`).expect(200);
    const {
      runs,
      variables,
      'state-versions': states,
      'polengine-mocks': mocks,
      'sentinel-mocks': alias,
    } = body.data.attributes;
    const { 'workspace-locking': locking, 'run-tasks': tasks } = body.data.attributes;
    expect(alias).toBe(mocks);
    return [runs, variables, states, mocks, locking, tasks];
  };

  it.each([
    ['read', ['read', 'read', 'read', 'none', false, false]],
    ['plan', ['plan', 'read', 'read', 'none', false, false]],
    ['write', ['apply', 'write', 'write', 'read', true, false]],
    ['admin', ['apply', 'write', 'write', 'read', true, true]],
    ['custom', ['read', 'none', 'none', 'none', false, false]],
  ])('shows the permissions of %s on a workspace', async (level, expected) => {
    const organization = `level-${level}`;
    await workspaces.organization(organization);
    const { id } = await workspaces.workspace(organization, 'web');
    const teamId = await team(workspaces, organization, 'ops');
    const granted = await grant(workspaces, teamId, id, level);
    expect(granted).toMatch(/^tws-/);
    expect(await settingsOf(granted)).toEqual(expected);
    const listed = await workspaces.admin.get(`team-workspaces?filter[workspace][id]=${id}`).expect(200);
    expect(listed.body.data.map((item: { id: string }) => item.id)).toEqual([granted]);
  });

  it('is given the right to override policies only by callers who have it, or may delegate it', async () => {
    await workspaces.organization('judged');
    const { id } = await workspaces.workspace('judged', 'web');
    const to = await team(workspaces, 'judged', 'judges');
    const own = await team(workspaces, 'judged', 'admins', [], { visibility: 'organization' });
    await grant(workspaces, own, id, 'admin');
    const body = (teamId: string, access = 'custom') =>
      resource(
        'team-workspaces',
        { access, 'policy-overrides': true },
        { team: ref('teams', teamId), workspace: ref('workspaces', id) },
      );
    const administrator = await member(workspaces, 'judged', [own, to]);
    await administrator.post('team-workspaces', body(to)).expect(404);
    for (const access of ['read', 'admin'])
      await workspaces.admin.post('team-workspaces', body(to, access)).expect(422);
    const delegates = await team(workspaces, 'judged', 'delegates', ['delegate-policy-overrides']);
    const delegate = await member(workspaces, 'judged', [own, delegates, to]);
    const { body: given } = await delegate.post('team-workspaces', body(to)).expect(201);
    expect(given.data.attributes).toMatchObject({ access: 'custom', runs: 'read', 'policy-overrides': true });
    const change = (by: typeof delegate, attributes: object) =>
      by.patch(`team-workspaces/${given.data.id}`, resource('team-workspaces', attributes));
    // An existing right may stay or be removed, but not granted again.
    await change(administrator, { access: 'custom', 'policy-overrides': true, runs: 'plan' }).expect(200);
    await change(administrator, { 'policy-overrides': false }).expect(200);
    await change(administrator, { 'policy-overrides': true }).expect(404);
    const project = (await workspaces.admin.get(`workspaces/${id}`)).body.data.relationships.project.data;
    const inProject = (teamId: string) =>
      resource(
        'team-projects',
        { access: 'custom', 'workspace-access': { 'policy-overrides': true } },
        { team: ref('teams', teamId), project: { data: project } },
      );
    await grantProject(workspaces, own, project.id, 'admin');
    await administrator.post('team-projects', inProject(to)).expect(404);
    await delegate.post('team-projects', inProject(to)).expect(201);
  });

  it('refuses settings that differ from a fixed level, and accepts those of the level', async () => {
    await workspaces.organization('acme');
    const { id } = await workspaces.workspace('acme', 'web');
    const teamId = await team(workspaces, 'acme', 'ops');
    const relationships = { team: ref('teams', teamId), workspace: ref('workspaces', id) };
    const send = (attributes: object) =>
      workspaces.admin.post('team-workspaces', resource('team-workspaces', attributes, relationships));
    const { body } = await send({ access: 'read', runs: 'apply', variables: 'write' }).expect(422);
    expect(body.errors).toEqual(
      ['Runs', 'Variables'].map((name) => ({
        status: '422',
        title: 'invalid attribute',
        detail: `${name} is read-only when access level is 'read'; use the 'custom' access level to set this attribute.`,
        source: { pointer: `/data/attributes/${name.toLowerCase()}` },
      })),
    );
    await send({ access: 'read', runs: 'everything' }).expect(422);
    await send({}).expect(422);
    const missing = await workspaces.admin
      .post('team-workspaces', resource('team-workspaces', { access: 'read' }))
      .expect(422);
    expect(missing.body.errors.map((error: { source: { pointer: string } }) => error.source.pointer).sort()).toEqual([
      '/data/relationships/team',
      '/data/relationships/workspace',
    ]);
    await send({ access: 'read', runs: 'read' }).expect(201);
    const twice = await send({ access: 'admin' }).expect(422);
    expect(twice.body.errors[0].detail).toContain('already');
  });

  it('keeps settings when custom is changed in part, and drops them with a fixed level', async () => {
    const { id } = await workspaces.workspace('acme', 'custom');
    const teamId = await team(workspaces, 'acme', 'tuned');
    const granted = await grant(workspaces, teamId, id, 'custom', { variables: 'write', 'sentinel-mocks': 'read' });
    const change = (attributes: object) =>
      workspaces.admin.patch(`team-workspaces/${granted}`, resource('team-workspaces', attributes)).expect(200);
    await change({ 'workspace-locking': true });
    expect(await settingsOf(granted)).toEqual(['read', 'write', 'none', 'read', true, false]);
    await change({ access: 'plan' });
    expect(await settingsOf(granted)).toEqual(['plan', 'read', 'read', 'none', false, false]);
    await change({ access: 'custom', runs: 'apply' });
    expect(await settingsOf(granted)).toEqual(['apply', 'read', 'read', 'none', false, false]);
  });

  it('does not let a custom grant become an administrator', async () => {
    const { id } = await workspaces.workspace('acme', 'guarded');
    const teamId = await team(workspaces, 'acme', 'everything');
    const all = {
      runs: 'apply',
      variables: 'write',
      'state-versions': 'write',
      'polengine-mocks': 'read',
      'workspace-locking': true,
      'run-tasks': true,
    };
    const granted = await grant(workspaces, teamId, id, 'custom', all);
    const client = await member(workspaces, 'acme', [teamId]);
    await client.get(`team-workspaces/${granted}`).expect(404);
    await client.patch(`workspaces/${id}`, resource('workspaces', { 'auto-apply': true })).expect(404);
    await client.delete(`workspaces/${id}`).expect(404);
  });

  it('answers 404 to lists without a filter, and to foreign teams and workspaces', async () => {
    await workspaces.organization('elsewhere');
    const { id } = await workspaces.workspace('acme', 'here');
    const foreign = await team(workspaces, 'elsewhere', 'foreign');
    const relationships = { team: ref('teams', foreign), workspace: ref('workspaces', id) };
    await workspaces.admin.get('team-workspaces').expect(404);
    await workspaces.admin.get('team-projects').expect(404);
    await workspaces.admin
      .post('team-workspaces', resource('team-workspaces', { access: 'read' }, relationships))
      .expect(404);
    relationships.workspace = ref('workspaces', 'ws-absent');
    await workspaces.admin
      .post('team-workspaces', resource('team-workspaces', { access: 'read' }, relationships))
      .expect(404);
  });

  it.each([
    ['read', ['read', 'none', 'read'], ['read', 'none', 'read', 'read', false, false, false, false, false]],
    ['write', ['read', 'none', 'read'], ['apply', 'read', 'write', 'write', false, true, false, false, false]],
    ['maintain', ['read', 'none', 'read'], ['apply', 'read', 'write', 'write', true, true, true, false, true]],
    ['admin', ['delete', 'manage', 'write'], ['apply', 'read', 'write', 'write', true, true, true, true, true]],
    ['custom', ['read', 'none', 'none'], ['read', 'none', 'none', 'none', false, false, false, false, false]],
  ])('shows the permissions of %s on a project', async (level, onProject, onWorkspaces) => {
    const organization = `project-${level}`;
    await workspaces.organization(organization);
    const id = await project(workspaces, organization, 'the project');
    const teamId = await team(workspaces, organization, 'ops');
    const granted = await grantProject(workspaces, teamId, id, level);
    const { body } = await workspaces.admin.get(`team-projects/${granted}?include=team,project`).expect(200);
    const { settings, teams, 'variable-sets': sets } = body.data.attributes['project-access'];
    expect([settings, teams, sets]).toEqual(onProject);
    const names = [
      'runs',
      'polengine-mocks',
      'state-versions',
      'variables',
      'create',
      'locking',
      'delete',
      'move',
      'run-tasks',
    ];
    const shown = body.data.attributes['workspace-access'];
    expect(names.map((name) => shown[name])).toEqual(onWorkspaces);
    expect(body.included.map(({ type }: { type: string }) => type).sort()).toEqual(['projects', 'teams']);
  });

  it('shows what a team may do with the variable sets that a project owns', async () => {
    await workspaces.organization('owned');
    const id = await project(workspaces, 'owned', 'the project');
    const own = { parent: ref('projects', id), projects: { data: [{ type: 'projects', id }] } };
    const make = (client: typeof workspaces.admin, name: string) =>
      client.post('organizations/owned/varsets', resource('varsets', { name, global: false }, own));
    const set = (await make(workspaces.admin, 'first').expect(201)).body.data.id;
    const teamId = await team(workspaces, 'owned', 'ops');
    const granted = await grantProject(workspaces, teamId, id, 'custom');
    const client = await member(workspaces, 'owned', [teamId]);
    const turn = (value: string) =>
      workspaces.admin
        .patch(`team-projects/${granted}`, resource('team-projects', { 'project-access': { 'variable-sets': value } }))
        .expect(200);
    const may = async () => [
      (await client.get(`varsets/${set}`)).status,
      (await client.get('organizations/owned/varsets')).body.data.length,
      (await client.patch(`varsets/${set}`, resource('varsets', { description: 'changed' }))).status,
      (await make(client, '')).status,
    ];
    await client.get(`projects/${id}`).expect(200);
    expect(await may()).toEqual([404, 0, 404, 404]);
    const { body } = await turn('read');
    expect(body.data.attributes['project-access']).toEqual({
      settings: 'read',
      teams: 'none',
      'variable-sets': 'read',
    });
    expect(await may()).toEqual([200, 1, 404, 404]);
    await turn('write');
    expect(await may()).toEqual([200, 1, 200, 422]);
    await turn('none');
    expect(await may()).toEqual([404, 0, 404, 404]);
    const refused = { 'project-access': { 'variable-sets': 'manage' } };
    await workspaces.admin.patch(`team-projects/${granted}`, resource('team-projects', refused)).expect(422);
  });

  it('limits callers who write the sets of a project to that project', async () => {
    await workspaces.organization('outside');
    const [here, there] = await Promise.all(['here', 'there'].map((name) => project(workspaces, 'outside', name)));
    const [inside, outside] = await Promise.all(
      [here, there].map(async (id, n) => {
        const create = resource('workspaces', { name: `web-${n}` }, { project: ref('projects', id!) });
        return (await workspaces.admin.post('organizations/outside/workspaces', create).expect(201)).body.data.id;
      }),
    );
    const teamId = await team(workspaces, 'outside', 'ops');
    const granted = await grantProject(workspaces, teamId, here!, 'custom');
    const allowed = resource('team-projects', { 'project-access': { 'variable-sets': 'write' } });
    await workspaces.admin.patch(`team-projects/${granted}`, allowed).expect(200);
    const client = await member(workspaces, 'outside', [teamId]);
    const sets = 'organizations/outside/varsets';
    const parent = ref('projects', here!);
    const of = (more: object) => ({ parent, ...more });
    const many = (type: string, id: string) => ({ data: [{ type, id }] });
    for (const by of [client, workspaces.admin]) {
      const make = (attributes: object, more: object = {}) =>
        by.post(sets, resource('varsets', { name: 'no', global: false, ...attributes }, of(more)));
      expect((await make({ global: true }).expect(422)).body.errors[0].source.pointer).toBe('/data/attributes/global');
      await make({}, { workspaces: many('workspaces', outside) }).expect(422);
      await make({}, { projects: many('projects', there!) }).expect(422);
    }
    const own = resource('varsets', { name: 'own', global: false, priority: true }, of({}));
    const set = `varsets/${(await client.post(sets, own).expect(201)).body.data.id}`;
    await client.post(`${set}/relationships/vars`, resource('vars', { key: 'PROXY', value: 'mine', category: 'env' }));
    await client.patch(set, resource('varsets', { global: true })).expect(422);
    await client.post(`${set}/relationships/workspaces`, many('workspaces', outside)).expect(404);
    await client.post(`${set}/relationships/projects`, many('projects', there!)).expect(404);
    await client.post(`${set}/relationships/workspaces`, many('workspaces', inside)).expect(204);
    await client.post(`${set}/relationships/projects`, many('projects', here!)).expect(204);
    const reaches = async (workspace: string) => [
      (await workspaces.admin.get(`workspaces/${workspace}/all-vars`).expect(200)).body.data.length,
      (await workspaces.admin.get(`workspaces/${workspace}/varsets`).expect(200)).body.data.length,
    ];
    expect(await reaches(inside)).toEqual([1, 1]);
    // Such rows may exist from earlier versions, or remain after a workspace or a project was deleted.
    await workspaces.admin.patch(
      `workspaces/${inside}`,
      resource('workspaces', {}, { project: ref('projects', there!) }),
    );
    expect(await reaches(inside)).toEqual([0, 0]);
    await workspaces.service.pool.query(`UPDATE variable_set SET global = true WHERE name = 'own'`);
    expect([await reaches(inside), await reaches(outside)]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('combines the grants of organization, project and workspace; the highest wins', async () => {
    await workspaces.organization('joined');
    const id = await project(workspaces, 'joined', 'the project');
    const create = resource('workspaces', { name: 'web' }, { project: ref('projects', id) });
    const made = await workspaces.admin.post('organizations/joined/workspaces', create).expect(201);
    const web = made.body.data.id;
    const readers = await team(workspaces, 'joined', 'readers', ['read-workspaces']);
    const lockers = await team(workspaces, 'joined', 'lockers');
    const writers = await team(workspaces, 'joined', 'writers');
    await grantProject(workspaces, lockers, id, 'custom', { 'workspace-access': { locking: true } });
    await grant(workspaces, writers, web, 'custom', { variables: 'write' });
    const client = await member(workspaces, 'joined', [readers, lockers, writers]);
    const { body } = await client.get(`workspaces/${web}`).expect(200);
    expect(body.data.attributes.permissions).toMatchObject({
      'can-read-state-versions': true,
      'can-lock': true,
      'can-update-variable': true,
      'can-queue-run': false,
      'can-update': false,
    });
  });

  it('shows acknowledged changes on every node at once', async () => {
    await workspaces.organization('nodes');
    const { id } = await workspaces.workspace('nodes', 'web');
    const teamId = await team(workspaces, 'nodes', 'ops');
    const client = await member(workspaces, 'nodes', [teamId]);
    const config = readConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_SEAL_KEY: '07'.repeat(32),
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
    });
    const second = await createService(config, { log: createLogger({ name: 'second', level: 'silent' }) });
    const server = createServer(second.app).listen(0, '127.0.0.1');
    try {
      const elsewhere = async () =>
        (await request(server).get(`/api/v2/workspaces/${id}`).set('Authorization', `Bearer ${client.token}`)).status;
      expect(await elsewhere()).toBe(404);
      for (let round = 0; round < 5; round++) {
        const granted = await grant(workspaces, teamId, id, 'read');
        expect(await elsewhere()).toBe(200);
        await workspaces.admin.delete(`team-workspaces/${granted}`).expect(204);
        expect(await elsewhere()).toBe(404);
      }
      await grant(workspaces, teamId, id, 'read');
      const data = [{ type: 'users', id: client.id }];
      await workspaces.admin.delete(`teams/${teamId}/relationships/users`, { data }).expect(204);
      expect(await elsewhere()).toBe(404);
      await workspaces.admin.post(`teams/${teamId}/relationships/users`, { data }).expect(204);
      expect(await elsewhere()).toBe(200);
      await workspaces.admin.delete(`organization-memberships/${client.membershipId}`).expect(204);
      expect(await elsewhere()).toBe(404);
    } finally {
      server.closeAllConnections();
      server.close();
      await second.close();
    }
  });
});
