import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { member, organizationToken, team } from './members';
import { type Client, PASSWORD, resource, startWorkspaces } from './start-workspaces';

const tokenBody = (attributes: object = {}) => resource('authentication-tokens', attributes);

describe('kinds of token', () => {
  const nowMs = Date.parse('2026-02-28T12:00:00Z');
  const workspaces = startWorkspaces({ now: () => nowMs });
  const { admin } = workspaces;
  const path = 'organizations/acme/authentication-token';
  const ofTrails = `${path}?token=audit-trails`;
  const made = async (at: string, attributes: object = {}) =>
    (await admin.post(at, tokenBody(attributes)).expect(201)).body.data;

  beforeAll(() => workspaces.organization('acme'));

  it('include two of an organization, and a change of one token keeps the other', async () => {
    const whole = await organizationToken(workspaces, 'acme');
    await admin.get(ofTrails).expect(404);
    await admin.delete(ofTrails).expect(404);
    const first = await made(ofTrails);
    const second = await made(ofTrails);
    const client = workspaces.as(second.attributes.token);
    await workspaces.as(first.attributes.token).get('organization/audit-trail').expect(401);
    await client.get('organization/audit-trail').expect(200);
    expect((await admin.get(ofTrails).expect(200)).body.data.id).toBe(second.id);
    const shown = await admin.get(path).expect(200);
    expect(shown.body.data.id).not.toBe(second.id);
    await admin.get(`${path}?token=everything`).expect(400);
    await admin.delete(ofTrails).expect(204);
    await client.get('organization/audit-trail').expect(401);
    await whole.get('organizations/acme').expect(200);
  });

  it('for audit trails read these, and reach nothing else', async () => {
    const client = workspaces.as((await made(ofTrails)).attributes.token);
    const word = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;
    const operations = resources.flatMap(({ endpoints }) => endpoints).filter(({ auth }) => auth !== 'none');
    const reached: string[] = [];
    for (const { method, path: pattern, outside, dialect } of operations as Endpoint[]) {
      const there = pattern.replace(':organization_name', 'acme').replace(/:\w+/g, 'x');
      const { status } = await client[word[method]](outside ? there : `/api/v2${there}`);
      // In other dialects the token is unknown.
      if (status !== (dialect === undefined ? 404 : 401)) reached.push(`${method} ${pattern}: ${status}`);
    }
    expect(reached.sort()).toEqual([
      'GET /organization/audit-trail: 200',
      'GET /organizations/:organization_name/audit-events: 200',
    ]);
    await workspaces.organization('other');
    await client.get('organizations/other/audit-events').expect(404);
  });

  it('show the trail in the format that collectors read, by pages and since a time', async () => {
    const client = await organizationToken(workspaces, 'acme');
    const since = new Date(Date.now() - 60_000).toISOString();
    await workspaces.workspace('acme', 'traced');
    const { body } = await client.get(`organization/audit-trail?since=${since}`).expect(200);
    const [created] = body.data.filter(
      ({ resource: { type } }: { resource: { type: string } }) => type === 'workspace',
    );
    expect(created).toMatchObject({
      version: '0',
      type: 'Resource',
      timestamp: expect.stringMatching(/Z$/),
      auth: {
        accessor_id: expect.stringMatching(/^user-/),
        type: 'Client',
        organization_id: expect.stringMatching(/^org-/),
      },
      request: { id: expect.any(String) },
      resource: { id: expect.stringMatching(/^ws-/), action: 'create', meta: { name: 'traced' } },
    });
    expect(body.pagination).toMatchObject({ current_page: 1, prev_page: null, total_count: body.data.length });
    const second = await client.get('organization/audit-trail?page[size]=1&page[number]=2').expect(200);
    expect(second.body.data).toHaveLength(1);
    expect(second.body.data[0].id).not.toBe(body.data[0].id);
    expect(second.body.pagination).toMatchObject({ current_page: 2, prev_page: 1, next_page: 3 });
    const later = new Date(Date.now() + 60_000).toISOString();
    const none = await client.get(`organization/audit-trail?since=${later}`).expect(200);
    expect(none.body).toMatchObject({ data: [], pagination: { total_count: 0, total_pages: 1 } });
    await client.get('organization/audit-trail?since=soon').expect(400);
    await admin.get('organization/audit-trail').expect(404);
  });

  it('of a team can be many with different descriptions, and one without a description', async () => {
    const id = await team(workspaces, 'acme', 'ops');
    const many = `teams/${id}/authentication-tokens`;
    const plain = await made(`teams/${id}/authentication-token`);
    const ci = await made(many, { description: 'ci' });
    const cd = await made(many, { description: 'cd', 'expired-at': '2026-03-01T00:00:00.000Z' });
    expect(cd.attributes).toMatchObject({ description: 'cd', 'expired-at': '2026-03-01T00:00:00.000Z' });
    expect(cd.relationships.team.data.id).toBe(id);
    const taken = await admin.post(many, tokenBody({ description: 'ci' })).expect(422);
    expect(taken.body.errors[0]).toMatchObject({
      title: 'invalid attributes',
      detail: 'Validation failed: Description has already been taken',
      source: { pointer: '/data/attributes/description' },
    });
    const alive = async (...tokens: { attributes: { token: string } }[]) =>
      Promise.all(tokens.map(async (one) => (await workspaces.as(one.attributes.token).get('account/details')).status));
    const empty = await made(many, { description: '' });
    expect((await admin.get(`teams/${id}/authentication-token`).expect(200)).body.data).toMatchObject({
      id: empty.id,
      attributes: { description: '' },
    });
    const next = await made(many);
    expect(next.attributes).toHaveProperty('description', null);
    expect(await alive(plain, empty, ci, cd, next)).toEqual([401, 401, 200, 200, 200]);
    expect((await admin.get(`teams/${id}/authentication-token`).expect(200)).body.data.id).toBe(next.id);
    const listed = await admin.get(many).expect(200);
    expect(listed.body.data.map((token: { id: string }) => token.id).sort()).toEqual([ci.id, cd.id, next.id].sort());
    const inOrganization = await admin.get('organizations/acme/team-tokens').expect(200);
    expect(inOrganization.body.meta.pagination['total-count']).toBe(3);
    await admin.delete(`teams/${id}/authentication-token`).expect(204);
    await admin.delete(`authentication-tokens/${ci.id}`).expect(204);
    expect(await alive(ci, cd, next)).toEqual([401, 200, 401]);
    const other = await team(workspaces, 'acme', 'others');
    await made(`teams/${other}/authentication-tokens`, { description: 'ci' });
    const outsider = await member(workspaces, 'acme', [other]);
    await outsider.get(many).expect(404);
    await outsider.post(many, tokenBody({ description: 'mine' })).expect(404);
  });

  it('expire after two years by default, and never if that is requested', async () => {
    const id = await team(workspaces, 'acme', 'lasting');
    const person = (await admin.get('account/details').expect(200)).body.data.id;
    for (const at of [path, ofTrails, `teams/${id}/authentication-token`, `users/${person}/authentication-tokens`]) {
      expect((await made(at)).attributes['expired-at']).toBe('2028-02-28T12:00:00.000Z');
      expect((await made(at, { 'expired-at': null })).attributes['expired-at']).toBeNull();
    }
  });

  describe('of people, if an organization accepts none', () => {
    const set = (client: Client, enabled: boolean) =>
      client.patch('organizations/closed', resource('organizations', { 'user-tokens-enabled': enabled }));

    it('are refused with 401, unlike sessions and tokens of teams, until it accepts them again', async () => {
      const owner = await workspaces.person('owner');
      const organization = await workspaces.organization('closed', {}, owner);
      expect(organization.attributes['user-tokens-enabled']).toBe(true);
      const { body: found } = await owner.get('organizations/closed/teams').expect(200);
      const { body } = await owner.post(`teams/${found.data[0].id}/authentication-token`).expect(201);
      const owners = workspaces.as(body.data.attributes.token);
      const { body: workspace } = await owner
        .post('organizations/closed/workspaces', resource('workspaces', { name: 'web' }))
        .expect(201);
      const off = await set(owners, false).expect(200);
      expect(off.body.data.attributes['user-tokens-enabled']).toBe(false);
      const paths = ['organizations/closed', 'organizations/closed/workspaces', `workspaces/${workspace.data.id}`];
      for (const at of paths) {
        const { body: refused } = await owner.get(at).expect(401);
        expect(refused.errors).toEqual([
          {
            status: '401',
            title: 'unauthorized',
            detail: 'the organization does not accept user API tokens: use a team token, or sign in',
          },
        ]);
        await owners.get(at).expect(200);
      }
      await owner.delete(`workspaces/${workspace.data.id}`).expect(401);
      await set(owner, true).expect(401);
      await owner.get('account/details').expect(200);
      const stranger = await workspaces.person('stranger');
      const { body: told } = await stranger.get('organizations/closed').expect(404);
      expect(told.errors).toEqual([{ status: '404', title: 'not found' }]);
      const signIn = resource('sessions', { username: 'owner', password: PASSWORD });
      const { body: session } = await workspaces.anyone.post('session', signIn).expect(201);
      await workspaces.as(session.data.attributes.token).get('organizations/closed/workspaces').expect(200);
      await set(owners, true).expect(200);
      for (const at of paths) await owner.get(at).expect(200);
    });
  });
});
