import { describe, expect, it } from '@jest/globals';
import { member, organizationToken, team, teamToken } from './members';
import { resource, startWorkspaces } from './start-workspaces';

const teamBody = (attributes: object) => resource('teams', attributes);

describe('teams', () => {
  const workspaces = startWorkspaces();

  it('creates a secret team without rights and shows it the same everywhere', async () => {
    await workspaces.organization('acme');
    const created = await workspaces.admin.post('organizations/acme/teams', teamBody({ name: 'ops' })).expect(201);
    const { data } = created.body;
    expect(data).toMatchObject({
      type: 'teams',
      id: expect.stringMatching(/^team-[1-9A-HJ-NP-Za-km-z]{16}$/),
      attributes: {
        name: 'ops',
        visibility: 'secret',
        'users-count': 0,
        'sso-team-id': null,
        'allow-member-token-management': true,
      },
      relationships: { organization: { data: { type: 'organizations', id: 'acme' } }, users: { data: [] } },
    });
    expect(Object.values(data.attributes['organization-access'])).not.toContain(true);
    const shown = await workspaces.admin.get(`teams/${data.id}`).expect(200);
    expect(shown.body.data).toEqual(data);
    const listed = await workspaces.admin.get('organizations/acme/teams?filter[names]=ops').expect(200);
    expect(listed.body.data).toEqual([data]);
  });

  it.each([
    ['no name', {}, "Name can't be blank", '/data/attributes/name'],
    ['an empty name', { name: '' }, "Name can't be blank", '/data/attributes/name'],
    ['a name of the wrong type', { name: 7 }, 'Name must be a string', '/data/attributes/name'],
    ['a Cyrillic look-alike', { name: 'оps' }, 'Name may only contain', '/data/attributes/name'],
    ['SQL in the name', { name: "x'; DROP TABLE team; --" }, 'Name may only contain', '/data/attributes/name'],
    [
      'an unknown visibility',
      { name: 'a', visibility: 'public' },
      'Visibility must be one of',
      '/data/attributes/visibility',
    ],
    [
      'a right that is not a boolean',
      { name: 'a', 'organization-access': { 'manage-modules': 'yes' } },
      'Manage modules must be a boolean',
      '/data/attributes/organization-access/manage-modules',
    ],
    [
      'rights that contradict each other',
      { name: 'a', 'organization-access': { 'manage-projects': true, 'manage-workspaces': false } },
      'Manage projects requires manage-workspaces',
      '/data/attributes/organization-access/manage-projects',
    ],
  ])('refuses a team with %s', async (_what, attributes, detail, pointer) => {
    const { body } = await workspaces.admin.post('organizations/acme/teams', teamBody(attributes)).expect(422);
    expect(body.errors).toEqual([
      { status: '422', title: 'invalid attribute', detail: expect.stringContaining(detail), source: { pointer } },
    ]);
  });

  it('names every wrong attribute in a separate error', async () => {
    const wrong = teamBody({ name: '', visibility: 'x', 'allow-member-token-management': 1 });
    const { body } = await workspaces.admin.post('organizations/acme/teams', wrong).expect(422);
    expect(body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer).sort()).toEqual([
      '/data/attributes/allow-member-token-management',
      '/data/attributes/name',
      '/data/attributes/visibility',
    ]);
  });

  it('accepts one of twenty equal creates', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        workspaces.admin.post('organizations/acme/teams', teamBody({ name: i % 2 ? 'RACE' : 'race' })),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array(19).fill(422)]);
    const lost = answers.find(({ status }) => status === 422)!;
    expect(lost.body.errors).toEqual([
      {
        status: '422',
        title: 'invalid attribute',
        detail: 'Name has already been taken',
        source: { pointer: '/data/attributes/name' },
      },
    ]);
  });

  it('keeps name, visibility, rights and existence of the owners team', async () => {
    const { body } = await workspaces.admin.get('organizations/acme/teams?filter[names]=owners').expect(200);
    const owners = body.data[0];
    expect(Object.values(owners.attributes['organization-access'])).not.toContain(false);
    expect(owners.attributes.permissions).toMatchObject({ 'can-destroy': false, 'can-update-membership': true });
    for (const change of [
      { name: 'bosses' },
      { visibility: 'organization' },
      { 'organization-access': { 'manage-modules': true } },
    ]) {
      const refused = await workspaces.admin.patch(`teams/${owners.id}`, teamBody(change)).expect(422);
      expect(refused.body.errors[0].detail).toContain('cannot be changed for the owners team');
    }
    await workspaces.admin.patch(`teams/${owners.id}`, teamBody({ name: 'owners', visibility: 'secret' })).expect(200);
    await workspaces.admin.delete(`teams/${owners.id}`).expect(404);
    const [user] = owners.relationships.users.data;
    const path = `teams/${owners.id}/relationships/users`;
    const last = await workspaces.admin.delete(path, { data: [user] }).expect(422);
    expect(last.body.errors[0].detail).toBe('The owners team must keep at least one member');
  });

  it('accepts members by id, by user name and by membership, and refuses strangers', async () => {
    const id = await team(workspaces, 'acme', 'members');
    const [ann, ben] = [await member(workspaces, 'acme'), await member(workspaces, 'acme')];
    const stranger = await workspaces.person('stranger');
    const path = `teams/${id}/relationships/users`;
    await workspaces.admin.post(path, { data: [{ type: 'users', id: ann.id }] }).expect(204);
    await workspaces.admin.post(path, { data: [{ type: 'users', id: ben.username.toUpperCase() }] }).expect(204);
    await workspaces.admin.post(path, { data: [{ type: 'users', id: stranger.username }] }).expect(404);
    await workspaces.admin.post(path, { data: [{ type: 'teams', id: ann.id }] }).expect(422);
    const shown = await workspaces.admin.get(`teams/${id}?include=users,organization-memberships`).expect(200);
    expect(shown.body.data.attributes['users-count']).toBe(2);
    expect(shown.body.included.map(({ type }: { type: string }) => type).sort()).toEqual([
      'organization-memberships',
      'organization-memberships',
      'users',
      'users',
    ]);
    const byMembership = `teams/${id}/relationships/organization-memberships`;
    const data = [{ type: 'organization-memberships', id: ann.membershipId }];
    await workspaces.admin.delete(byMembership, { data }).expect(204);
    const left = await workspaces.admin.get(byMembership).expect(200);
    expect(left.body.data.map(({ id: found }: { id: string }) => found)).toEqual([ben.membershipId]);
    await workspaces.admin.get(`teams/${id}?include=owner`).expect(400);
  });

  it('never treats the id of a non-member as the user name of a member', async () => {
    const id = await team(workspaces, 'acme', 'trusted');
    const [sly, gone] = [await member(workspaces, 'acme'), await workspaces.person('gone')];
    const rename = (username: string) => sly.patch('account/update', resource('users', { username }));
    for (const username of [gone.id, gone.id.toUpperCase()]) {
      const { body } = await rename(username).expect(422);
      expect(body.errors[0].detail).toBe('Username must not look like the id of a user');
    }
    // A team may have got such a name before such names were refused.
    const { prisma } = workspaces.service.db;
    await prisma.user.update({ where: { id: sly.id }, data: { username: gone.id } });
    const data = [{ type: 'users', id: gone.id }];
    await workspaces.admin.post(`teams/${id}/relationships/users`, { data }).expect(404);
  });

  it('hides secret teams from members who are not in them', async () => {
    const secret = await team(workspaces, 'acme', 'hidden');
    const open = await team(workspaces, 'acme', 'open', [], { visibility: 'organization' });
    const insider = await member(workspaces, 'acme', [secret]);
    const outsider = await member(workspaces, 'acme');
    await insider.get(`teams/${secret}`).expect(200);
    const hidden = await outsider.get(`teams/${secret}`).expect(404);
    const absent = await outsider.get('teams/team-absent').expect(404);
    expect(hidden.body).toEqual(absent.body);
    await outsider.get(`teams/${open}`).expect(200);
    const listed = await outsider.get('organizations/acme/teams?page[size]=100').expect(200);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toContain(open);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).not.toContain(secret);
    expect(listed.body.meta.pagination['total-count']).toBe(listed.body.data.length);
  });

  it('does not let those who manage members add themselves to a team with more rights', async () => {
    const powerful = await team(workspaces, 'acme', 'powerful', ['manage-workspaces'], { visibility: 'organization' });
    const humble = await team(workspaces, 'acme', 'humble', [], { visibility: 'organization' });
    const clerks = await team(workspaces, 'acme', 'clerks', ['manage-membership'], { visibility: 'organization' });
    const clerk = await member(workspaces, 'acme', [clerks]);
    const data = [{ type: 'users', id: clerk.username }];
    await clerk.post(`teams/${humble}/relationships/users`, { data }).expect(204);
    const refused = await clerk.post(`teams/${powerful}/relationships/users`, { data }).expect(404);
    expect(refused.body.errors[0]).toMatchObject({ code: 'permission-missing' });
  });

  it('requires a separate right for giving rights (WV.2)', async () => {
    const managers = await team(workspaces, 'acme', 'managers', ['manage-teams'], { visibility: 'organization' });
    const manager = await member(workspaces, 'acme', [managers]);
    const open = { visibility: 'organization' };
    await manager.post('organizations/acme/teams', teamBody({ name: 'plain', ...open })).expect(201);
    const rights = { 'organization-access': { 'manage-workspaces': true } };
    await manager.post('organizations/acme/teams', teamBody({ name: 'strong', ...rights })).expect(404);
    await manager.patch(`teams/${managers}`, teamBody({ name: 'renamed' })).expect(200);
    await manager.patch(`teams/${managers}`, teamBody(rights)).expect(404);
    await manager.delete(`teams/${managers}`).expect(204);
    await manager.post('organizations/acme/teams', teamBody({ name: 'later' })).expect(404);
  });

  it('finds teams by part of a name in any case, page by page', async () => {
    await workspaces.organization('paged');
    for (const name of ['alpha one', 'Alpha-two', 'beta']) await team(workspaces, 'paged', name);
    const found = await workspaces.admin
      .get('organizations/paged/teams?q=ALPHA&page[size]=1&page[number]=2')
      .expect(200);
    expect(found.body.data[0].attributes.name).toBe('Alpha-two');
    expect(found.body.meta.pagination).toMatchObject({
      'total-count': 2,
      'total-pages': 2,
      'prev-page': 1,
      'next-page': null,
    });
    for (const page of ['page[size]=0', 'page[number]=-1', 'page[size]=x']) {
      const bad = await workspaces.admin.get(`organizations/paged/teams?${page}`).expect(400);
      expect(bad.body.errors[0].source.parameter).toMatch(/^page\[/);
    }
  });

  it('accepts tokens of the organization, and of a team within its rights', async () => {
    const id = await team(workspaces, 'acme', 'bots', ['manage-teams'], { visibility: 'organization' });
    const bots = await teamToken(workspaces, id);
    await bots.post('organizations/acme/teams', teamBody({ name: 'by-bots' })).expect(201);
    const organization = await organizationToken(workspaces, 'acme');
    await organization.post('organizations/acme/teams', teamBody({ name: 'by-organization' })).expect(201);
    await workspaces.organization('elsewhere');
    await organization.post('organizations/elsewhere/teams', teamBody({ name: 'x' })).expect(404);
    await workspaces.anyone.post('organizations/acme/teams', teamBody({ name: 'x' })).expect(401);
  });

  it.each([
    ['teams', { name: 'etag team' }, 'organizations/acme/teams'],
    ['projects', { name: 'etag project' }, 'organizations/acme/projects'],
    ['varsets', { name: 'etag set' }, 'organizations/acme/varsets'],
  ])('changes %s at the revision that was read, for only one of many callers', async (type, attributes, collection) => {
    const made = await workspaces.admin.post(collection, resource(type, attributes)).expect(201);
    const path = `${type}/${made.body.data.id}`;
    const { etag } = (await workspaces.admin.get(path).expect(200)).headers;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        workspaces.admin.patch(path, resource(type, { name: `${attributes.name} ${i}` })).set('If-Match', etag!),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)]);
    await workspaces.admin.patch(path, resource(type, {})).set('If-Match', '*').expect(200);
  });
});
