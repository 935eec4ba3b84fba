import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { newKey, signRaw } from '../../secrets/test/stand-ins/jwt';
import { ProviderStandIn } from '../../secrets/test/stand-ins/oidc';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(120_000);

const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };
const here = 'https://workspaces.test/ui/sign-in/callback';

describe('people who sign in at a provider', () => {
  let nowMs = Date.now();
  const lines: string[] = [];
  const workspaces = startWorkspaces({ now: () => nowMs, log: { write: (line) => void lines.push(line) } });
  const { admin } = workspaces;
  const idp = new ProviderStandIn();
  idp.nowMs = () => nowMs;
  let id = '';
  const cookiesOf = (answer: { headers: Record<string, string> }): string[] =>
    ((answer.headers['set-cookie'] ?? []) as unknown as string[]).map((line) => line.split(';')[0]!);
  const settings = (attributes: object) =>
    admin.patch(`admin/sign-in-providers/${id}`, resource('sign-in-providers', attributes)).expect(200);
  const leave = async (to?: string) => {
    const path = `/ui/sign-in/${id}${to === undefined ? '' : `?to=${encodeURIComponent(to)}`}`;
    const answer = await request(workspaces.server).get(path).expect(303);
    return { url: answer.headers.location!, cookie: cookiesOf(answer)[0]!, answer };
  };
  const comeBack = (sent: Record<string, string>, cookie: string) =>
    request(workspaces.server).get('/ui/sign-in/callback').query(sent).set('Cookie', cookie);
  /** Signs a person in at the provider and returns. */
  const enter = async (claims: Record<string, unknown>) => {
    const { url, cookie } = await leave();
    return comeBack(idp.signIn(url, claims), cookie);
  };
  /** The cookie of a person's session. */
  const entered = async (claims: Record<string, unknown>) => {
    const answer = await enter(claims);
    expect([answer.status, answer.text]).toEqual([303, '']);
    return cookiesOf(answer)[0]!;
  };
  const session = async (cookie: string) =>
    (
      await request(workspaces.server)
        .get('/ui/session')
        .set({ ...ours, Cookie: cookie })
    ).body;
  const asks = (path: string, cookie: string) =>
    request(workspaces.server)
      .get(`/api/v2/${path}`)
      .set({ ...ours, Cookie: cookie });
  const teamsOf = async (userId: string): Promise<string[]> =>
    (
      await workspaces.service.pool.query(
        `SELECT t.name FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
          WHERE m.user_id = $1 ORDER BY 1`,
        [userId],
      )
    ).rows.map(({ name }) => name);
  const team = async (organization: string, name: string, ssoTeamId: string): Promise<string> =>
    (
      await admin
        .post(`organizations/${organization}/teams`, resource('teams', { name, 'sso-team-id': ssoTeamId }))
        .expect(201)
    ).body.data.id;

  beforeAll(async () => {
    await idp.start();
    const attributes = {
      name: 'Example',
      issuer: idp.address,
      'client-id': idp.clientId,
      'client-secret': idp.clientSecret,
      'groups-claim': 'groups',
    };
    const { body } = await admin.post('admin/sign-in-providers', resource('sign-in-providers', attributes)).expect(201);
    id = body.data.id;
    expect(JSON.stringify(body)).not.toContain(idp.clientSecret);
    await workspaces.organization('works');
    await team('works', 'operators', 'ops');
    await team('works', 'readers', 'reads');
  });
  afterAll(() => idp.stop());
  beforeEach(() => {
    idp.idClaims = {};
    idp.down = false;
  });

  it('are sent to it and back, into a separate account', async () => {
    const config = await request(workspaces.server).get('/ui/config').set(ours).expect(200);
    expect(config.body['sign-in'][0]).toEqual({ method: 'oidc', id, name: 'Example' });
    const { url, cookie, answer } = await leave('/ui/organizations/works?tab=1');
    expect((answer.headers['set-cookie'] as unknown as string[])[0]).toMatch(
      /^__Host-keystead-workspaces-sign-in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(asked).toMatchObject({
      response_type: 'code',
      client_id: 'keystead',
      redirect_uri: here,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    });
    const person = { sub: 's-1', preferred_username: 'ada', email: 'ada@example.com', email_verified: true };
    const back = await comeBack(idp.signIn(url, person), cookie).expect(303);
    expect(back.headers.location).toBe('/ui/organizations/works?tab=1');
    expect((back.headers['set-cookie'] as unknown as string[])[0]).toMatch(
      /^__Host-keystead-workspaces=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const shown = await session(cookiesOf(back)[0]!);
    expect(shown).toMatchObject({
      name: 'ada',
      'sign-in-provider': { id, name: 'Example' },
      'step-up-methods': ['provider'],
    });
    const details = await asks('account/details', cookiesOf(back)[0]!).expect(200);
    expect(details.body.data.attributes).toMatchObject({ username: 'ada', email: 'ada@example.com' });
    expect((await session(await entered({ ...person, preferred_username: 'eve' })))['user-id']).toBe(shown['user-id']);
    const kept = await workspaces.service.pool.query('SELECT row_to_json(p)::text AS text FROM sign_in_provider p');
    for (const secret of [idp.clientSecret, asked.state!, asked.nonce!]) {
      expect(kept.rows[0].text + lines.join('')).not.toContain(secret);
    }
  });

  it('are added to teams by their groups, and removed when they lose them', async () => {
    const first = await session(await entered({ sub: 's-2', preferred_username: 'bo', groups: ['ops', 'other'] }));
    const userId = first['user-id'];
    expect(await teamsOf(userId)).toEqual(['operators']);
    const second = await entered({ sub: 's-2', groups: ['reads'] });
    expect(await teamsOf(userId)).toEqual(['readers']);
    await asks('organizations/works', second).expect(200);
    const many = Array.from({ length: 10_000 }, (_, i) => `a group of a person ${i}`);
    await entered({ sub: 's-2', groups: [...many, 'ops'] });
    expect(await teamsOf(userId)).toEqual(['operators']);
    const last = await entered({ sub: 's-2' });
    expect(await teamsOf(userId)).toEqual([]);
    await asks('organizations/works', last).expect(404);
  });

  it('keep the teams that were given to them by hand', async () => {
    const { 'user-id': userId } = await session(
      await entered({ sub: 's-3', preferred_username: 'cy', groups: ['ops'] }),
    );
    const teams = await admin.get('organizations/works/teams').expect(200);
    const readers = teams.body.data.find((one: { attributes: { name: string } }) => one.attributes.name === 'readers');
    await admin.post(`teams/${readers.id}/relationships/users`, { data: [{ type: 'users', id: userId }] }).expect(204);
    await entered({ sub: 's-3', groups: ['reads'] });
    await entered({ sub: 's-3' });
    expect(await teamsOf(userId)).toEqual(['readers']);
  });

  it('fill teams only of the organizations that the provider is for', async () => {
    await workspaces.organization('strangers');
    await team('strangers', 'ops too', 'ops');
    await settings({ organizations: ['works'] });
    const { 'user-id': userId } = await session(await entered({ sub: 's-4', groups: ['ops'] }));
    expect(await teamsOf(userId)).toEqual(['operators']);
    await settings({ organizations: null });
    await entered({ sub: 's-4', groups: ['ops'] });
    expect(await teamsOf(userId)).toEqual(['operators', 'ops too']);
  });

  it('never leave an organization without owners', async () => {
    const { body } = await admin.get('organizations/works/teams').expect(200);
    const owners = body.data.find((one: { attributes: { name: string } }) => one.attributes.name === 'owners');
    await admin.patch(`teams/${owners.id}`, resource('teams', { 'sso-team-id': 'owners' })).expect(200);
    const { 'user-id': userId } = await session(await entered({ sub: 's-5', groups: ['owners'] }));
    const root = (await admin.get('account/details').expect(200)).body.data.id;
    await admin.delete(`teams/${owners.id}/relationships/users`, { data: [{ type: 'users', id: root }] }).expect(204);
    await entered({ sub: 's-5' });
    expect(await teamsOf(userId)).toEqual(['owners']);
  });

  it('administer the site while they are in the group for it', async () => {
    await settings({ 'site-admin-group': 'root' });
    const { body } = await admin
      .patch(`admin/sign-in-providers/${id}`, resource('sign-in-providers', { 'groups-claim': null }))
      .expect(422);
    expect(body.errors[0].detail).toContain('requires groups-claim');
    const given = await entered({ sub: 's-6', groups: ['root'] });
    expect((await session(given))['is-site-admin']).toBe(true);
    await asks('admin/users', given).expect(200);
    const later = await entered({ sub: 's-6', groups: [] });
    expect((await session(later))['is-site-admin']).toBe(false);
    await asks('admin/users', given).expect(404);
  });

  describe('who may have an account already', () => {
    const verified = (sub: string, email: string) => ({ sub, email, email_verified: true, preferred_username: sub });

    it('do not get access to it with only an address', async () => {
      const dan = await workspaces.person('dan');
      for (const email_verified of [false, undefined, 'true', true]) {
        const claims = { ...verified('d-1', 'dan@example.com'), email_verified };
        expect((await session(await entered(claims)))['user-id']).not.toBe(dan.id);
      }
    });

    it('take it over by a verified address once, if the provider may link, which revokes all earlier credentials', async () => {
      const eve = await workspaces.person('eve');
      await settings({ 'links-accounts': true });
      const unchecked = { ...verified('e-0', 'eve@example.com'), email_verified: false };
      expect((await session(await entered(unchecked)))['user-id']).not.toBe(eve.id);
      expect((await session(await entered(verified('e-1', 'Eve@example.com'))))['user-id']).toBe(eve.id);
      await eve.get('account/details').expect(401);
      const byPassword = { method: 'password', username: 'eve', password: PASSWORD };
      await request(workspaces.server).post('/ui/session').set(ours).send(byPassword).expect(401);
      // The address has since been given to another person.
      expect((await session(await entered(verified('e-2', 'eve@example.com'))))['user-id']).not.toBe(eve.id);
      const root = await workspaces.person('root-like', { siteAdmin: true });
      expect((await session(await entered(verified('r-1', 'root-like@example.com'))))['user-id']).not.toBe(root.id);
      await settings({ 'links-accounts': false });
    });

    it('are refused if no accounts are created, or theirs is suspended', async () => {
      await settings({ 'creates-accounts': false });
      const answer = await enter({ sub: 'unknown-yet' });
      expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
      expect(answer.text).toContain('You have no account here');
      await settings({ 'creates-accounts': true });
      const { 'user-id': userId } = await session(await entered({ sub: 's-7' }));
      await admin.post(`admin/users/${userId}/actions/suspend`).expect(200);
      expect((await enter({ sub: 's-7' })).status).toBe(403);
    });
  });

  describe('are refused', () => {
    it('with a state that was used, is another browser’s, is too old, or does not exist', async () => {
      const { url, cookie } = await leave();
      const sent = idp.signIn(url, { sub: 'x-1' });
      const other = await leave();
      expect((await comeBack(sent, other.cookie)).status).toBe(403);
      expect((await comeBack(sent, '')).status).toBe(403);
      await comeBack(sent, cookie).expect(303);
      expect((await comeBack(sent, cookie)).status).toBe(403);
      expect((await comeBack({ ...sent, state: 'A'.repeat(43) }, cookie)).status).toBe(403);
      const late = await leave();
      const lateSent = idp.signIn(late.url, { sub: 'x-1' });
      nowMs += 10 * 60_000 + 1;
      expect((await comeBack(lateSent, late.cookie)).status).toBe(403);
    });

    it('when another provider answers', async () => {
      const { url, cookie } = await leave();
      const sent = { ...idp.signIn(url, { sub: 'x-2' }), iss: 'https://elsewhere.example' };
      expect((await comeBack(sent, cookie)).text).toContain('The response is from another provider');
      idp.document = { authorization_response_iss_parameter_supported: true };
      nowMs += 61 * 60_000;
      expect((await enter({ sub: 'x-2' })).text).toContain('The response is from another provider');
      const right = await leave();
      await comeBack({ ...idp.signIn(right.url, { sub: 'x-2' }), iss: idp.address }, right.cookie).expect(303);
      idp.document = {};
      nowMs += 61 * 60_000;
    });

    it.each<[string, Record<string, unknown>]>([
      ['with another nonce', { nonce: 'another' }],
      ['without a nonce', { nonce: undefined }],
      ['of another issuer', { iss: 'https://elsewhere.example' }],
      ['for another client', { aud: 'another' }],
      ['for several clients', { aud: ['keystead', 'another'] }],
      ['that has expired', { exp: 1 }],
      ['without an expiry', { exp: undefined }],
      ['without a subject', { sub: '' }],
    ])('with an ID token %s', async (_what, claims) => {
      idp.idClaims = claims;
      const answer = await enter({ sub: 'x-3' });
      expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
    });

    it.each(['none', 'HS256'])('with an ID token of the algorithm %s', async (alg) => {
      const { url, cookie } = await leave();
      const now = Math.floor(nowMs / 1000);
      const claims = {
        iss: idp.address,
        aud: 'keystead',
        sub: 'x-4',
        exp: now + 60,
        iat: now,
        nonce: new URL(url).searchParams.get('nonce'),
      };
      const [head, body] = signRaw({ alg, kid: idp.key.kid }, claims, idp.key).split('.');
      const pem = idp.key.publicKey.export({ format: 'pem', type: 'spki' });
      const mac = alg === 'none' ? '' : createHmac('sha256', pem).update(`${head}.${body}`).digest('base64url');
      idp.tokenAnswer = { id_token: `${head}.${body}.${mac}` };
      expect((await comeBack(idp.signIn(url, { sub: 'x-4' }), cookie)).status).toBe(403);
      idp.tokenAnswer = {};
    });

    it('by the provider itself, in words that are not repeated', async () => {
      const { url, cookie } = await leave();
      const state = new URL(url).searchParams.get('state')!;
      const answer = await comeBack({ state, error: '<script>', error_description: 'visit evil.example' }, cookie);
      expect(answer.status).toBe(403);
      expect(answer.text).not.toMatch(/script|evil/);
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    });
  });

  it('return only to pages of the console', async () => {
    for (const to of [
      'https://evil.example',
      '//evil.example',
      '/ui//evil.example',
      '/ui/\\evil',
      '/api/v2',
      '/ui/\n',
    ]) {
      const { url, cookie } = await leave(to);
      const back = await comeBack(idp.signIn(url, { sub: 'x-5' }), cookie).expect(303);
      expect(back.headers.location).toBe('/ui/');
    }
  });

  it('see that the provider is down, and no attempt is counted', async () => {
    const away = await leave();
    const sent = idp.signIn(away.url, { sub: 'x-6' });
    idp.down = true;
    const answer = await comeBack(sent, away.cookie);
    expect([answer.status, answer.headers['content-type']]).toEqual([502, 'text/html; charset=utf-8']);
    idp.down = false;
    await entered({ sub: 'x-6' });
    const attempts = await workspaces.service.pool.query('SELECT 1 FROM sign_in_attempt WHERE failures > 1');
    expect(attempts.rowCount).toBe(0);
  });

  it('cannot sign in with a withdrawn key once the provider’s settings were changed', async () => {
    const person = { sub: 's-10', preferred_username: 'ira' };
    await entered(person);
    const [withdrawn] = idp.published.splice(0, 1, newKey());
    await entered(person);
    await settings({ name: 'Example' });
    expect((await enter(person)).status).toBe(403);
    idp.published = [withdrawn!];
    await settings({ name: 'Example' });
    await entered(person);
  });

  it('confirm their identity again at the provider', async () => {
    const cookie = await entered({ sub: 's-8', preferred_username: 'gil' });
    const again = () =>
      request(workspaces.server)
        .post(`/ui/sign-in/${id}`)
        .set({ ...ours, Cookie: cookie });
    await request(workspaces.server).post(`/ui/sign-in/${id}`).set('Cookie', cookie).expect(403);
    const answers = async (claims: Record<string, unknown>) => {
      const begun = await again().expect(200);
      const { location } = begun.body;
      expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({ max_age: '0', prompt: 'login' });
      return comeBack(idp.signIn(location, claims), cookiesOf(begun)[0]!);
    };
    const seconds = () => Math.floor(nowMs / 1000);
    expect((await answers({ sub: 's-8' })).status).toBe(403);
    expect((await answers({ sub: 's-8', auth_time: seconds() - 3600 })).status).toBe(403);
    expect((await answers({ sub: 'x-1', auth_time: seconds() })).status).toBe(403);
    expect(Date.parse((await session(cookie))['step-up-until'])).toBe(nowMs + 5 * 60_000);
    nowMs += 5 * 60_000;
    expect((await session(cookie))['step-up-until']).toBeNull();
    const known = await entered({ sub: 's-8', preferred_username: 'gil', auth_time: seconds() - 240 });
    expect(Date.parse((await session(known))['step-up-until'])).toBe((seconds() + 60) * 1000);
    const longKnown = await entered({ sub: 's-8', preferred_username: 'gil', auth_time: seconds() - 300 });
    expect((await session(longKnown))['step-up-until']).toBeNull();
    expect((await answers({ sub: 's-8', auth_time: seconds() })).headers.location).toBe('/ui/');
    expect(Date.parse((await session(cookie))['step-up-until'])).toBe(nowMs + 5 * 60_000);
    // The provider has started a new session on its side, and ends that session.
    await answers({ sub: 's-8', auth_time: seconds(), sid: 'second' });
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const logout_token = idp.sign({ aud: 'keystead', sub: undefined, sid: 'second', events });
    await request(workspaces.server).post(`/ui/sign-in/${id}/logout`).type('form').send({ logout_token }).expect(200);
    await asks('account/details', cookie).expect(401);
  });

  it('are signed out when the provider requests it', async () => {
    const logout = (token: string) =>
      request(workspaces.server).post(`/ui/sign-in/${id}/logout`).type('form').send({ logout_token: token });
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const signed = (claims: object) => idp.sign({ aud: 'keystead', sub: undefined, events, ...claims });
    const one = await entered({ sub: 's-9', sid: 'one' });
    const two = await entered({ sub: 's-9', sid: 'two' });
    const other = await entered({ sub: 'x-1', sid: 'three' });
    for (const claims of [
      { sub: 's-9', nonce: 'n' },
      { sub: 's-9', events: {} },
      { sub: 's-9', aud: 'another' },
      { sub: 's-9', iss: 'https://elsewhere.example' },
      { sub: 's-9', exp: 1 },
      {},
    ]) {
      await logout(signed(claims)).expect(400);
    }
    await logout('no token').expect(400);
    await asks('account/details', one).expect(200);
    await logout(signed({ sid: 'one' })).expect(200);
    await asks('account/details', one).expect(401);
    await asks('account/details', two).expect(200);
    await logout(signed({ sub: 's-9' })).expect(200);
    await asks('account/details', two).expect(401);
    await asks('account/details', other).expect(200);
  });

  it('are the only ones besides administrators who can sign in if passwords are only for administrators', async () => {
    await workspaces.person('hal');
    await workspaces.person('rescue', { siteAdmin: true });
    await settings({ 'password-sign-in': 'administrators' });
    const signIn = (username: string, password = PASSWORD) =>
      request(workspaces.server).post('/ui/session').set(ours).send({ method: 'password', username, password });
    expect((await signIn('hal').expect(403)).body.errors[0].detail).toContain('sign in through your provider');
    await signIn('hal', 'wrong').expect(401);
    await signIn('rescue').expect(201);
    await settings({ 'password-sign-in': 'allowed' });
    await signIn('hal').expect(201);
  });

  it('lose access at once when the provider is switched off or removed', async () => {
    const cookie = await entered({ sub: 's-10' });
    await settings({ enabled: false });
    await asks('account/details', cookie).expect(401);
    await request(workspaces.server).get(`/ui/sign-in/${id}`).expect(404);
    await settings({ enabled: true });
    const again = await entered({ sub: 's-10' });
    await admin.delete(`admin/sign-in-providers/${id}`).expect(204);
    await asks('account/details', again).expect(401);
  });
});
