import { describe, expect, it, jest } from '@jest/globals';
import { codeFor, counterAt, fromBase32 } from '@keystead/auth';
import request from 'supertest';
import { sweepConsoleSessions } from '../src/resources/people/sessions/console';
import { follow } from './event-reader';
import { withSecondNode } from './second-node';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

// Passwords cost processor time on purpose, and a busy machine has little.
jest.setTimeout(120_000);

const MINUTE = 60_000;
const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };

describe('console sessions', () => {
  let nowMs = Date.now();
  const lines: string[] = [];
  const workspaces = startWorkspaces({ now: () => nowMs, log: { write: (line) => void lines.push(line) } });
  const nodes = withSecondNode(workspaces);
  const there = () => workspaces.server;
  const signIn = (proof: object, headers: object = ours) =>
    request(there())
      .post('/ui/session')
      .set({ ...headers, 'Content-Type': 'application/json' })
      .send(proof);
  /** Signs in and returns the cookie. */
  const entered = async (username: string): Promise<string> =>
    cookieOf(await signIn({ method: 'password', username, password: PASSWORD }).expect(201));
  const cookieOf = (answer: { headers: Record<string, string> }): string =>
    (answer.headers['set-cookie'] as unknown as string[])[0]!.split(';')[0]!;
  const asks = (path: string, cookie: string, headers: object = ours) =>
    request(there())
      .get(path)
      .set({ ...headers, Cookie: cookie });
  const details = '/api/v2/account/details';

  it('authenticate a person on every node, by a cookie that no script can read', async () => {
    await workspaces.person('ann');
    const answer = await signIn({ method: 'password', username: 'ann', password: PASSWORD }).expect(201);
    expect((answer.headers['set-cookie'] as unknown as string[])[0]).toMatch(
      /^__Host-keystead-workspaces=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(answer.body).toMatchObject({
      name: 'ann',
      kind: 'user',
      'is-site-admin': false,
      'step-up-until': new Date(nowMs + 5 * MINUTE).toISOString(),
      'step-up-methods': ['password'],
    });
    const cookie = cookieOf(answer);
    for (const node of nodes) {
      const shown = await fetch(node + details, { headers: { ...ours, Cookie: cookie } });
      expect([
        shown.status,
        ((await shown.json()) as never as { data: { attributes: object } }).data.attributes,
      ]).toMatchObject([200, { username: 'ann' }]);
      const session = await fetch(`${node}/ui/session`, { headers: { ...ours, Cookie: cookie } });
      expect(await session.json()).toMatchObject({ name: 'ann', 'user-id': expect.stringMatching(/^user-/) });
    }
    const kept = await workspaces.service.pool.query('SELECT row_to_json(c)::text AS text FROM console_session c');
    const [, id = ''] = cookie.split('=');
    for (const form of [id, Buffer.from(id, 'base64url').toString('hex')]) {
      expect(kept.rows[0].text).not.toContain(form);
      expect(lines.join('')).not.toContain(form);
    }
  });

  it('are only accepted from our own pages, and never together with a token', async () => {
    const bo = await workspaces.person('bo');
    await workspaces.person('bess');
    const cookie = await entered('bess');
    await asks(details, cookie, {}).expect(401);
    await asks(details, cookie, { 'X-Keystead-Console': '1' }).expect(401);
    await asks(details, cookie, { ...ours, 'Sec-Fetch-Site': 'cross-site' }).expect(401);
    await asks(details, cookie, { ...ours, 'Sec-Fetch-Site': 'same-site' }).expect(401);
    await signIn(
      { method: 'password', username: 'bess', password: PASSWORD },
      { 'Sec-Fetch-Site': 'cross-site' },
    ).expect(403);
    const both = await asks(details, cookie, { ...ours, Authorization: `Bearer ${bo.token}` }).expect(200);
    expect(both.body.data.attributes.username).toBe('bo');
    await asks(details, cookie, { ...ours, Authorization: 'Bearer wrong' }).expect(401);
  });

  it('end by signing out, when idle, and after a few hours in any case', async () => {
    await workspaces.person('cy');
    const out = await entered('cy');
    const rows = () => workspaces.service.pool.query("SELECT id FROM token WHERE kind = 'session'");
    const before = (await rows()).rowCount!;
    const left = await request(there())
      .delete('/ui/session')
      .set({ ...ours, Cookie: out })
      .expect(204);
    expect((left.headers['set-cookie'] as unknown as string[])[0]).toMatch(/Max-Age=0/);
    await asks(details, out).expect(401);
    expect((await rows()).rowCount).toBe(before - 1);

    const idle = await entered('cy');
    nowMs += 29 * MINUTE;
    await asks(details, idle, { ...ours, 'X-Keystead-Background': '1' }).expect(200);
    nowMs += 2 * MINUTE;
    await asks(details, idle).expect(401);
    await asks('/ui/session', idle).expect(204);

    const long = await entered('cy');
    for (let spent = 0; spent < 12 * 60; spent += 20) {
      await asks(details, long).expect(200);
      nowMs += 20 * MINUTE;
    }
    await asks(details, long).expect(401);
  });

  it('end with the token, the password or the right of their person', async () => {
    const dan = await workspaces.person('dan');
    const given = await signIn({ method: 'token', token: dan.token }).expect(201);
    expect(given.body['step-up-methods']).toEqual(['password', 'token']);
    const byToken = cookieOf(given);
    await asks(details, byToken).expect(200);
    const byPassword = await entered('dan');
    const other = await entered('dan');
    const change = resource('users', {
      current_password: PASSWORD,
      password: 'another long one',
      password_confirmation: 'another long one',
    });
    await request(there())
      .patch('/api/v2/account/password')
      .set({ ...ours, Cookie: byPassword, 'Content-Type': 'application/vnd.api+json' })
      .send(JSON.stringify(change))
      .expect(200);
    await asks(details, byPassword).expect(200);
    await asks(details, byToken).expect(401);
    await asks(details, other).expect(401);
    await workspaces.admin.post(`admin/users/${dan.id}/actions/suspend`).expect(200);
    await asks(details, byPassword).expect(401);

    const eli = await workspaces.person('eli');
    const cookie = cookieOf(await signIn({ method: 'token', token: eli.token }).expect(201));
    const stream = await follow(`${nodes[1]}/api/v2/organizations/acme/runs/stream`, { ...ours, Cookie: cookie });
    expect(stream.status).toBe(404);
    await workspaces.service.pool.query('DELETE FROM token WHERE user_id = $1', [eli.id]);
    await asks(details, cookie).expect(401);
    await signIn({ method: 'token', token: eli.token }).expect(401);
  });

  it('ask for the code of a second factor, and are subject to the limit of attempts', async () => {
    const fay = await workspaces.person('fay');
    const begun = await fay.post('account/two-factor', resource('two-factor', { password: PASSWORD })).expect(201);
    const { secret } = begun.body.data.attributes;
    const code = () =>
      codeFor({ key: fromBase32(secret), algorithm: 'SHA1', digits: 6, periodSeconds: 30 }, counterAt(nowMs, 30));
    await fay.post('account/two-factor/actions/verify', resource('two-factor', { code: code() })).expect(200);
    nowMs += MINUTE;
    const proof = { method: 'password', username: 'fay', password: PASSWORD };
    expect((await signIn(proof).expect(422)).body.errors[0].code).toBe('code-required');
    const { body } = await signIn({ ...proof, code: code() }).expect(201);
    expect(body['step-up-methods']).toEqual(['password', 'code']);
    for (let i = 0; i < 5; i++) await signIn({ ...proof, password: 'wrong' }).expect(401);
    await signIn({ ...proof, password: 'wrong' }).expect(429);
    await signIn({ method: 'password', username: 'fay' }).expect(422);
    await signIn({ method: 'guess' }).expect(422);
  });

  it('ask for another proof of identity before irreversible changes, valid for a few minutes', async () => {
    const gil = await workspaces.person('gil', { siteAdmin: true });
    await workspaces.organization('doomed', {}, gil);
    const { id } = (
      await gil.post('organizations/doomed/workspaces', resource('workspaces', { name: 'w' })).expect(201)
    ).body.data;
    const cookie = await entered('gil');
    // Signing in counted as a proof.
    nowMs += 5 * MINUTE;
    const headers = { ...ours, Cookie: cookie };
    const remove = (path: string) => request(there()).delete(`/api/v2/${path}`).set(headers);
    for (const path of [`workspaces/${id}`, 'organizations/doomed', 'admin/organizations/doomed']) {
      const refused = await remove(path).expect(403);
      expect(refused.body.errors[0].code).toBe('step-up-required');
      expect(refused.headers['x-keystead-step-up']).toBe('required');
    }
    const run = {
      type: 'runs',
      attributes: { 'is-destroy': true },
      relationships: { workspace: { data: { type: 'workspaces', id } } },
    };
    const start = () =>
      request(there())
        .post('/api/v2/runs')
        .set({ ...headers, 'Content-Type': 'application/vnd.api+json' })
        .send(JSON.stringify({ data: run }));
    await start().expect(403);
    const stepUp = (proof: object) => request(there()).post('/ui/session/step-up').set(headers).send(proof);
    await stepUp({ password: 'wrong' }).expect(401);
    await stepUp({ code: '123456' }).expect(422);
    const { body } = await stepUp({ password: PASSWORD }).expect(200);
    expect(Date.parse(body['step-up-until'])).toBe(nowMs + 5 * MINUTE);
    expect((await start()).status).not.toBe(403);
    await remove(`workspaces/${id}`).expect(204);
    nowMs += 5 * MINUTE;
    await remove('organizations/doomed').expect(403);
    // Callers with a token are not asked for it.
    await gil.delete('organizations/doomed').expect(204);
  });

  it('ask for another proof before they create credentials that outlive them, but do not ask tokens', async () => {
    const hana = await workspaces.person('hana', { siteAdmin: true });
    await workspaces.organization('lasting', {}, hana);
    const { data: team } = (
      await hana.post('organizations/lasting/teams', resource('teams', { name: 'deployers' })).expect(201)
    ).body;
    const { data: pool } = (
      await hana.post('organizations/lasting/agent-pools', resource('agent-pools', { name: 'pool' })).expect(201)
    ).body;
    const makes: [string, object][] = [
      [`users/${hana.id}/authentication-tokens`, resource('authentication-tokens', { description: 'x' })],
      [`teams/${team.id}/authentication-token`, resource('authentication-tokens')],
      [`teams/${team.id}/authentication-tokens`, resource('authentication-tokens', { description: 'x' })],
      ['organizations/lasting/authentication-token', resource('authentication-tokens')],
      ['organizations/lasting/authentication-token?token=audit-trails', resource('authentication-tokens')],
      [`agent-pools/${pool.id}/authentication-tokens`, resource('authentication-tokens', { description: 'x' })],
      [
        'account/login-codes',
        resource('login-codes', {
          'client-id': 'keystead-cli',
          'redirect-uri': 'http://localhost:10000/login',
          'code-challenge': 'x'.repeat(43),
        }),
      ],
      [
        'organizations/lasting/organization-memberships',
        resource('organization-memberships', { email: 'x@y.example' }),
      ],
      [`admin/users/${hana.id}/actions/reset_password`, {}],
    ];
    const cookie = await entered('hana');
    const make = ([path, body]: [string, object]) =>
      request(there())
        .post(`/api/v2/${path}`)
        .set({ ...ours, Cookie: cookie, 'Content-Type': 'application/vnd.api+json' })
        .send(JSON.stringify(body));
    nowMs += 5 * MINUTE;
    for (const one of makes) {
      const refused = await make(one).expect(403);
      expect([one[0], refused.body.errors[0].code]).toEqual([one[0], 'step-up-required']);
    }
    const made = await workspaces.service.pool.query("SELECT 1 FROM token WHERE description = 'x'");
    expect(made.rowCount).toBe(0);
    await request(there())
      .post('/ui/session/step-up')
      .set({ ...ours, Cookie: cookie })
      .send({ password: PASSWORD })
      .expect(200);
    for (const one of makes) expect([one[0], (await make(one)).status]).toEqual([one[0], expect.closeTo(201, -1)]);
    await hana.post(...makes[0]!).expect(201);
  });

  it('authenticate a team or an organization as well, with its rights and no more', async () => {
    await workspaces.organization('owned');
    const { body } = await workspaces.admin.post('organizations/owned/authentication-token').expect(201);
    const answer = await signIn({ method: 'token', token: body.data.attributes.token }).expect(201);
    expect(answer.body).toMatchObject({ kind: 'organization', 'user-id': null, 'step-up-methods': ['token'] });
    const cookie = cookieOf(answer);
    await asks('/api/v2/organizations/owned', cookie).expect(200);
    await asks('/api/v2/admin/users', cookie).expect(404);
  });

  it('have pages that browsers are redirected to and runs link to', async () => {
    const home = await request(there()).get('/').set('Accept', 'text/html').expect(302);
    expect(home.headers.location).toBe('/ui/');
    await request(there()).get('/').set('Accept', 'application/json').expect(404);
    const run = await request(there()).get('/app/acme/web/runs/run-abc123').expect(302);
    expect(run.headers.location).toBe('/ui/organizations/acme/workspaces/web/runs/run-abc123');
    const config = await request(there()).get('/ui/config').set(ours).expect(200);
    expect(config.body).toMatchObject({ service: 'workspaces', 'needs-first-run': false, version: expect.any(String) });
  });

  it('are deleted when they have ended, with the tokens that were made for them', async () => {
    await workspaces.person('hal');
    await entered('hal');
    nowMs += 31 * MINUTE;
    expect(await sweepConsoleSessions(workspaces.service.db, 30, nowMs)).toBeGreaterThan(0);
    const left = await workspaces.service.pool.query('SELECT 1 FROM console_session');
    expect(left.rowCount).toBe(0);
  });
});

describe('without WORKSPACES_UI', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_UI: 'off' } });

  it('there is neither page nor session', async () => {
    for (const path of ['/ui/', '/ui/session', '/ui/config', '/app/acme/web/runs/run-abc123']) {
      await request(workspaces.server).get(path).set(ours).expect(404);
    }
    await request(workspaces.server).get('/').set('Accept', 'text/html').expect(404);
  });
});
