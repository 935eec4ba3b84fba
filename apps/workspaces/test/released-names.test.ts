import { describe, expect, it } from '@jest/globals';
import { member } from './members';
import { type Client, PASSWORD, resource, startWorkspaces } from './start-workspaces';

describe('a released name', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const create = (by: Client, name: string) =>
    by.post('organizations', resource('organizations', { name, email: 'a@example.com' }));
  /** Creates an organization with a workspace, so that others could refer to its name. */
  const inUse = async (by: Client, name: string) => {
    await create(by, name).expect(201);
    await by.post(`organizations/${name}/workspaces`, resource('workspaces', { name: 'web' })).expect(201);
  };
  const rename = (by: Client, name: string, to: string) =>
    by.patch(`organizations/${name}`, resource('organizations', { name: to }));
  const call = (by: Client, username: string) => by.patch('account/update', resource('users', { username }));
  const reserved = (body: { errors: object[] }, attribute: string) =>
    expect(body.errors[0]).toMatchObject({
      detail: expect.stringContaining('is reserved: another'),
      source: { pointer: `/data/attributes/${attribute}` },
    });

  it('is checked wherever a name is unique beyond one organization', async () => {
    const { rows } = await workspaces.service.pool.query(
      `SELECT tablename AS table FROM pg_indexes WHERE indexdef LIKE 'CREATE UNIQUE%'
          AND indexdef ~ 'lower\\(\\(?(name|username)' AND indexdef NOT LIKE '%organization_id%' ORDER BY 1`,
    );
    const { rows: watched } = await workspaces.service.pool.query(
      `SELECT DISTINCT c.relname AS table FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
         JOIN pg_proc p ON p.oid = t.tgfoid WHERE p.proname = 'refuse_released_name' ORDER BY 1`,
    );
    // Only site administrators may name providers.
    const unwatched = new Set(['sign_in_provider']);
    expect(rows.filter(({ table }) => !unwatched.has(table))).toEqual(watched);
    expect(watched).toHaveLength(2);
  });

  it('is not given to another organization after a rename, in any spelling, and can be taken back by its own', async () => {
    const [owner, stranger] = [await workspaces.person('owner'), await workspaces.person('stranger')];
    await inUse(owner, 'mill');
    await rename(owner, 'mill', 'bakery').expect(200);
    reserved((await create(stranger, 'Mill').expect(422)).body, 'name');
    await create(stranger, 'tower').expect(201);
    reserved((await rename(stranger, 'tower', 'mill').expect(422)).body, 'name');
    // A member of the organization is not an owner.
    await rename(owner, 'bakery', 'mill').expect(200);
    await rename(owner, 'mill', 'Mill').expect(200);
    reserved((await create(stranger, 'bakery').expect(422)).body, 'name');
    await create(owner, 'bakery').expect(201);
  });

  it('is given to the owners of a removed organization, not to its members, even after the rest was deleted', async () => {
    const owner = await workspaces.person('remover');
    await inUse(owner, 'quarry');
    const plain = await member({ ...workspaces, admin: owner }, 'quarry');
    await owner.delete('organizations/quarry').expect(204);
    reserved((await create(plain, 'quarry').expect(422)).body, 'name');
    await workspaces.service.pool.query(
      `DELETE FROM organization WHERE lower(name) = 'quarry' AND removed_at IS NOT NULL`,
    );
    reserved((await create(plain, 'quarry').expect(422)).body, 'name');
    await inUse(owner, 'quarry');
    await owner.delete('organizations/quarry').expect(204);
    await create(admin, 'quarry').expect(201);
  });

  it('of a person stays theirs, regardless of how another account is created', async () => {
    const [alice, eve] = [await workspaces.person('alice'), await workspaces.person('eve')];
    await call(alice, 'alice-two').expect(200);
    reserved((await call(eve, 'ALICE').expect(422)).body, 'username');
    await workspaces.organization('acme');
    const invited = await admin
      .post('organizations/acme/organization-memberships', resource('organization-memberships', { email: 'n@b.co' }))
      .expect(201);
    const link = new URL(invited.body.meta['invite-url']).pathname.replace('/app/', '/api/v2/');
    const chosen = (username: string) => resource('one-time-links', { username, password: PASSWORD });
    reserved((await workspaces.anyone.post(link, chosen('alice')).expect(422)).body, 'username');
    await workspaces.anyone.post(link, chosen('newcomer')).expect(200);
    await expect(
      workspaces.service.pool.query(
        `INSERT INTO user_account (id, username, email) VALUES ('user-x', 'Alice', 'x@y.z')`,
      ),
    ).rejects.toMatchObject({ code: '23505' });
    await call(alice, 'alice').expect(200);
    await admin.delete(`admin/users/${alice.id}`).expect(204);
    reserved((await call(eve, 'alice').expect(422)).body, 'username');
  });

  it('stays reserved, up to ten per holder; older ones are free again', async () => {
    const [burner, bob] = [await workspaces.person('burner'), await workspaces.person('bob')];
    for (let n = 0; n < 14; n++) await call(burner, `wanted-${n}`).expect(200);
    // Names that were given up: burner and thirteen more.
    reserved((await call(bob, 'wanted-3').expect(422)).body, 'username');
    for (const name of ['burner', 'wanted-0', 'wanted-2']) await call(bob, name).expect(200);
    await inUse(burner, 'site-0');
    for (let n = 0; n < 12; n++) await rename(burner, `site-${n}`, `site-${n + 1}`).expect(200);
    reserved((await create(bob, 'site-2').expect(422)).body, 'name');
    await create(bob, 'site-1').expect(201);
  });

  const [anyOld, anyNew] = ['UPDATE organization SET created_at = now() - interval', "WHERE name = 'short'"];
  /** Why others may refer to a name. */
  const uses: Record<string, (owner: Client) => Promise<unknown>> = {
    'a workspace': (owner) => owner.post('organizations/short/workspaces', resource('workspaces', { name: 'web' })),
    'a token': (owner) => owner.post('organizations/short/authentication-token', {}),
    'an invitation': (owner) =>
      owner.post(
        'organizations/short/organization-memberships',
        resource('organization-memberships', { email: 'o@b.co' }),
      ),
    'a Git host': (owner) =>
      owner.post(
        'organizations/short/oauth-clients',
        resource('oauth-clients', {
          'service-provider': 'github',
          'http-url': 'https://github.com',
          'api-url': 'https://api.github.com',
          'oauth-token-string': 'text',
        }),
      ),
    'a day': () => workspaces.service.pool.query(`${anyOld} '25 hours' ${anyNew}`),
  };

  let people = 0;
  const someone = () => workspaces.person(`holder-${++people}`);

  it.each([undefined, ...Object.keys(uses)])('is reserved once others can refer to it: %s', async (use) => {
    const [owner, other] = [await someone(), await someone()];
    for (const end of ['renamed', 'removed']) {
      await create(owner, 'short').expect(201);
      if (use) expect(((await uses[use]!(owner)) as { status?: number }).status ?? 201).toBe(201);
      const to = `long-${owner.id.slice(-8).toLowerCase()}`;
      await (end === 'renamed'
        ? rename(owner, 'short', to).expect(200)
        : owner.delete('organizations/short').expect(204));
      const { status } = await create(other, 'short');
      expect(status).toBe(use === undefined ? 201 : 422);
      if (use === undefined) await other.delete('organizations/short').expect(204);
    }
    await workspaces.service.pool.query("DELETE FROM released_name WHERE name = 'short'");
  });

  it('is listed and freed by site administrators, which the trail records', async () => {
    const [owner, other] = [await someone(), await someone()];
    await inUse(owner, 'harbor');
    await rename(owner, 'harbor', 'harbor-two').expect(200);
    await other.get('admin/reserved-names').expect(404);
    await other.delete('admin/reserved-names/organization-harbor').expect(404);
    const { body } = await admin.get('admin/reserved-names?q=Harbor').expect(200);
    expect(body.data).toMatchObject([
      { id: 'organization-harbor', type: 'reserved-names', attributes: { kind: 'organization', name: 'harbor' } },
    ]);
    await admin.delete('admin/reserved-names/organization-harbor').expect(204);
    await admin.delete('admin/reserved-names/organization-harbor').expect(404);
    const trail = (await admin.get('admin/audit-events').expect(200)).body.data;
    expect(trail.map(({ attributes }: { attributes: { action: string } }) => attributes.action)).toContain(
      'reserved-name.delete',
    );
    await create(other, 'harbor').expect(201);
  });

  it('is not given to a caller who requests it while it is being released', async () => {
    const [owner, stranger] = [await workspaces.person('keeper'), await workspaces.person('snatcher')];
    for (let n = 0; n < 8; n++) {
      await inUse(owner, `shop-${n}`);
      const [, taken] = await Promise.all([rename(owner, `shop-${n}`, `store-${n}`), create(stranger, `shop-${n}`)]);
      expect(taken.status).toBe(422);
    }
  });
});
