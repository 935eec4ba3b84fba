import { describe, expect, it, jest } from '@jest/globals';
import { codeFor, counterAt, fromBase32 } from '@keystead/auth';
import { withClient } from '@keystead/postgres';
import { member } from './members';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

// Passwords cost processor time on purpose, and a busy machine has little.
jest.setTimeout(120_000);

const MINUTE = 60_000;

describe('signing in', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs });
  const signIn = (username: string, password: string, code?: string) =>
    workspaces.anyone.post('session', resource('sessions', { username, password, ...(code ? { code } : {}) }));
  const codeAt = (secret: string, ms = nowMs) =>
    codeFor({ key: fromBase32(secret), algorithm: 'SHA1', digits: 6, periodSeconds: 30 }, counterAt(ms, 30));

  /** A person with a verified second factor: its secret and recovery codes. */
  async function twoFactor(person: Awaited<ReturnType<typeof workspaces.person>>) {
    const begun = await person.post('account/two-factor', resource('two-factor', { password: PASSWORD })).expect(201);
    const { secret, 'recovery-codes': recoveryCodes } = begun.body.data.attributes;
    const verify = resource('two-factor', { code: codeAt(secret) });
    await person.post('account/two-factor/actions/verify', verify).expect(200);
    return { secret, recoveryCodes };
  }

  it('gives a session token for name or address, in any case, that ends by signing out', async () => {
    await workspaces.person('ann');
    for (const login of ['ann', 'ANN', 'Ann@Example.com']) {
      const { body } = await signIn(login, PASSWORD).expect(201);
      const client = workspaces.as(body.data.attributes.token);
      expect((await client.get('account/details').expect(200)).body.data.attributes.username).toBe('ann');
      await client.delete('session').expect(204);
      await client.get('account/details').expect(401);
    }
  });

  it('answers the same to a wrong password and to an unknown name', async () => {
    await workspaces.person('ben');
    const wrong = await signIn('ben', 'wrong').expect(401);
    const unknown = await signIn('unknown', 'wrong').expect(401);
    expect(wrong.body).toEqual(unknown.body);
    await workspaces.anyone.post('session', resource('sessions', { username: 'ben' })).expect(422);
    await workspaces.anyone.post('session', { data: { type: 'users', attributes: {} } }).expect(422);
  });

  it('locks a name after five failures, used or not, even for the right password', async () => {
    await workspaces.person('carl');
    for (const name of ['carl', 'no-such-person']) {
      for (let i = 0; i < 5; i++) await signIn(name, 'wrong').expect(401);
      await signIn(name, PASSWORD).expect(429);
    }
    nowMs += MINUTE + 1;
    await signIn('carl', 'wrong').expect(401);
    await signIn('carl', PASSWORD).expect(429);
    nowMs += 2 * MINUTE + 1;
    await signIn('carl', PASSWORD).expect(201);
    await signIn('carl', 'wrong').expect(401);
    await signIn('carl', PASSWORD).expect(201);
  });

  it('does not let many simultaneous attempts exceed the limit', async () => {
    await workspaces.person('dora');
    const answers = await Promise.all(Array.from({ length: 20 }, () => signIn('dora', 'wrong')));
    const tried = answers.filter(({ status }) => status === 401);
    expect(tried.length).toBeLessThanOrEqual(5);
  });

  it('asks for the code of a second factor, and accepts each code once', async () => {
    const eve = await workspaces.person('eve');
    const { secret } = await twoFactor(eve);
    const missing = await signIn('eve', PASSWORD).expect(422);
    expect(missing.body.errors[0].source.pointer).toBe('/data/attributes/code');
    nowMs += 30_000;
    const code = codeAt(secret);
    await signIn('eve', PASSWORD, '000000').expect(401);
    await signIn('eve', PASSWORD, code).expect(201);
    // A code that someone else has seen must be useless.
    await signIn('eve', PASSWORD, code).expect(401);
    nowMs += 30_000;
    const spent = await Promise.all(Array.from({ length: 4 }, () => signIn('eve', PASSWORD, codeAt(secret))));
    expect(spent.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  it('accepts a recovery code once, and none of a factor that was never verified', async () => {
    const fay = await workspaces.person('fay');
    const { recoveryCodes } = await twoFactor(fay);
    await signIn('fay', PASSWORD, recoveryCodes[0]).expect(201);
    await signIn('fay', PASSWORD, recoveryCodes[0]).expect(401);
    const { body } = await fay.get('account/two-factor').expect(200);
    expect(body.data.attributes).toEqual({ enabled: true, verified: true, 'recovery-codes-left': 9 });
    const gus = await workspaces.person('gus');
    await gus.post('account/two-factor', resource('two-factor', { password: PASSWORD })).expect(201);
    await signIn('gus', PASSWORD).expect(201);
    await gus.post('account/two-factor', resource('two-factor', { password: 'wrong' })).expect(422);
    await gus.post('account/two-factor/actions/verify', resource('two-factor', { code: '123456' })).expect(422);
  });

  it('stores neither secret nor recovery codes in plain text, and asks for the password to remove a factor', async () => {
    const hal = await workspaces.person('hal');
    const { secret, recoveryCodes } = await twoFactor(hal);
    const rows = await withClient(workspaces.databaseUrl, async (client) => {
      const { rows: found } = await client.query('SELECT row_to_json(t)::text AS text FROM two_factor t');
      return found.map(({ text }) => text).join('\n');
    });
    for (const canary of [secret, recoveryCodes[0]]) {
      expect(rows).not.toContain(Buffer.from(canary).toString('hex'));
      expect(rows).not.toContain(canary);
    }
    const conflict = await hal.post('account/two-factor', resource('two-factor', { password: PASSWORD }));
    expect(conflict.status).toBe(409);
    await hal.delete('account/two-factor', resource('two-factor', { password: 'wrong' })).expect(422);
    await hal.delete('account/two-factor', resource('two-factor', { password: PASSWORD })).expect(204);
    await signIn('hal', PASSWORD).expect(201);
  });

  it('limits members without a second factor to the organization itself if a second factor is mandatory', async () => {
    await workspaces.organization('strict');
    const id = (await workspaces.workspace('strict', 'web')).id;
    const ivy = await member(workspaces, 'strict');
    const owners = await workspaces.admin.get('organizations/strict/teams?filter[names]=owners').expect(200);
    const path = `teams/${owners.body.data[0].id}/relationships/users`;
    await workspaces.admin.post(path, { data: [{ type: 'users', id: ivy.id }] }).expect(204);
    await ivy.get(`workspaces/${id}`).expect(200);
    const policy = resource('organizations', { 'collaborator-auth-policy': 'two_factor_mandatory' });
    await ivy.patch('organizations/strict', policy).expect(422);
    const jon = await member(workspaces, 'strict');
    await workspaces.admin.post(path, { data: [{ type: 'users', id: jon.id }] }).expect(204);
    await twoFactor(jon);
    await jon.patch('organizations/strict', policy).expect(200);
    const seen = await ivy.get('organizations/strict').expect(200);
    const allowed = Object.entries(seen.body.data.attributes.permissions).filter(([, value]) => value);
    expect(allowed).toEqual([['can-traverse', true]]);
    await ivy.get(`workspaces/${id}`).expect(404);
    await jon.get(`workspaces/${id}`).expect(200);
    await twoFactor(ivy);
    await ivy.get(`workspaces/${id}`).expect(200);
  });

  it("closes an organization to sessions older or more idle than its limits, not to the person's tokens", async () => {
    await workspaces.organization('timed', { 'session-timeout': 10, 'session-remember': 60 });
    const kim = await member(workspaces, 'timed');
    const open = async () =>
      workspaces.as((await signIn(kim.username, PASSWORD).expect(201)).body.data.attributes.token);
    const session = await open();
    for (let minute = 0; minute < 54; minute += 9) {
      await session.get('organizations/timed/teams').expect(200);
      await session.get('organizations/timed/organization-memberships').expect(200);
      nowMs += 9 * MINUTE;
    }
    nowMs += 10 * MINUTE;
    await session.get('account/details').expect(401);
    const idle = await open();
    nowMs += 11 * MINUTE;
    // The session sees only the organization itself, however often it is requested, and during other requests of the
    // session.
    for (let second = 0; second < 60; second += 10) {
      await idle.get('organizations/timed/organization-memberships').expect(404);
      await idle.get('account/details').expect(200);
      nowMs += 10_000;
    }
    // The session also gets no credential that would outlive it.
    const mint = (session: typeof idle) => session.post(`users/${kim.id}/authentication-tokens`);
    const code = resource('login-codes', {
      'client-id': 'keystead-cli',
      'redirect-uri': 'http://localhost:10000/login',
      'code-challenge': 'x'.repeat(43),
    });
    expect((await mint(idle).expect(403)).body.errors[0].detail).toContain('sign in again');
    await idle.post('account/login-codes', code).expect(403);
    const fresh = await open();
    await fresh.get('organizations/timed/organization-memberships').expect(200);
    await mint(fresh).expect(201);
    await fresh.post('account/login-codes', code).expect(201);
    await kim.get('organizations/timed/organization-memberships').expect(200);
  });

  it('changes a password after checking the old one, and ends the other sessions', async () => {
    const lou = await workspaces.person('lou');
    const session = workspaces.as((await signIn('lou', PASSWORD).expect(201)).body.data.attributes.token);
    const change = (current: string, password: string, confirmation = password) =>
      lou.patch(
        'account/password',
        resource('users', { current_password: current, password, password_confirmation: confirmation }),
      );
    const pointer = async (test: ReturnType<typeof change>) => (await test.expect(422)).body.errors[0].source.pointer;
    expect(await pointer(change('wrong', 'long enough here'))).toBe('/data/attributes/current_password');
    expect(await pointer(change(PASSWORD, 'short'))).toBe('/data/attributes/password');
    expect(await pointer(change(PASSWORD, 'long enough here', 'other'))).toBe('/data/attributes/password_confirmation');
    await change(PASSWORD, 'long enough here').expect(200);
    await session.get('account/details').expect(401);
    await lou.get('account/details').expect(200);
    await signIn('lou', PASSWORD).expect(401);
    await signIn('lou', 'long enough here').expect(201);
  });

  it('resets a password by a link that works once', async () => {
    const max = await workspaces.person('max');
    await max.post(`admin/users/${max.id}/actions/reset_password`).expect(404);
    const made = await workspaces.admin.post(`admin/users/${max.id}/actions/reset_password`).expect(200);
    const path = new URL(made.body.meta['reset-url']).pathname.replace('/app/', '/api/v2/');
    const shown = await workspaces.anyone.get(path).expect(200);
    expect(shown.body.data.attributes).toMatchObject({ kind: 'password-reset', 'needs-username': false });
    await workspaces.anyone.post(path, resource('one-time-links', { password: 'short' })).expect(422);
    const body = resource('one-time-links', { password: 'a brand new one' });
    const used = await Promise.all([1, 2, 3].map(() => workspaces.anyone.post(path, body)));
    expect(used.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
    await signIn('max', 'a brand new one').expect(201);
    const late = await workspaces.admin.post(`admin/users/${max.id}/actions/reset_password`).expect(200);
    nowMs += 7 * 24 * 60 * MINUTE + 1;
    await workspaces.anyone.get(new URL(late.body.meta['reset-url']).pathname.replace('/app/', '/api/v2/')).expect(404);
  });

  it('removes site administration from those without a second factor if the installation requires one', async () => {
    const nel = await workspaces.person('nel', { siteAdmin: true });
    await nel.get('admin/users').expect(200);
    const rule = (value: boolean) => resource('general-settings', { 'require-two-factor-for-admins': value });
    const ora = await workspaces.person('ora', { siteAdmin: true });
    await twoFactor(ora);
    await ora.patch('admin/general-settings', rule(true)).expect(200);
    await nel.get('admin/users').expect(404);
    await ora.get('admin/users').expect(200);
    await twoFactor(nel);
    await nel.get('admin/users').expect(200);
    await ora.patch('admin/general-settings', rule(false)).expect(200);
  });
});
