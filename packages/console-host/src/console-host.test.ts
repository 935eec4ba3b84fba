import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import request from 'supertest';
import { routeOf } from '../../server/src/route';
import { ConsoleHost, codeRequired, type ProviderSignIn, type Sessions } from './index';

const id = 'A'.repeat(43);
const ownHeaders = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };

describe('the host of the console', () => {
  let calls: unknown[][] = [];
  let labels: string[] = [];
  const faults: unknown[] = [];
  const sessions: Sessions = {
    config: async () => ({ service: 'secrets' }),
    async signIn(proof, from) {
      calls.push(['signIn', proof, from]);
      if (proof.token === 'wrong') throw new Refusal('unauthenticated', 'wrong');
      if (proof.token === 'silent') throw new Refusal('unauthenticated', '');
      if (proof.token === 'fault') throw new Error('a secret reason');
      if (proof.token === 'two') throw codeRequired();
      if (proof.token === 'often') throw new Refusal('limited', '');
      if (proof.token === 'no') throw new Refusal('denied', '');
      if (proof.token === 'many') {
        throw new Refusal('invalid', 'several', [
          { path: ['code'], message: 'is too long' },
          { path: ['person', 'name'], message: 'is required' },
        ]);
      }
      return { id, seconds: 60, view: { name: 'ana' } };
    },
    async show(sessionId) {
      calls.push(['show', sessionId]);
      return sessionId === id ? { name: 'ana' } : undefined;
    },
    async signOut(id) {
      calls.push(['signOut', id]);
    },
    async stepUp(id, proof) {
      calls.push(['stepUp', id, proof]);
      return { name: 'ana', 'step-up-until': 'soon' };
    },
  };
  const providers: ProviderSignIn = {
    async leave(departure) {
      calls.push(['leave', departure.provider, departure.browser]);
      return 'https://provider.test/';
    },
    comeBack: async () => ({ returnTo: '/ui/' }),
    endSessions: async () => {},
  };
  const hostOf = (secureOnly: boolean) =>
    new ConsoleHost({
      service: 'secrets',
      sessions,
      ...(secureOnly ? {} : { providers }),
      secureOnly,
      from: () => ({ address: '192.0.2.1', requestId: 'r' }),
      onFault: (error) => faults.push(error),
    });
  const [host, secureHost] = [hostOf(false), hostOf(true)];
  const server = createServer((req, res) => {
    const used = req.headers['x-test-secure'] ? secureHost : host;
    if (used.owns(req)) {
      res.once('finish', () => labels.push(routeOf(req)));
      return void used.answer(req, res);
    }
    res.writeHead(404, { 'X-Other': 'yes' }).end(JSON.stringify({ id: used.idOf(req) ?? null }));
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  beforeEach(() => {
    calls = [];
    labels = [];
  });
  const signIn = (proof: object, headers: object = ownHeaders) =>
    request(server)
      .post('/ui/session')
      .set(headers as Record<string, string>)
      .send(proof);

  it('sets a cookie that scripts cannot read and other sites cannot send', async () => {
    const { headers, body } = await signIn({ method: 'token', token: 't' }).expect(201);
    expect(body).toEqual({ name: 'ana' });
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['set-cookie']).toEqual([`keystead-secrets=${id}; Max-Age=60; Path=/; HttpOnly; SameSite=Strict`]);
    expect(calls).toEqual([['signIn', { method: 'token', token: 't' }, { address: '192.0.2.1', requestId: 'r' }]]);
  });

  it.each([
    ['if the page came over HTTPS', { Origin: 'https://keystead.example' }],
    ['if the service is reached only over HTTPS', { 'X-Test-Secure': '1' }],
  ])('binds the cookie to the host %s', async (_where, more) => {
    const { headers } = await signIn({ token: 't' }, { ...ownHeaders, ...more }).expect(201);
    expect(headers['set-cookie']![0]).toBe(
      `__Host-keystead-secrets=${id}; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Strict`,
    );
  });

  it('accepts a cookie only with our header and from our own origin', async () => {
    const idFor = async (headers: Record<string, string>) =>
      JSON.parse((await request(server).get('/v1/x').set(headers)).text).id;
    const Cookie = `keystead-secrets=${id}`;
    expect(await idFor({ Cookie, ...ownHeaders })).toBe(id);
    expect(await idFor({ Cookie })).toBeNull();
    expect(await idFor({ Cookie, 'Sec-Fetch-Site': 'same-origin' })).toBeNull();
    expect(await idFor({ Cookie, 'X-Keystead-Console': '1' })).toBeNull();
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect(await idFor({ Cookie, 'X-Keystead-Console': '1', 'Sec-Fetch-Site': site })).toBeNull();
    }
    const Host = 'keystead.example';
    const old = { Cookie, 'X-Keystead-Console': '1', Host };
    expect(await idFor({ ...old, Origin: 'http://keystead.example' })).toBe(id);
    expect(await idFor({ ...old, Origin: 'https://keystead.example' })).toBe(id);
    expect(await idFor({ ...old, Origin: 'http://elsewhere.example' })).toBeNull();
    expect(await idFor({ Cookie: `keystead-workspaces=${id}`, ...ownHeaders })).toBeNull();
    for (const sent of ['short', `${id}A`, `!${id}`]) {
      expect(await idFor({ Cookie: `keystead-secrets=${sent}`, ...ownHeaders })).toBeNull();
    }
    // A cookie without the prefix may have been set by a sibling domain or an attacker on the network.
    expect(await idFor({ Cookie, ...ownHeaders, 'X-Test-Secure': '1' })).toBeNull();
    expect(await idFor({ Cookie: `__Host-keystead-secrets=${id}`, ...ownHeaders, 'X-Test-Secure': '1' })).toBe(id);
  });

  it.each([
    ['our header, repeated', ['X-Keystead-Console: 1', 'X-Keystead-Console: 1', 'Sec-Fetch-Site: same-origin']],
    ['our header in a list', ['X-Keystead-Console: 1, 1', 'Sec-Fetch-Site: same-origin']],
    ['two sites', ['X-Keystead-Console: 1', 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site']],
    ['two origins', ['X-Keystead-Console: 1', 'Origin: http://a.example', 'Origin: http://elsewhere.example']],
    ['an origin that only begins like ours', ['X-Keystead-Console: 1', 'Origin: http://a.example.evil.example']],
    ['the origin null', ['X-Keystead-Console: 1', 'Origin: null']],
    ['a name with a space', ['X-Keystead-Console : 1', 'Sec-Fetch-Site: same-origin']],
    ['an origin that names no host', ['X-Keystead-Console: 1', 'Origin: https://undefined']],
    ['a folded line', ['X-Other: a', ' X-Keystead-Console: 1', 'Sec-Fetch-Site: same-origin']],
    ['an underscore', ['X_Keystead_Console: 1', 'Sec-Fetch-Site: same-origin']],
  ])('accepts no cookie with %s', async (_what, lines) => {
    const { port } = server.address() as AddressInfo;
    const reply = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        const isHostless = lines.some((line) => line.endsWith('undefined'));
        const first = isHostless ? ['GET /v1/x HTTP/1.0'] : ['GET /v1/x HTTP/1.1', 'Host: a.example'];
        const head = [...first, `Cookie: keystead-secrets=${id}`, 'Connection: close'];
        socket.end(`${[...head, ...lines].join('\r\n')}\r\n\r\n`);
      });
      let text = '';
      socket.on('data', (part) => {
        text += part;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(reply).toMatch(/^HTTP\/1\.1 (400|404) /);
    expect(reply).not.toContain(id);
  });

  it.each([
    ['POST', '/ui/session'],
    ['GET', '/ui/session'],
    ['DELETE', '/ui/session'],
    ['POST', '/ui/session/step-up'],
    ['GET', '/ui/config'],
  ])('refuses %s %s to other pages, and does nothing', async (method, path) => {
    const verb = method.toLowerCase() as 'get';
    for (const headers of [
      {},
      { ...ownHeaders, 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-origin' },
    ]) {
      const { body } = await request(server)
        [verb](path)
        .set({ ...headers, Cookie: `keystead-secrets=${id}` } as Record<string, string>)
        .expect(403);
      expect(body.errors[0].title).toBe('denied');
    }
    expect(calls).toEqual([]);
  });

  it('shows the session, confirms the identity again and ends the session', async () => {
    const Cookie = `keystead-secrets=${id}`;
    await request(server)
      .get('/ui/session')
      .set({ ...ownHeaders, Cookie })
      .expect(200, { name: 'ana' });
    await request(server)
      .post('/ui/session/step-up')
      .set({ ...ownHeaders, Cookie })
      .send({ password: 'p' })
      .expect(200, { name: 'ana', 'step-up-until': 'soon' });
    const { headers } = await request(server)
      .delete('/ui/session')
      .set({ ...ownHeaders, Cookie })
      .expect(204);
    expect(headers['set-cookie']).toEqual(['keystead-secrets=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict']);
    expect(headers['cache-control']).toBe('no-store');
    expect(calls.map(([what]) => what)).toEqual(['show', 'stepUp', 'signOut']);
    const other = await request(server)
      .get('/ui/session')
      .set({ ...ownHeaders, Cookie: `keystead-secrets=${'B'.repeat(43)}` });
    expect([other.status, other.headers['set-cookie']?.[0]]).toEqual([204, expect.stringContaining('Max-Age=0')]);
    expect(other.headers['cache-control']).toBe('no-store');
  });

  it('looks up no session if a page sends none', async () => {
    await request(server).get('/ui/session').set(ownHeaders).expect(204);
    await request(server).delete('/ui/session').set(ownHeaders).expect(204);
    const { body } = await request(server).post('/ui/session/step-up').set(ownHeaders).send({}).expect(401);
    expect(body.errors[0].detail).toBe('sign in first');
    expect(calls).toEqual([]);
  });

  it('returns the data for the sign-in page', async () => {
    const { headers } = await request(server).get('/ui/config').set(ownHeaders).expect(200, { service: 'secrets' });
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  it('has a route for each of its addresses, and one for all pages', async () => {
    for (const path of ['/ui/session?a=1', '/ui/config']) await request(server).get(path).set(ownHeaders);
    for (const path of ['/ui/', '/ui/leases/x']) await request(server).post(path);
    await request(server).get('/ui/sign-in/none/such');
    expect(labels).toEqual(['/ui/session', '/ui/config', '/ui', '/ui', '/ui/sign-in']);
  });

  it('redirects to a provider, with a separate cookie that is sent when other sites redirect back', async () => {
    const redirected = await request(server).get('/ui/sign-in/corp').redirects(0).expect(303);
    expect(redirected.headers['set-cookie']).toEqual([
      expect.stringMatching(/^keystead-secrets-sign-in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(calls.map(([what, provider]) => [what, provider])).toEqual([['leave', 'corp']]);
    // In a service without providers, the path is an ordinary page.
    await request(server).post('/ui/sign-in/corp').set('X-Test-Secure', '1').expect(405);
    expect(calls).toHaveLength(1);
  });

  it('deletes a cookie that is bound to the host, even if the browser sends no origin', async () => {
    const { headers } = await request(server)
      .get('/ui/session')
      .set({ ...ownHeaders, Cookie: `__Host-keystead-secrets=${'B'.repeat(43)}` })
      .expect(204);
    expect(headers['set-cookie']).toEqual([
      '__Host-keystead-secrets=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict',
    ]);
  });

  it('ends the previous session only when the user signs in again', async () => {
    await signIn({ token: 'wrong' }, { ...ownHeaders, Cookie: `keystead-secrets=${id}` }).expect(401);
    expect(calls.map(([what]) => what)).toEqual(['signIn']);
    await signIn({ token: 't' }, { ...ownHeaders, Cookie: `keystead-secrets=${id}` }).expect(201);
    expect(calls.map(([what]) => what)).toEqual(['signIn', 'signIn', 'signOut']);
  });

  it('reports that credentials are wrong, but not which part', async () => {
    const { body } = await signIn({ token: 'silent' }).expect(401);
    expect(body.errors[0].detail).toBe('The name, the password, the code or the token is wrong.');
    const often = await signIn({ token: 'often' }).expect(429);
    expect(often.body.errors[0].detail).toBe('Too many attempts: wait a while.');
    expect((await signIn({ token: 'no' }).expect(403)).body.errors[0].detail).toBe('denied');
    expect((await signIn({ token: 'wrong' }).expect(401)).body.errors[0].detail).toBe('wrong');
  });

  it('reports a missing code and malformed input, and no details of a fault', async () => {
    const { body } = await signIn({ token: 'two' }).expect(422);
    expect(body.errors).toEqual([
      { status: '422', title: 'invalid', detail: 'code is required', field: 'code', code: 'code-required' },
    ]);
    const many = await signIn({ token: 'many' }).expect(422);
    expect(many.body.errors).toEqual([
      { status: '422', title: 'invalid', detail: 'code is too long', field: 'code' },
      { status: '422', title: 'invalid', detail: 'person.name is required', field: 'person.name' },
    ]);
    const fault = await signIn({ token: 'fault' }).expect(500);
    expect(fault.body.errors).toEqual([{ status: '500', title: 'fault', detail: 'internal error' }]);
    expect(faults).toHaveLength(1);
  });

  it.each([
    ['a list', 'application/json', '[]', 400, 'the body must be an object'],
    ['null', 'application/json', 'null', 400, 'the body must be an object'],
    ['a number', 'application/json', '5', 400, 'the body must be an object'],
    ['not JSON', 'application/json', '{', 400, 'the body is not JSON'],
    ['a form', 'application/x-www-form-urlencoded', 'token=t', 415, 'send application/json'],
    ['text', 'text/application/json', '{}', 415, 'send application/json'],
    ['something that begins like JSON', 'application/jsonp', '{}', 415, 'send application/json'],
    ['long', 'application/json', `"${'x'.repeat(70_000)}"`, 413, 'the request body is larger than 65536 bytes'],
  ])('accepts no credentials that are %s', async (_what, type, text, status, detail) => {
    const { body } = await request(server).post('/ui/session').set(ownHeaders).set('Content-Type', type).send(text);
    expect([body.errors[0].status, body.errors[0].detail]).toEqual([`${status}`, detail]);
    expect(calls).toEqual([]);
  });

  it.each([
    ['put', '/ui/session'],
    ['get', '/ui/session/step-up'],
    ['post', '/ui/config'],
  ] as const)('has no %s %s', async (method, path) => {
    const { body } = await request(server)[method](path).set(ownHeaders).expect(405);
    expect(body.errors[0].detail).toBe('method not allowed');
  });

  it('redirects browsers from / to the console, and ignores other clients and addresses', async () => {
    const { headers } = await request(server).get('/').set('Accept', 'text/html,*/*').expect(302);
    expect(headers).toMatchObject({
      location: '/ui/',
      vary: 'Accept',
      'cache-control': 'no-store',
      'content-length': '0',
    });
    expect((await request(server).post('/').set('Accept', 'text/html')).headers['x-other']).toBe('yes');
    await request(server).post('/ui?x').expect(405);
    for (const path of ['/', '/uix', '/v1/ui', '/ui%2f']) {
      expect((await request(server).get(path)).headers['x-other']).toBe('yes');
    }
    expect((await request(server).get('/ui').expect(308)).headers.location).toBe('/ui/');
    await request(server).post('/ui/').expect(405);
  });
});
