import { describe, expect, it } from '@jest/globals';
import { grant, grantProject, member, organizationToken, project, team } from './members';
import { managing, pushState } from './run-fixture';
import { ref, resource, startWorkspaces } from './start-workspaces';

const projectBody = (attributes: object) => resource('projects', attributes);

describe('projects', () => {
  const workspaces = startWorkspaces();

  it('creates a project and shows it the same everywhere', async () => {
    await workspaces.organization('acme');
    const body = projectBody({ name: 'Web platform', description: 'all of it' });
    const { data } = (await workspaces.admin.post('organizations/acme/projects', body).expect(201)).body;
    expect(data).toMatchObject({
      type: 'projects',
      id: expect.stringMatching(/^prj-[1-9A-HJ-NP-Za-km-z]{16}$/),
      attributes: {
        name: 'Web platform',
        description: 'all of it',
        'workspace-count': 0,
        'team-count': 0,
        'auto-destroy-activity-duration': null,
      },
      relationships: { organization: { data: { type: 'organizations', id: 'acme' } } },
      links: { self: `/api/v2/projects/${data.id}` },
    });
    expect((await workspaces.admin.get(`projects/${data.id}`).expect(200)).body.data).toEqual(data);
    const { body: listed } = await workspaces.admin.get('organizations/acme/projects?q=WEB').expect(200);
    expect(listed.data).toEqual([data]);
  });

  it('accepts names of 3 to 40 characters (W9.3, WV.1)', async () => {
    const path = 'organizations/acme/projects';
    await workspaces.admin.post(path, projectBody({ name: 'a'.repeat(40) })).expect(201);
    await workspaces.admin.post(path, projectBody({ name: 'a-1' })).expect(201);
    for (const name of ['a'.repeat(41), 'ab', '']) {
      await workspaces.admin.post(path, projectBody({ name })).expect(422);
    }
  });

  it.each(['default-execution-mode', 'default-agent-pool'])(
    'follows its organization again after only %s',
    async (word) => {
      const { admin } = workspaces;
      const body = projectBody({ name: `own-${word}`, 'default-execution-mode': 'local' });
      const { id } = (await admin.post('organizations/acme/projects', body).expect(201)).body.data;
      const overwrites = { 'setting-overwrites': { [word]: false } };
      const changed = await admin.patch(`projects/${id}`, resource('projects', overwrites)).expect(200);
      const neither = { 'default-execution-mode': false, 'default-agent-pool': false };
      expect(changed.body.data.attributes['setting-overwrites']).toEqual(neither);
      await admin.delete(`projects/${id}`).expect(204);
    },
  );

  it.each([
    ['a slash', { name: 'web/app' }, 'Name may only contain', 'name'],
    ['a leading space', { name: ' web' }, 'Name may only contain', 'name'],
    ['a full-width letter', { name: 'ｗeb app' }, 'Name may only contain', 'name'],
    ['no name', {}, "Name can't be blank", 'name'],
    ['a long description', { name: 'abc', description: 'x'.repeat(257) }, 'Description is too long', 'description'],
    [
      'a duration without unit',
      { name: 'abc', 'auto-destroy-activity-duration': '14' },
      "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
      'auto-destroy-activity-duration',
    ],
    ['an unknown mode', { name: 'abc', 'default-execution-mode': 'magic' }, 'must be one of', 'default-execution-mode'],
    [
      'agent mode without a pool',
      { name: 'abc', 'default-execution-mode': 'agent' },
      "Default agent pool must be specified when using 'agent' execution mode",
      'default-agent-pool',
    ],
  ])('refuses a project with %s', async (_what, attributes, detail, name) => {
    const { body } = await workspaces.admin.post('organizations/acme/projects', projectBody(attributes)).expect(422);
    expect(body.errors).toEqual([
      {
        status: '422',
        title: 'invalid attribute',
        detail: expect.stringContaining(detail),
        source: { pointer: `/data/attributes/${name}` },
      },
    ]);
  });

  it('accepts one of twenty equal creates, and no rename to a taken name', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        workspaces.admin.post('organizations/acme/projects', projectBody({ name: 'race' })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)]);
    const id = await project(workspaces, 'acme', 'other');
    const taken = await workspaces.admin.patch(`projects/${id}`, projectBody({ name: 'RACE' })).expect(422);
    expect(taken.body.errors[0].detail).toBe('Name has already been taken');
    const changed = await workspaces.admin.patch(`projects/${id}`, projectBody({ description: 'new' })).expect(200);
    expect(changed.body.data.attributes).toMatchObject({ name: 'other', description: 'new' });
  });

  it('sorts by name either way, and shows description and counts (WV.3)', async () => {
    const names = async (query: string) => {
      const { body } = await workspaces.admin.get(`organizations/acme/projects?page[size]=100&${query}`).expect(200);
      return body.data.map((row: { attributes: { name: string } }) => row.attributes.name);
    };
    expect(await names('sort=-name')).toEqual((await names('sort=name')).reverse());
    expect((await names('filter[names]=RACE,OTHER&q=nothing')).sort()).toEqual(['other', 'race']);
    await workspaces.admin.get('organizations/acme/projects?sort=age').expect(400);
    const { body } = await workspaces.admin.get('organizations/acme/projects?q=Web platform').expect(200);
    expect(body.data[0].attributes).toMatchObject({
      description: 'all of it',
      'workspace-count': 0,
      'project-count': (await names('')).length,
    });
  });

  it('deletes neither the default project nor one with workspaces', async () => {
    const { body } = await workspaces.admin
      .get('organizations/acme/projects?filter[names]=default project')
      .expect(200);
    const standard = body.data[0];
    expect(standard.attributes.permissions['can-destroy']).toBe(false);
    const refused = await workspaces.admin.delete(`projects/${standard.id}`).expect(403);
    expect(refused.body.errors[0]).toEqual({
      status: '403',
      title: 'forbidden',
      detail: 'The default project cannot be deleted',
    });
    const id = await project(workspaces, 'acme', 'full');
    const create = resource('workspaces', { name: 'inside' }, { project: ref('projects', id) });
    await workspaces.admin.post('organizations/acme/workspaces', create).expect(201);
    const full = await workspaces.admin.delete(`projects/${id}`).expect(422);
    expect(full.body.errors[0].detail).toContain('inside');
    expect((await workspaces.admin.get(`projects/${id}`)).body.data.attributes['workspace-count']).toBe(1);
    await workspaces.admin.delete('organizations/acme/workspaces/inside').expect(204);
    await workspaces.admin.delete(`projects/${id}`).expect(204);
    await workspaces.admin.get(`projects/${id}`).expect(404);
  });

  it('answers 403 to deleting a project that may be seen, 404 to one that may not', async () => {
    const [seen, unseen] = [await project(workspaces, 'acme', 'seen'), await project(workspaces, 'acme', 'unseen')];
    const readers = await team(workspaces, 'acme', 'readers');
    await grantProject(workspaces, readers, seen, 'read');
    const reader = await member(workspaces, 'acme', [readers]);
    await reader.delete(`projects/${seen}`).expect(403);
    await reader.delete(`projects/${unseen}`).expect(404);
    const listed = await reader.get('organizations/acme/projects').expect(200);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([seen]);
  });

  it('shows the project of a workspace to callers with a grant on it', async () => {
    const id = await project(workspaces, 'acme', 'around');
    const create = resource('workspaces', { name: 'granted' }, { project: ref('projects', id) });
    const { body } = await workspaces.admin.post('organizations/acme/workspaces', create).expect(201);
    const few = await team(workspaces, 'acme', 'few');
    const one = await member(workspaces, 'acme', [few]);
    await one.get(`projects/${id}`).expect(404);
    await grant(workspaces, few, body.data.id, 'read');
    await one.get(`projects/${id}`).expect(200);
    const other = await project(workspaces, 'acme', 'elsewhere');
    const move = { data: [{ type: 'workspaces', id: body.data.id }] };
    await workspaces.admin.post(`projects/${other}/relationships/workspaces`, move).expect(204);
    await one.get(`projects/${id}`).expect(404);
    await one.get(`projects/${other}`).expect(200);
  });

  it('moves all of the workspaces or none, with rights in both projects', async () => {
    const [from, to] = [await project(workspaces, 'acme', 'source'), await project(workspaces, 'acme', 'destination')];
    const made = await Promise.all(
      ['m-1', 'm-2'].map((name) =>
        workspaces.admin.post(
          'organizations/acme/workspaces',
          resource('workspaces', { name }, { project: ref('projects', from) }),
        ),
      ),
    );
    const [one, two] = made.map(({ body }) => body.data.id);
    const movers = await team(workspaces, 'acme', 'movers');
    await grantProject(workspaces, movers, to, 'admin');
    const mover = await member(workspaces, 'acme', [movers]);
    const path = `projects/${to}/relationships/workspaces`;
    const body = { data: [one, two, 'ws-absent'].map((id) => ({ type: 'workspaces', id })) };
    const refused = await mover.post(path, body).expect(403);
    expect(refused.body.errors[0].detail).toBe(
      `Workspace(s) not found, or you are not authorized to move them: ${one}, ${two}, ws-absent`,
    );
    await grantProject(workspaces, movers, from, 'admin');
    const partly = await mover.post(path, body).expect(403);
    expect(partly.body.errors[0].detail).toContain('move them: ws-absent');
    const projectOf = async (id: string) =>
      (await workspaces.admin.get(`workspaces/${id}`).expect(200)).body.data.relationships.project.data.id;
    expect(await projectOf(one)).toBe(from);
    body.data.pop();
    await mover.post(path, body).expect(204);
    expect([await projectOf(one), await projectOf(two)]).toEqual([to, to]);
    await mover.post(`projects/${from}/relationships/workspaces`, { data: [{ type: 'teams', id: one }] }).expect(422);
  });

  it('shows whether its workspaces may be deleted while they manage resources, which only owners change', async () => {
    const { admin } = workspaces;
    const id = await project(workspaces, 'acme', 'deletable');
    const administrators = await team(workspaces, 'acme', 'administrators');
    await grantProject(workspaces, administrators, id, 'admin');
    const one = await member(workspaces, 'acme', [administrators]);
    const made = resource('workspaces', { name: 'managing' }, { project: ref('projects', id) });
    const workspace = (await admin.post('organizations/acme/workspaces', made).expect(201)).body.data.id;
    await pushState(admin, workspace, managing(1, 1));
    const may = async (client: typeof admin) =>
      (await client.get(`workspaces/${workspace}`).expect(200)).body.data.attributes.permissions['can-force-delete'];
    const set = (client: typeof admin, allowed: boolean | null) =>
      client.patch(`projects/${id}`, projectBody({ 'allow-force-delete-workspaces': allowed }));
    expect([await may(admin), await may(one)]).toEqual([true, false]);
    await set(one, true).expect(403);
    await set(one, null).expect(200);
    await one.delete(`workspaces/${workspace}`).expect(403);
    const shown = await set(admin, true).expect(200);
    expect(shown.body.data.attributes['allow-force-delete-workspaces']).toBe(true);
    expect(await may(one)).toBe(true);
    await admin
      .patch('organizations/acme', resource('organizations', { 'allow-force-delete-workspaces': true }))
      .expect(200);
    await set(admin, false).expect(200);
    await set(one, null).expect(403);
    expect(await may(one)).toBe(false);
    // With the right to override policies, administrators have all capabilities of owners.
    const overriding = await team(workspaces, 'acme', 'overriding', ['manage-policy-overrides', 'manage-workspaces']);
    const almostOwner = await member(workspaces, 'acme', [overriding]);
    expect([await may(admin), await may(almostOwner), await may(admin)]).toEqual([true, false, true]);
    await admin
      .patch('organizations/acme', resource('organizations', { 'allow-force-delete-workspaces': false }))
      .expect(200);
    await set(admin, true).expect(200);
    await one.delete(`workspaces/${workspace}`).expect(204);
  });

  it('filters by the caller’s rights in a project', async () => {
    await workspaces.organization('filtered');
    const levels = ['read', 'write', 'maintain', 'admin'] as const;
    const members = await team(workspaces, 'filtered', 'members');
    const ids = new Map<string, string>();
    for (const level of levels) {
      const id = await project(workspaces, 'filtered', `project ${level}`);
      await grantProject(workspaces, members, id, level);
      ids.set(id, level);
    }
    const client = await member(workspaces, 'filtered', [members]);
    const found = async (query: string) => {
      const { body } = await client.get(`organizations/filtered/projects?${query}`).expect(200);
      return body.data.map(({ id }: { id: string }) => ids.get(id));
    };
    expect((await found('')).sort()).toEqual([...levels].sort());
    expect((await found('filter[permissions][create-workspace]=true')).sort()).toEqual(['admin', 'maintain']);
    expect(await found('filter[permissions][update]=true')).toEqual(['admin']);
  });

  it('lets the organization token manage projects', async () => {
    const client = await organizationToken(workspaces, 'acme');
    const made = await client.post('organizations/acme/projects', projectBody({ name: 'by token' })).expect(201);
    await client.patch(`projects/${made.body.data.id}`, projectBody({ name: 'renamed' })).expect(200);
    await client.delete(`projects/${made.body.data.id}`).expect(204);
  });
});
