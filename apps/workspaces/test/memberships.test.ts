import { describe, expect, it } from '@jest/globals';
import { system } from '../src/kernel/audit/audit';
import { invite as inviteDirectly } from '../src/resources/people/memberships/service';
import { member, team } from './members';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

describe('memberships', () => {
  const workspaces = startWorkspaces();
  const path = 'organizations/acme/organization-memberships';
  const invite = (email: unknown, relationships?: object) =>
    workspaces.admin.post(path, resource('organization-memberships', { email }, relationships));
  const linkOf = (body: { meta: Record<string, string> }) =>
    new URL(body.meta['invite-url']!).pathname.replace('/app/', '/api/v2/');

  it('begin with an invitation of a new person, who chooses name and password by a link that is valid once', async () => {
    await workspaces.organization('acme');
    const { body } = await invite('new@example.com').expect(201);
    expect(body.data).toMatchObject({
      type: 'organization-memberships',
      id: expect.stringMatching(/^ou-/),
      attributes: { status: 'invited', email: 'new@example.com' },
      relationships: { organization: { data: { id: 'acme' } }, teams: { data: [] } },
    });
    expect(body.included).toEqual([
      expect.objectContaining({
        type: 'users',
        id: body.data.relationships.user.data.id,
        attributes: expect.objectContaining({ email: 'new@example.com' }),
      }),
    ]);
    const invited = await workspaces.admin.get(`${path}?include=user`).expect(200);
    const emails = (all: { attributes: { email?: string } }[]) => all.map(({ attributes }) => attributes.email);
    expect(emails(invited.body.included)).toContain('new@example.com');
    const plain = await member(workspaces, 'acme');
    const seen = await plain.get(`${path}?include=user`).expect(200);
    expect(emails(seen.body.included).filter((email) => email !== undefined)).toEqual([
      `${plain.username}@example.com`,
    ]);
    const link = linkOf(body);
    const shown = await workspaces.anyone.get(link).expect(200);
    expect(shown.body.data.attributes).toMatchObject({
      kind: 'invitation',
      organization: 'acme',
      email: 'new@example.com',
      'needs-username': true,
      'needs-password': true,
    });
    const blank = await workspaces.anyone.post(link).expect(422);
    expect(blank.body.errors.map((error: { source: { pointer: string } }) => error.source.pointer)).toEqual([
      '/data/attributes/username',
      '/data/attributes/password',
    ]);
    const chosen = resource('one-time-links', { username: 'newcomer', password: PASSWORD });
    await workspaces.anyone.post(link, chosen).expect(200);
    await workspaces.anyone.post(link, chosen).expect(404);
    await workspaces.anyone.get(link).expect(404);
    const session = resource('sessions', { username: 'newcomer', password: PASSWORD });
    const signedIn = await workspaces.anyone.post('session', session).expect(201);
    const client = workspaces.as(signedIn.body.data.attributes.token);
    await client.get('organizations/acme').expect(200);
    const own = await client.get('organization-memberships').expect(200);
    expect(own.body.data).toEqual([expect.objectContaining({ id: body.data.id })]);
  });

  it('get the account of the signed-in holder of the link, which no one else sees until then', async () => {
    const [ann, eve] = [await workspaces.person('ann'), await workspaces.person('eve')];
    const { body } = await invite('ANN@example.com').expect(201);
    const link = linkOf(body);
    await ann.get('organizations/acme').expect(404);
    await eve.get(`organization-memberships/${body.data.id}`).expect(404);
    // The inviter knows the link: it must not make a person a member without their consent.
    await workspaces.anyone.post(link).expect(422);
    const shown = await ann.get(link).expect(200);
    expect(shown.body.data.attributes).toMatchObject({ 'needs-username': false, 'needs-password': false });
    await ann.post(link).expect(200);
    const { body: joined } = await workspaces.admin.get(`organization-memberships/${body.data.id}`).expect(200);
    expect(joined.data.attributes).toMatchObject({ status: 'active', email: 'ann@example.com' });
    expect(joined.data.relationships.user.data.id).toBe(ann.id);
    expect(body.data.relationships.user.data.id).not.toBe(ann.id);
    await workspaces.admin.get(`users/${body.data.relationships.user.data.id}`).expect(404);
    await eve.post(link).expect(404);
    await ann.get('organizations/acme').expect(200);
    await ann.post(link).expect(404);
  });

  it.each([
    ['no address', undefined, "Email can't be blank"],
    ['no e-mail address', 'text', 'Email is invalid'],
    ['a number', 7, 'Email must be a string'],
  ])('refuse an invitation with %s', async (_what, email, detail) => {
    const { body } = await invite(email).expect(422);
    expect(body.errors).toEqual([
      { status: '422', title: 'invalid attribute', detail, source: { pointer: '/data/attributes/email' } },
    ]);
  });

  it('refuse a second invitation, even if twenty arrive at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => invite('twice@example.com')));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)]);
    const again = await invite('twice@example.com').expect(422);
    expect(again.body.errors[0].detail).toBe('User has already been invited');
  });

  it('include only teams that the inviter may fill', async () => {
    const open = { visibility: 'organization' };
    const [one, strong] = [
      await team(workspaces, 'acme', 'one', [], open),
      await team(workspaces, 'acme', 'strong', ['manage-workspaces'], open),
    ];
    const data = (id: string) => ({ teams: { data: [{ type: 'teams', id }] } });
    const { body } = await invite('teamed@example.com', data(one)).expect(201);
    expect(body.data.relationships.teams.data).toEqual([{ type: 'teams', id: one }]);
    const shown = await workspaces.admin.get(`teams/${one}`).expect(200);
    expect(shown.body.data.relationships.users.data).toEqual([]);
    await invite('x@example.com', data('team-absent')).expect(404);
    const clerks = await team(workspaces, 'acme', 'clerks', ['manage-membership']);
    const clerk = await member(workspaces, 'acme', [clerks]);
    const wanted = resource('organization-memberships', { email: 'y@example.com' }, data(strong));
    await clerk.post(path, wanted).expect(404);
    await clerk.post(path, resource('organization-memberships', { email: 'y@example.com' })).expect(201);
    await (await member(workspaces, 'acme')).post(path, wanted).expect(404);
  });

  it('are counted, filtered and searched', async () => {
    await workspaces.organization('counted');
    const counted = 'organizations/counted/organization-memberships';
    const ben = await member(workspaces, 'counted');
    for (const email of ['a@example.org', 'b@example.org']) {
      await workspaces.admin.post(counted, resource('organization-memberships', { email })).expect(201);
    }
    const emails = async (query: string) => {
      const { body } = await workspaces.admin.get(`${counted}?${query}`).expect(200);
      return [body.data.map((row: { attributes: { email: string } }) => row.attributes.email), body.meta];
    };
    const [all, meta] = await emails('');
    expect(all).toHaveLength(4);
    expect(meta['status-counts']).toEqual({ invited: 2, active: 2, total: 4 });
    expect(meta.pagination['total-count']).toBe(4);
    expect((await emails('filter[status]=invited'))[0]).toEqual(['a@example.org', 'b@example.org']);
    expect((await emails('filter[email]=B@example.org,other@x.y'))[0]).toEqual(['b@example.org']);
    expect((await emails(`q=${ben.username.toUpperCase()}`))[0]).toHaveLength(1);
    expect((await emails('page[number]=999&page[size]=100'))[1].pagination).toMatchObject({ 'current-page': 999 });
    await workspaces.admin.get(`${counted}?include=users`).expect(400);
  });

  it('end with all their rights; people in no other organization are deleted, and owners are kept', async () => {
    await workspaces.organization('left');
    const leaver = await member(workspaces, 'left');
    await leaver.get('organizations/left').expect(200);
    await leaver.delete(`organization-memberships/${leaver.membershipId}`).expect(204);
    await leaver.get('organizations/left').expect(404);
    await leaver.get('account/details').expect(200);
    const body = resource('organization-memberships', { email: 'gone@example.org' });
    const invited = await workspaces.admin.post('organizations/left/organization-memberships', body).expect(201);
    await workspaces.admin.delete(`organization-memberships/${invited.body.data.id}`).expect(204);
    await workspaces.admin.get(`users/${invited.body.data.relationships.user.data.id}`).expect(404);
    const own = await workspaces.admin
      .get('organizations/left/organization-memberships?filter[status]=active')
      .expect(200);
    const refused = await workspaces.admin.delete(`organization-memberships/${own.body.data[0].id}`).expect(403);
    expect(refused.body.errors[0]).toMatchObject({ title: 'forbidden', detail: expect.stringContaining('own') });
    const clerks = await team(workspaces, 'left', 'clerks', ['manage-membership']);
    const clerk = await member(workspaces, 'left', [clerks]);
    await clerk.delete(`organization-memberships/${own.body.data[0].id}`).expect(404);
  });

  it('are limited to the number of people that a plan allows', async () => {
    const { prisma } = workspaces.service.db;
    await workspaces.organization('small');
    const { env, db } = workspaces.service;
    const { id } = await prisma.organization.findFirstOrThrow({ where: { name: 'small' } });
    const inviting = { organizationId: id, userLimit: 2, mayGive: () => true, keyring: env.keyring, now: env.now() };
    await inviteDirectly(db, system, inviting, 'second@example.org', []);
    await expect(inviteDirectly(db, system, inviting, 'third@example.org', [])).rejects.toMatchObject({
      kind: 'malformed',
      message: 'The plan of this organization allows 2 users',
    });
  });
});
