import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { startSecrets } from '../../../test/start-secrets';

describe('approle', () => {
  const clock = manualClock(Date.UTC(2027, 0, 1));
  const secrets = startSecrets({ clock });
  let roles = 0;

  async function role(fields: object = {}) {
    await secrets.root.write('sys/auth/approle', { type: 'approle' });
    const name = `role${++roles}`;
    const path = `auth/approle/role/${name}`;
    await secrets.root.write(path, fields).expect(204);
    const roleId = (await secrets.root.read(`${path}/role-id`).expect(200)).body.data.role_id as string;
    const secretId = async (body: object = {}) =>
      (await secrets.root.write(`${path}/secret-id`, body).expect(200)).body.data;
    const login = (secret_id?: string) => secrets.anonymous.write('auth/approle/login', { role_id: roleId, secret_id });
    return { name, path, roleId, secretId, login };
  }

  it('stores roles with defaults, and changes only the named fields', async () => {
    const { path, name } = await role({ token_policies: 'dev', secret_id_ttl: '10m' });
    const { body } = await secrets.root.read(path).expect(200);
    expect(body.data).toEqual({
      bind_secret_id: true,
      local_secret_ids: false,
      secret_id_bound_cidrs: null,
      secret_id_num_uses: 0,
      secret_id_ttl: 600,
      token_bound_cidrs: [],
      token_explicit_max_ttl: 0,
      token_max_ttl: 0,
      token_no_default_policy: false,
      token_num_uses: 0,
      token_period: 0,
      token_policies: ['dev'],
      token_ttl: 0,
      token_type: 'default',
      token_strictly_bind_ip: false,
    });
    await secrets.root.write(path, { secret_id_num_uses: 4 }).expect(204);
    expect(
      (await secrets.root.read(path.toUpperCase().replace('AUTH/APPROLE/ROLE', 'auth/approle/role'))).body.data,
    ).toMatchObject({
      secret_id_num_uses: 4,
      secret_id_ttl: 600,
    });
    expect((await secrets.root.list('auth/approle/role').expect(200)).body.data.keys).toContain(name);
    await secrets.root.delete(path).expect(204);
    await secrets.root.delete(path).expect(204);
    await secrets.root.read(path).expect(404);
  });

  it('shows the accessor of a wrapped secret id, to look it up and destroy it', async () => {
    const { path } = await role();
    const wrapping = secrets.as(secrets.rootToken, { 'X-Service-Wrap-TTL': '60' });
    const { wrap_info } = (await wrapping.write(`${path}/secret-id`, {}).expect(200)).body;
    const { body } = await secrets.anonymous.write('sys/wrapping/unwrap', { token: wrap_info.token }).expect(200);
    expect(wrap_info.wrapped_accessor).toBe(body.data.secret_id_accessor);
  });

  it('logs a machine in with role id and secret id', async () => {
    const { name, roleId, secretId, login, path } = await role({ token_policies: 'dev', token_ttl: '20m' });
    const created = await secretId({ metadata: '{"host":"web1"}' });
    expect(created).toEqual({
      secret_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      secret_id_accessor: expect.stringMatching(/^[0-9a-f-]{36}$/),
      secret_id_num_uses: 0,
      secret_id_ttl: 0,
    });
    const { body } = await login(created.secret_id).expect(200);
    expect(body.auth).toMatchObject({
      token_policies: ['default', 'dev'],
      metadata: { host: 'web1', role_name: name },
      lease_duration: 1200,
    });
    const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data).toMatchObject({ display_name: 'approle', path: 'auth/approle/login' });
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases).toMatchObject([{ name: roleId }]);
    await secrets.as(body.auth.client_token).write('auth/token/renew-self').expect(200);
    await secrets.root.delete(path).expect(204);
    await secrets
      .as(body.auth.client_token)
      .write('auth/token/renew-self')
      .expect(400, /does not exist during renewal/);
    await login(created.secret_id).expect(400, { errors: ['invalid role or secret ID'] });
  });

  it('lets the role id be chosen, once', async () => {
    const { path, roleId } = await role({ role_id: 'my-app' });
    expect(roleId).toBe('my-app');
    await secrets.root.write(`${path}/role-id`, { role_id: 'my-app-2' }).expect(204);
    expect((await secrets.root.read(`${path}/role-id`)).body.data.role_id).toBe('my-app-2');
    await secrets.root
      .write('auth/approle/role/rival', { role_id: 'my-app-2' })
      .expect(400, { errors: ['role_id already in use'] });
    await secrets.root.write('auth/approle/role/rival', { role_id: 'my-app' }).expect(204);
    await secrets.root.write(`${path}/role-id`, {}).expect(400, { errors: ['missing role_id'] });
  });

  it('accepts a secret id of one use once, however many logins come at the same time', async () => {
    const { secretId, login } = await role({ secret_id_num_uses: 1 });
    for (let round = 0; round < 5; round += 1) {
      const { secret_id } = await secretId();
      const answers = await Promise.all(Array.from({ length: 20 }, () => login(secret_id)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });

  it('counts uses down and ends with the last', async () => {
    const { secretId, login, path } = await role({ secret_id_num_uses: 3 });
    const { secret_id } = await secretId({ num_uses: 2 });
    await login(secret_id).expect(200);
    const { body } = await secrets.root.write(`${path}/secret-id/lookup`, { secret_id }).expect(200);
    expect(body.data.secret_id_num_uses).toBe(1);
    await login(secret_id).expect(200);
    await login(secret_id).expect(400);
    await secrets.root.write(`${path}/secret-id/lookup`, { secret_id }).expect(204);
  });

  it('ends secret ids with their lifetime and removes them', async () => {
    const { secretId, login, path } = await role({ secret_id_ttl: 60 });
    const { secret_id, secret_id_ttl } = await secretId();
    expect(secret_id_ttl).toBe(60);
    clock.advance(59_000);
    await login(secret_id).expect(200);
    clock.advance(1_000);
    await login(secret_id).expect(400, { errors: ['invalid role or secret ID'] });
    await secrets.root.list(`${path}/secret-id`).expect(404);
    const tidy = await secrets.root.write('auth/approle/tidy/secret-id').expect(202);
    expect(tidy.body.warnings[0]).toMatch(/^Tidy operation successfully started/);
  });

  it('lists, looks up and destroys secret ids, by themselves and by accessor', async () => {
    const { secretId, login, path } = await role();
    const [one, two] = [await secretId({ cidr_list: '127.0.0.1/32' }), await secretId()];
    const listed = await secrets.root.list(`${path}/secret-id`).expect(200);
    expect(listed.body.data.keys).toEqual([one.secret_id_accessor, two.secret_id_accessor].sort());
    const looked = await secrets.root.write(`${path}/secret-id/lookup`, { secret_id: one.secret_id }).expect(200);
    expect(looked.body.data).toEqual({
      cidr_list: ['127.0.0.1/32'],
      creation_time: expect.stringMatching(/^2027-/),
      expiration_time: '0001-01-01T00:00:00Z',
      last_updated_time: expect.stringMatching(/^2027-/),
      metadata: {},
      secret_id_accessor: one.secret_id_accessor,
      secret_id_num_uses: 0,
      secret_id_ttl: 0,
      token_bound_cidrs: [],
    });
    const byAccessor = await secrets.root
      .write(`${path}/secret-id-accessor/lookup`, { secret_id_accessor: one.secret_id_accessor })
      .expect(200);
    expect(byAccessor.body.data).toEqual(looked.body.data);
    await secrets.root.write(`${path}/secret-id/destroy`, { secret_id: one.secret_id }).expect(204);
    await login(one.secret_id).expect(400);
    await secrets.root
      .write(`${path}/secret-id-accessor/destroy`, { secret_id_accessor: two.secret_id_accessor })
      .expect(204);
    await login(two.secret_id).expect(400);
    await secrets.root
      .write(`${path}/secret-id-accessor/lookup`, { secret_id_accessor: two.secret_id_accessor })
      .expect(404, { errors: [`failed to find accessor entry for secret_id_accessor: "${two.secret_id_accessor}"`] });
  });

  it('accepts secret ids that the client chose', async () => {
    const { path, login } = await role();
    await secrets.root.write(`${path}/custom-secret-id`, { secret_id: 'mine' }).expect(200);
    await login('mine').expect(200);
    await secrets.root
      .write(`${path}/custom-secret-id`, { secret_id: 'mine' })
      .expect(400, { errors: ['SecretID is already registered'] });
    await secrets.root.write(`${path}/custom-secret-id`, {}).expect(400, { errors: ['missing secret_id'] });
  });

  it('binds secret ids and tokens to addresses', async () => {
    const { secretId, login } = await role();
    await login((await secretId({ cidr_list: '10.0.0.0/8' })).secret_id).expect(403, { errors: ['permission denied'] });
    const bound = await login((await secretId({ token_bound_cidrs: '10.0.0.0/8' })).secret_id).expect(200);
    await secrets.as(bound.body.auth.client_token).read('auth/token/lookup-self').expect(403);
    const open = await role({ bind_secret_id: false, token_bound_cidrs: '127.0.0.0/8' });
    await open.login().expect(200);
    const closed = await role({ bind_secret_id: false, secret_id_bound_cidrs: '10.0.0.0/8' });
    await closed.login().expect(403);
  });

  it('keeps secret ids and accessors out of the database', async () => {
    const { secretId, roleId } = await role();
    const created = await secretId();
    const { Client } = await import('pg');
    const client = new Client({ connectionString: secrets.database.url });
    await client.connect();
    const dump = JSON.stringify((await client.query('SELECT t::text FROM entry t')).rows);
    await client.end();
    for (const text of [created.secret_id, created.secret_id_accessor, roleId]) {
      expect(dump).not.toContain(text);
      expect(dump).not.toContain(Buffer.from(text).toString('hex'));
    }
  });

  it('reads, changes and resets each field of a role separately', async () => {
    const { path } = await role({ token_policies: 'a' });
    for (const [endpoint, field, value, shownValue, reset] of [
      ['policies', 'token_policies', 'x,y', ['x', 'y'], []],
      ['secret-id-num-uses', 'secret_id_num_uses', 5, 5, 0],
      ['secret-id-ttl', 'secret_id_ttl', '1m', 60, 0],
      ['secret-id-bound-cidrs', 'secret_id_bound_cidrs', '10.0.0.0/8', ['10.0.0.0/8'], []],
      ['token-bound-cidrs', 'token_bound_cidrs', '10.0.0.0/8', ['10.0.0.0/8'], []],
      ['token-num-uses', 'token_num_uses', 7, 7, 0],
      ['token-max-ttl', 'token_max_ttl', '2h', 7200, 0],
      ['token-ttl', 'token_ttl', '1h', 3600, 0],
      ['period', 'token_period', 30, 30, 0],
      ['bind-secret-id', 'bind_secret_id', true, true, true],
    ] as const) {
      await secrets.root.write(`${path}/${endpoint}`, { [field]: value }).expect(204);
      expect((await secrets.root.read(`${path}/${endpoint}`).expect(200)).body.data[field]).toEqual(shownValue);
      expect((await secrets.root.read(path)).body.data[field]).toEqual(shownValue);
      await secrets.root.delete(`${path}/${endpoint}`).expect(204);
      expect((await secrets.root.read(`${path}/${endpoint}`)).body.data[field]).toEqual(reset);
    }
    expect((await secrets.root.read(`${path}/local-secret-ids`).expect(200)).body.data).toEqual({
      local_secret_ids: false,
    });
  });

  it.each<[object, string]>([
    [{ bind_secret_id: false }, 'at least one constraint should be enabled on the role'],
    [{ secret_id_num_uses: -1 }, 'secret_id_num_uses cannot be negative'],
    [{ secret_id_bound_cidrs: 'zz' }, 'error parsing address "zz": Unable to convert zz to an IP address or block'],
    [{ token_ttl: 2, token_max_ttl: 1 }, "'token_ttl' cannot be greater than 'token_max_ttl'"],
  ])('refuses the role %j', async (fields, message) => {
    await role();
    await secrets.root.write('auth/approle/role/bad', fields).expect(400, { errors: [message] });
    await secrets.root.read('auth/approle/role/bad').expect(404);
  });

  it('refuses bad secret ids and logins', async () => {
    const { path } = await role({ secret_id_num_uses: 2, secret_id_ttl: 60, secret_id_bound_cidrs: '10.0.0.0/8' });
    for (const [body, message] of [
      [{ num_uses: 3 }, "num_uses cannot be higher than the role's secret_id_num_uses"],
      [{ num_uses: 0 }, "num_uses cannot be higher than the role's secret_id_num_uses"],
      [{ num_uses: -1 }, 'num_uses cannot be negative'],
      [{ ttl: 61 }, "ttl cannot be higher than the role's secret_id_ttl"],
      [{ metadata: 'nope' }, 'metadata must be the JSON text of an object of strings'],
      [{ metadata: '{"a":1}' }, 'metadata must be the JSON text of an object of strings'],
      [
        { cidr_list: '11.0.0.0/8' },
        'failed to verify subset relationship between CIDR blocks on the role "10.0.0.0/8" and CIDR block "11.0.0.0/8"',
      ],
    ] as const) {
      await secrets.root.write(`${path}/secret-id`, body).expect(400, { errors: [message] });
    }
    await secrets.root
      .write('auth/approle/role/nosuch/secret-id', {})
      .expect(400, { errors: ['role "nosuch" does not exist'] });
    await secrets.root
      .write(path, { local_secret_ids: true })
      .expect(400, { errors: ['local_secret_ids can only be modified during role creation'] });
    await secrets.anonymous.write('auth/approle/login', {}).expect(400, { errors: ['missing role_id'] });
    await secrets.anonymous
      .write('auth/approle/login', { role_id: 'zz', secret_id: 'zz' })
      .expect(400, { errors: ['invalid role or secret ID'] });
    const { login } = await role();
    await login().expect(400, { errors: ['missing secret_id'] });
    await login('zz').expect(400, { errors: ['invalid role or secret ID'] });
  });
});
