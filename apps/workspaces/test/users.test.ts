import { describe, expect, it } from '@jest/globals';
import { member } from './members';
import { resource, startWorkspaces } from './start-workspaces';

describe('people', () => {
  const workspaces = startWorkspaces();

  it('see their own account with its address and permissions', async () => {
    const ann = await workspaces.person('ann');
    const { body } = await ann.get('account/details').expect(200);
    expect(body.data).toMatchObject({
      id: ann.id,
      type: 'users',
      attributes: {
        username: 'ann',
        email: 'ann@example.com',
        'unconfirmed-email': null,
        'is-service-account': false,
        'is-site-admin': false,
        'is-sso-login': false,
        'is-confirmed': true,
        'two-factor': { enabled: false, verified: false },
        permissions: { 'can-create-organizations': true, 'can-change-email': true, 'can-manage-user-tokens': true },
      },
      relationships: { 'authenticated-resource': { data: { type: 'users', id: ann.id } } },
      links: { self: `/api/v2/users/${ann.id}` },
    });
  });

  it('change their own name and address, except to those of others', async () => {
    const ben = await workspaces.person('ben');
    const send = (attributes: object) => ben.patch('account/update', resource('users', attributes));
    const { body } = await send({ username: 'benjamin', email: 'b@example.com' }).expect(200);
    const pending = { username: 'benjamin', email: 'ben@example.com', 'unconfirmed-email': 'b@example.com' };
    expect(body.data.attributes).toMatchObject(pending);
    await send({}).expect(200);
    const cases: [object, string][] = [
      [{ username: 'ADMIN' }, 'Username has already been taken'],
      [{ email: 'nonsense' }, 'Email is invalid'],
      [{ username: '' }, "Username can't be blank"],
      [{ username: 'аdmin' }, 'Username may only contain'],
    ];
    for (const [attributes, detail] of cases) {
      const refused = await send(attributes).expect(422);
      expect(refused.body.errors[0]).toMatchObject({
        title: 'invalid attribute',
        detail: expect.stringContaining(detail),
        source: { pointer: `/data/attributes/${Object.keys(attributes)[0]}` },
      });
    }
  });

  it('see people who share an organization, without their address, and no one else', async () => {
    await workspaces.organization('acme');
    await workspaces.organization('elsewhere');
    const [one, two] = [await member(workspaces, 'acme'), await member(workspaces, 'acme')];
    const stranger = await member(workspaces, 'elsewhere');
    const { body } = await one.get(`users/${two.id}`).expect(200);
    expect(body.data.attributes.username).toBe(two.username);
    expect(body.data.attributes).not.toHaveProperty('email');
    await one.get(`users/${stranger.id}`).expect(404);
    await one.get('users/user-absent').expect(404);
    const own = await one.get(`users/${one.id}`).expect(200);
    expect(own.body.data.attributes.email).toBe(`${one.username}@example.com`);
  });

  it('cannot get the same name by simultaneous requests', async () => {
    const [one, two] = [await workspaces.person('first-racer'), await workspaces.person('second-racer')];
    const answers = await Promise.all(
      [one, two].map((client) => client.patch('account/update', resource('users', { username: 'champion' }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  });
});
