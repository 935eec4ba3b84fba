import { describe, expect, it, jest } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { startSecrets } from '../../../test/start-secrets';
import { Passwords } from './password';

describe('userpass', () => {
  const clock = manualClock(Date.UTC(2027, 0, 1));
  const secrets = startSecrets({ clock });
  const mounted = async () => {
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' });
  };
  const login = (name: string, password: string) =>
    secrets.anonymous.write(`auth/userpass/login/${name}`, { password });
  const user = (name: string, fields: object = {}) =>
    secrets.root.write(`auth/userpass/users/${name}`, { password: 'right', ...fields }).expect(204);

  it('stores users with their token parameters, and never shows a password', async () => {
    await mounted();
    await user('Bob', { token_policies: 'dev,ops', token_ttl: '1h', token_max_ttl: 7200 });
    const { body } = await secrets.root.read('auth/userpass/users/bob').expect(200);
    expect(body.data).toEqual({
      token_bound_cidrs: [],
      token_explicit_max_ttl: 0,
      token_max_ttl: 7200,
      token_no_default_policy: false,
      token_num_uses: 0,
      token_period: 0,
      token_policies: ['dev', 'ops'],
      token_ttl: 3600,
      token_type: 'default',
      token_strictly_bind_ip: false,
    });
    await secrets.root.write('auth/userpass/users/bob', { token_num_uses: 3 }).expect(204);
    expect((await secrets.root.read('auth/userpass/users/bob')).body.data).toMatchObject({
      token_ttl: 3600,
      token_num_uses: 3,
    });
    expect((await secrets.root.list('auth/userpass/users').expect(200)).body.data.keys).toEqual(['bob']);
    await secrets.root.delete('auth/userpass/users/BOB').expect(204);
    await secrets.root.delete('auth/userpass/users/bob').expect(204);
    await secrets.root.read('auth/userpass/users/bob').expect(404);
    await secrets.root.list('auth/userpass/users').expect(404);
  });

  it('gives a token for the right password, in any case of the name (S5.1, S5.2, S5.3, S5.4, S5.5)', async () => {
    await mounted();
    await user('ann', { token_policies: 'dev', token_ttl: '30m' });
    const { body } = await login('ANN', 'right').expect(200);
    expect(body.auth).toMatchObject({
      client_token: expect.stringMatching(/^s\./),
      accessor: expect.any(String),
      policies: ['default', 'dev'],
      token_policies: ['default', 'dev'],
      metadata: { username: 'ann' },
      lease_duration: 1800,
      renewable: true,
      token_type: 'service',
      orphan: true,
    });
    const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data).toMatchObject({
      display_name: 'userpass-ann',
      path: 'auth/userpass/login/ann',
      meta: { username: 'ann' },
    });
    const again = await login('ann', 'right').expect(200);
    expect(again.body.auth.entity_id).toBe(body.auth.entity_id);
  });

  it('answers a wrong password and an unknown user alike', async () => {
    await mounted();
    await user('cara');
    const refused = { errors: ['invalid username or password'] };
    await login('cara', 'wrong').expect(400, refused);
    await login('unknown', 'right').expect(400, refused);
    await secrets.anonymous.write('auth/userpass/login/cara', {}).expect(400, { errors: ['missing password'] });
  });

  it('changes only passwords and policies', async () => {
    await mounted();
    await user('dan');
    await secrets.root.write('auth/userpass/users/dan/password', { password: 'new' }).expect(204);
    await login('dan', 'right').expect(400);
    await secrets.root.write('auth/userpass/users/dan/policies', { policies: 'p1,p2' }).expect(204);
    expect((await login('dan', 'new').expect(200)).body.auth.token_policies).toEqual(['default', 'p1', 'p2']);
    await secrets.root
      .write('auth/userpass/users/none/password', { password: 'x' })
      .expect(400, { errors: ['username does not exist'] });
  });

  it.each<[object, string]>([
    [{ password: '' }, 'missing password'],
    [{ token_ttl: '2h', token_max_ttl: '1h' }, "'token_ttl' cannot be greater than 'token_max_ttl'"],
    [{ token_num_uses: -1 }, "'token_num_uses' cannot be negative"],
    [{ token_type: 'zz' }, `invalid 'token_type' value "zz"`],
    [{ token_bound_cidrs: '10' }, 'error parsing address "10": Unable to convert 10 to an IP address or block'],
    [
      { token_bound_cidrs: '127.1' },
      'error parsing address "127.1": Unable to convert 127.1 to an IP address or block',
    ],
    [{ token_bound_cidrs: 0 }, 'error parsing address "0": Unable to convert 0 to an IP address or block'],
    [{ token_bound_cidrs: 'zzz' }, 'error parsing address "zzz": Unable to convert zzz to an IP address or block'],
    [{ password: 'x'.repeat(1025) }, 'password is longer than 1024 characters'],
  ])('refuses bad input, case %#', async (fields, message) => {
    await mounted();
    const answer = await secrets.root.write('auth/userpass/users/bad', { password: 'right', ...fields }).expect(400);
    expect(answer.body.errors).toEqual([message]);
    await secrets.root.read('auth/userpass/users/bad').expect(404);
  });

  it('never puts a password into a refusal', async () => {
    await mounted();
    const { text } = await secrets.root.write('auth/userpass/users/bad', { password: { sekret: 1 } }).expect(400);
    expect(text).not.toContain('sekret');
  });

  it('refuses a login from a forbidden address', async () => {
    await mounted();
    await user('eve', { token_bound_cidrs: '10.0.0.0/8' });
    await login('eve', 'right').expect(403, { errors: ['permission denied'] });
  });

  it('locks a user after five wrong passwords in a row, for a quarter of an hour', async () => {
    await mounted();
    await user('fay');
    for (let i = 0; i < 4; i += 1) await login('fay', 'wrong').expect(400);
    await login('fay', 'right').expect(200);
    for (let i = 0; i < 5; i += 1) await login('fay', 'wrong').expect(400);
    await login('fay', 'right').expect(400, { errors: ['invalid username or password'] });
    clock.advance(15 * 60_000);
    await login('fay', 'right').expect(200);
  }, 120_000);

  it('locks names as its mount is tuned to, or never', async () => {
    await mounted();
    await user('ivy');
    const tune = (user_lockout_config: object) => secrets.root.write('sys/auth/userpass/tune', { user_lockout_config });
    const tuning = async () => (await secrets.root.read('sys/auth/userpass/tune').expect(200)).body.data;
    expect(Object.keys(await tuning()).filter((name) => name.startsWith('user_lockout'))).toEqual([]);
    await tune({ lockout_threshold: '2', lockout_duration: '5m', lockout_counter_reset_duration: '1m' }).expect(204);
    expect(await tuning()).toMatchObject({
      user_lockout_threshold: 2,
      user_lockout_duration: 300,
      user_lockout_counter_reset_duration: 60,
      user_lockout_disable: false,
    });
    await login('ivy', 'wrong').expect(400);
    clock.advance(60_000);
    for (let i = 0; i < 2; i += 1) await login('ivy', 'wrong').expect(400);
    await login('ivy', 'right').expect(400);
    clock.advance(4 * 60_000);
    await login('ivy', 'right').expect(400);
    clock.advance(60_000);
    await login('ivy', 'right').expect(200);
    // Fields that clients omit or send empty keep their values.
    await tune({ lockout_threshold: '', lockout_disable: true }).expect(204);
    expect(await tuning()).toMatchObject({ user_lockout_threshold: 2, user_lockout_disable: true });
    for (let i = 0; i < 9; i += 1) await login('ivy', 'wrong').expect(400);
    await login('ivy', 'right').expect(200);
    await tune({ lockout_threshold: 0, lockout_duration: 0, lockout_disable: false }).expect(204);
    expect(await tuning()).toMatchObject({ user_lockout_threshold: 5, user_lockout_duration: 900 });
    await tune({ lockout_threshold: -1 }).expect(400, /lockout_threshold must not be negative/);
    await tune({ lockout_treshold: 3 }).expect(400, /unknown field lockout_treshold/);
    await secrets.root
      .write('sys/mounts/auth/token/tune', { user_lockout_config: { lockout_threshold: 3 } })
      .expect(400, /it has no passwords/);
  }, 120_000);

  it('checks at most five of many simultaneous guesses, and no later one ends the lock', async () => {
    await mounted();
    await user('kim');
    const hashing = jest.spyOn(Passwords.prototype, 'matches');
    const batch = (count: number) => Promise.all(Array.from({ length: count }, (_, i) => login('kim', `wrong${i}`)));
    expect((await batch(40)).map(({ status }) => status)).toEqual(Array.from({ length: 40 }, () => 400));
    expect(hashing).toHaveBeenCalledTimes(5);
    for (const count of [6, 10, 10]) await batch(count);
    await login('kim', 'right').expect(400, { errors: ['invalid username or password'] });
    expect(hashing).toHaveBeenCalledTimes(5);
    clock.advance(15 * 60_000);
    await login('kim', 'right').expect(200);
    hashing.mockRestore();
  }, 120_000);

  it('counts guesses for unknown names as for others', async () => {
    await mounted();
    const hashing = jest.spyOn(Passwords.prototype, 'matches');
    for (let i = 0; i < 8; i += 1) await login('unknown', 'wrong').expect(400);
    expect(hashing).toHaveBeenCalledTimes(5);
    hashing.mockRestore();
  }, 120_000);

  it('ends a lock with a new password', async () => {
    await mounted();
    await user('lea');
    for (let i = 0; i < 5; i += 1) await login('lea', 'wrong').expect(400);
    await login('lea', 'right').expect(400);
    await secrets.root.write('auth/userpass/users/lea/password', { password: 'new' }).expect(204);
    await login('lea', 'new').expect(200);
  }, 120_000);

  it('renews tokens while the user has the policies of the login', async () => {
    await mounted();
    await user('gus', { token_policies: 'a', token_ttl: '1h', token_max_ttl: '3h' });
    const token = secrets.as((await login('gus', 'right').expect(200)).body.auth.client_token);
    await secrets.root.write('auth/userpass/users/gus', { token_ttl: '2h' }).expect(204);
    expect((await token.write('auth/token/renew-self').expect(200)).body.auth.lease_duration).toBe(7200);
    await secrets.root.write('auth/userpass/users/gus', { token_policies: 'a,b' }).expect(204);
    await token.write('auth/token/renew-self').expect(400, /policies have changed, not renewing/);
    await secrets.root.delete('auth/userpass/users/gus').expect(204);
    await token.write('auth/token/renew-self').expect(400, /user no longer exists/);
  }, 120_000);

  it('stores passwords only as salted hashes inside encrypted values', async () => {
    await mounted();
    await user('hal', { password: 'sekretpassword' });
    const { Client } = await import('pg');
    const client = new Client({ connectionString: secrets.database.url });
    await client.connect();
    const dump = JSON.stringify((await client.query('SELECT t::text FROM entry t')).rows);
    await client.end();
    expect(dump).not.toContain(Buffer.from('sekretpassword').toString('hex'));
  });
});
