import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import request from 'supertest';
import { ProviderRoutes } from './provider-routes';
import type { CameBack } from './provider-sign-in';
import { SessionCookie } from './session-cookie';

const browser = 'B'.repeat(43);
const session = 'S'.repeat(43);
const from = { address: '192.0.2.1', requestId: 'r' };
const ownHeaders = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };

describe('sign-in at providers', () => {
  let calls: unknown[][];
  let faults: unknown[];
  let failure: Error | undefined;
  let back: CameBack;
  const did = <T>(answer: T, ...call: unknown[]): T => {
    calls.push(call);
    if (failure) throw failure;
    return answer;
  };
  const routes = new ProviderRoutes({
    providers: {
      leave: async (departure, by) => did('https://provider.test/?a=1', 'leave', departure, by),
      comeBack: async ({ sent, browser: browserSecret }, by) => did(back, 'comeBack', `${sent}`, browserSecret, by),
      endSessions: async (provider, token, by) => did(undefined, 'endSessions', provider, token, by),
    },
    sessions: new SessionCookie('secrets', false),
    browsers: new SessionCookie('secrets-sign-in', false, 'lax'),
    from: () => from,
    onFault: (error) => faults.push(error),
  });
  const server = createServer((req, res) => {
    const [path = ''] = req.url!.split('?');
    if (routes.owns(path)) void routes.answer(req, res, path);
    else res.writeHead(418).end();
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  beforeEach(() => {
    [calls, faults, failure] = [[], [], undefined];
    back = { session: { id: session, seconds: 60, view: {} }, returnTo: '/ui/#/here' };
  });
  const get = (path: string) => request(server).get(path).redirects(0);

  it('sends a browser to the provider and binds the sign-in to it', async () => {
    const redirected = await get('/ui/sign-in/corp-1?to=%2Fui%2Fx').expect(303);
    expect(redirected.headers).toMatchObject({
      location: 'https://provider.test/?a=1',
      'cache-control': 'no-store',
      'content-length': '0',
      'referrer-policy': 'no-referrer',
    });
    const [cookie] = redirected.headers['set-cookie'] as unknown as string[];
    const [, secret] = /^keystead-secrets-sign-in=([\w-]{43}); Max-Age=600; .*HttpOnly; SameSite=Lax$/.exec(cookie!)!;
    expect(calls).toEqual([['leave', { provider: 'corp-1', browser: secret, returnTo: '/ui/x' }, from]]);
    // A browser that has already started one keeps its secret; another browser gets another.
    await get('/ui/sign-in/corp').set('Cookie', `keystead-secrets-sign-in=${browser}`).expect(303);
    await get('/ui/sign-in/corp').expect(303);
    expect(calls[1]).toEqual(['leave', { provider: 'corp', browser, returnTo: undefined }, from]);
    expect((calls[2] as [string, { browser: string }])[1].browser).not.toBe(secret);
  });

  it('finishes the sign-in when the browser returns, with the parameters of the provider', async () => {
    const cookie = `keystead-secrets-sign-in=${browser}`;
    const returned = await get('/ui/sign-in/callback?code=c&state=s').set('Cookie', cookie).expect(303);
    expect(calls).toEqual([['comeBack', 'code=c&state=s', browser, from]]);
    expect(returned.headers.location).toBe('/ui/#/here');
    expect(returned.headers['set-cookie']).toEqual([
      expect.stringMatching(`^keystead-secrets=${session}; Max-Age=60; .*HttpOnly; SameSite=Strict$`),
    ]);
    back = { returnTo: '/ui/' };
    const again = await get('/ui/sign-in/callback').expect(303);
    expect(again.headers).not.toHaveProperty('set-cookie');
    expect(calls[1]).toEqual(['comeBack', '', undefined, from]);
  });

  it('asks the owner of a session to confirm their identity, only for our own page', async () => {
    const post = (headers: object) =>
      request(server)
        .post('/ui/sign-in/corp?to=/ui/y')
        .set(headers as Record<string, string>);
    const cookies = `keystead-secrets=${session}; keystead-secrets-sign-in=${browser}`;
    const proven = await post({ ...ownHeaders, Cookie: cookies }).expect(200);
    expect(proven.body).toEqual({ location: 'https://provider.test/?a=1' });
    expect(proven.headers['set-cookie']).toEqual([expect.stringContaining(`keystead-secrets-sign-in=${browser}`)]);
    expect(proven.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    expect(calls).toEqual([['leave', { provider: 'corp', browser, returnTo: '/ui/y', session }, from]]);
    await post({ ...ownHeaders, Cookie: `keystead-secrets=${session}` }).expect(200);
    expect((calls[1] as [string, { browser: string }])[1].browser).toMatch(/^[\w-]{43}$/);
    const foreign = await post({ Cookie: cookies, 'Sec-Fetch-Site': 'cross-site' }).expect(403);
    expect(foreign.body).toEqual({
      error: 'invalid_request',
      error_description: 'only pages of this service may send this request',
    });
    expect((await post(ownHeaders).expect(401)).body.error_description).toBe('sign in first');
    expect(calls).toHaveLength(2);
  });

  it('ends the sessions that a provider has ended', async () => {
    const post = (body: string, path = '/ui/sign-in/corp/logout') => request(server).post(path).type('form').send(body);
    const ended = await post('logout_token=t.o.k').expect(200);
    expect([ended.text, ended.headers['cache-control']]).toEqual(['', 'no-store']);
    expect(calls).toEqual([['endSessions', 'corp', 't.o.k', from]]);
    for (const body of ['', 'logout_token=', 'other=1']) {
      const refused = await post(body).expect(400);
      expect(refused.body.error_description).toBe('logout_token is missing: send it as a form');
    }
    await post(`logout_token=${'t'.repeat(64 * 1024 - 13)}`).expect(200);
    const long = await post(`logout_token=${'t'.repeat(64 * 1024 - 12)}`).expect(413);
    expect(long.body).toEqual({
      error: 'invalid_request',
      error_description: 'the request body is larger than 65536 bytes',
    });
    expect(calls).toHaveLength(2);
  });

  it.each([
    ['GET', '/ui/sign-in/corp/logout', 405],
    ['PUT', '/ui/sign-in/corp', 405],
    ['POST', '/ui/sign-in/callback', 405],
    ['GET', '/ui/sign-in/', 404],
    ['GET', '/ui/sign-in/a.b', 404],
    ['GET', '/ui/sign-in/corp/other', 404],
    ['GET', '/ui/sign-in/corp/logout/x', 404],
    ['GET', `/ui/sign-in/${'p'.repeat(65)}`, 404],
    ['GET', '/ui/signing', 418],
    ['GET', '/x/ui/sign-in/corp', 418],
  ])('does not answer %s %s', async (method, path, status) => {
    const verb = method.toLowerCase() as 'get' | 'put' | 'post';
    const texts: Readonly<Record<number, string>> = { 404: 'This page does not exist.', 405: 'method not allowed' };
    expect((await request(server)[verb](path).expect(status)).text).toContain(texts[status] ?? '');
    expect(calls).toEqual([]);
  });

  it('shows people why the sign-in failed, on a page without scripts', async () => {
    failure = new Refusal('missing', `no provider <b>"x" & 'y'`);
    const page = await get('/ui/sign-in/corp').expect(404);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.text).toContain('<p>no provider &#60;b&#62;&#34;x&#34; &#38; &#39;y&#39;</p>');
    expect(page.text).toContain('<a href="/ui/">');
    expect(faults).toEqual([]);
  });

  it('shows internal faults only in the log', async () => {
    failure = new Error('a secret reason');
    const page = await get('/ui/sign-in/corp').expect(500);
    expect(page.text).toContain('Something went wrong here.');
    const answer = await request(server)
      .post('/ui/sign-in/corp/logout')
      .type('form')
      .send('logout_token=t')
      .expect(500);
    expect(answer.body).toEqual({ error: 'temporarily_unavailable', error_description: 'internal error' });
    expect(faults).toEqual([failure, failure]);
    failure = new Refusal('upstream', 'the provider is down');
    const away = await request(server).post('/ui/sign-in/corp/logout').type('form').send('logout_token=t').expect(502);
    expect(away.body).toEqual({ error: 'temporarily_unavailable', error_description: 'the provider is down' });
    expect(faults).toHaveLength(2);
  });
});
