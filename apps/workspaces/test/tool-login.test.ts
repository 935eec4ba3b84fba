import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { PASSWORD, resource, startWorkspaces } from './start-workspaces';

// Passwords cost processor time on purpose, and a busy machine has little.
jest.setTimeout(120_000);

const verifier = randomBytes(48).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirect = 'http://localhost:10003/login';

describe('the login of the tool', () => {
  let now = Date.now();
  const workspaces = startWorkspaces({ now: () => now });
  const page = (more: Record<string, string> = {}) =>
    request(workspaces.server)
      .get('/app/oauth2/auth')
      .query({
        client_id: 'keystead-cli',
        redirect_uri: redirect,
        response_type: 'code',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        state: 'abc',
        ...more,
      });
  const exchange = (code: string, more: Record<string, string> = {}) =>
    request(workspaces.server)
      .post('/oauth2/token')
      .type('form')
      .send({
        grant_type: 'authorization_code',
        client_id: 'keystead-cli',
        redirect_uri: redirect,
        code,
        code_verifier: verifier,
        ...more,
      });
  const codeOf = (client: ReturnType<typeof workspaces.as>, more: object = {}) =>
    client.post(
      'account/login-codes',
      resource('login-codes', {
        'client-id': 'keystead-cli',
        'redirect-uri': redirect,
        'code-challenge': challenge,
        ...more,
      }),
    );
  const made = async (client: ReturnType<typeof workspaces.as>): Promise<string> =>
    (await codeOf(client).expect(201)).body.data.attributes.code;

  it('is listed in service discovery, with existing paths', async () => {
    const { body } = await workspaces.anyone.get('/.well-known/terraform.json').expect(200);
    expect(body['login.v1']).toEqual({
      client: 'keystead-cli',
      grant_types: ['authz_code'],
      authz: '/app/oauth2/auth',
      token: '/oauth2/token',
      ports: [10000, 10010],
    });
  });

  it('leads to a page of the console, which gets the exact request', async () => {
    const { headers } = await page({ state: '0123 +"ü' }).expect(302);
    const { pathname, searchParams } = new URL(headers.location!, 'http://here');
    expect(pathname).toBe('/ui/authorize');
    const asked = Buffer.from(searchParams.get('asked')!, 'base64url').toString();
    expect(Object.fromEntries(new URLSearchParams(asked))).toEqual({
      client_id: 'keystead-cli',
      redirect_uri: redirect,
      response_type: 'code',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: '0123 +"ü',
    });
  });

  it.each([
    [{ client_id: 'other' }, 'client_id'],
    [{ redirect_uri: 'https://evil.example/login' }, 'redirect_uri'],
    [{ redirect_uri: 'http://localhost.evil.example:10003/login' }, 'redirect_uri'],
    [{ redirect_uri: 'http://localhost:9999/login' }, 'redirect_uri'],
    [{ redirect_uri: 'http://a@localhost:10003/login' }, 'redirect_uri'],
    [{ redirect_uri: 'javascript:alert(1)' }, 'redirect_uri'],
    [{ code_challenge: '' }, 'code_challenge'],
    [{ code_challenge_method: 'plain' }, 'code_challenge_method'],
    [{ response_type: 'token' }, 'response_type'],
  ])('leads to no page for %j', async (more, name) => {
    const { body } = await page(more).expect(400);
    expect(body.errors[0].detail).toContain(name);
  });

  it('gives a token to the person who signed in, once', async () => {
    const ann = await workspaces.person('ann');
    const session = await workspaces.anyone
      .post('session', resource('sessions', { username: 'ann', password: PASSWORD }))
      .expect(201);
    const code = await made(workspaces.as(session.body.data.attributes.token));
    const { body } = await exchange(code).expect(200).expect('Cache-Control', 'no-store');
    expect(body).toEqual({ access_token: expect.any(String), token_type: 'bearer' });
    const details = await workspaces.as(body.access_token).get('account/details').expect(200);
    expect(details.body.data.id).toBe(ann.id);
    expect((await exchange(code).expect(400)).body).toEqual({ error: 'invalid_grant' });
    const [row] = (await workspaces.service.pool.query('SELECT count(*)::int AS n FROM login_code')).rows;
    expect(row.n).toBe(0);
  });

  it.each([
    ['another verifier', { code_verifier: 'x'.repeat(43) }],
    ['another redirect URI', { redirect_uri: 'http://localhost:10004/login' }],
    ['another client', { client_id: 'other' }],
    ['no verifier', { code_verifier: '' }],
  ])('uses up the code on %s, and returns nothing', async (_what, more) => {
    const code = await made(workspaces.admin);
    expect((await exchange(code, more).expect(400)).body).toEqual({ error: 'invalid_grant' });
    await exchange(code).expect(400);
  });

  it('deletes codes after five minutes, and accepts no unknown ones', async () => {
    const code = await made(workspaces.admin);
    now += 5 * 60_000 + 1;
    await exchange(code).expect(400);
    await exchange('never-made').expect(400);
    expect((await exchange(code, { grant_type: 'password' }).expect(400)).body.error).toBe('unsupported_grant_type');
  });

  it('gives codes only to people, and only for valid requests', async () => {
    await codeOf(workspaces.anyone).expect(401);
    const { body } = await codeOf(workspaces.admin, { 'redirect-uri': 'https://evil.example/' }).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/redirect-uri');
    const leaver = await workspaces.person('leaver');
    const code = await made(leaver);
    await workspaces.service.pool.query('UPDATE user_account SET suspended_at = now() WHERE id = $1', [leaver.id]);
    await exchange(code).expect(400);
  });

  it('stores codes as hashes, and accepts one only once from many simultaneous requests', async () => {
    const code = await made(workspaces.admin);
    const { rows } = await workspaces.service.pool.query('SELECT * FROM login_code');
    expect(JSON.stringify(rows)).not.toContain(code);
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchange(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
  });
});
