import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { SoftwareAuthenticator } from '@keystead/testing';
import request from 'supertest';
import { withSecondNode } from './second-node';
import { PASSWORD, startWorkspaces } from './start-workspaces';

// Passwords cost processor time on purpose, and a busy machine has little.
jest.setTimeout(180_000);

const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };
type Cookies = Map<string, string>;

describe('passkeys', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs });
  const nodes = withSecondNode(workspaces);
  const origin = () => new URL(workspaces.service.env.publicUrl).origin.replace('127.0.0.1', 'localhost');
  let people = 0;

  /** A browser: its cookies, and requests that its pages make. */
  const browser = () => {
    const cookies: Cookies = new Map();
    const ask = async (method: 'get' | 'post' | 'delete', path: string, body?: object, node?: string) => {
      const Cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const sent = request(node ?? workspaces.server)
        [method](path)
        .set({ ...ours, Cookie });
      const answer = await (body ? sent.send(body) : sent);
      for (const line of (answer.headers['set-cookie'] ?? []) as unknown as string[]) {
        const [name = '', value = ''] = line.split(';')[0]!.split('=');
        cookies.set(name, value);
      }
      nowMs += 1;
      return answer;
    };
    return {
      cookies,
      ask,
      question: async (purpose: string) => (await ask('post', '/ui/passkeys/ask', { for: purpose })).body,
      signIn: (passkey: object, node?: string) => ask('post', '/ui/session', { method: 'passkey', passkey }, node),
    };
  };
  type Browser = ReturnType<typeof browser>;

  /** A person who is signed in with a password, and has a passkey. */
  const withPasskey = async (counts = false) => {
    const username = `person-${++people}`;
    const api = await workspaces.person(username);
    const at = browser();
    expect((await at.ask('post', '/ui/session', { method: 'password', username, password: PASSWORD })).status).toBe(
      201,
    );
    const key = new SoftwareAuthenticator(origin(), counts);
    const answer = key.make(await at.question('add'));
    const added = await at.ask('post', '/ui/passkeys', { name: 'laptop', answer });
    expect([added.status, added.body]).toMatchObject([201, { name: 'laptop', 'last-used-at': null }]);
    return { username, api, at, key, answer, id: added.body.id as string };
  };
  const signInWith = async (key: SoftwareAuthenticator, at: Browser = browser()) =>
    at.signIn(key.show(await at.question('sign-in')));

  it('sign a person in on every node, without a password', async () => {
    const { username, key } = await withPasskey();
    for (const node of nodes) {
      const at = browser();
      const question = await at.question('sign-in');
      expect(question).toMatchObject({ rpId: new URL(origin()).hostname, userVerification: 'required' });
      const entered = await at.signIn(key.show(question), node);
      expect([entered.status, entered.body]).toMatchObject([
        201,
        { name: username, 'step-up-methods': ['password', 'passkey'] },
      ]);
      expect((await at.ask('get', '/ui/passkeys', undefined, node)).body).toMatchObject([
        { name: 'laptop', 'last-used-at': expect.any(String) },
      ]);
    }
  });

  it('accept an answer once, from the browser that asked, for its purpose, within five minutes', async () => {
    const { key } = await withPasskey();
    const [mine, other] = [browser(), browser()];
    await other.question('sign-in');
    const question = await mine.question('sign-in');
    const answer = key.show(question);
    expect((await other.signIn(answer)).status).toBe(401);
    expect((await browser().signIn(answer)).status).toBe(401);
    expect((await mine.signIn(answer)).status).toBe(201);
    expect((await mine.signIn(answer)).status).toBe(401);
    const late = await mine.question('sign-in');
    nowMs += 5 * 60_000 + 1;
    expect((await mine.signIn(key.show(late))).status).toBe(401);
    const stepUp = await mine.question('step-up');
    expect(stepUp.allowCredentials).toHaveLength(1);
    expect((await mine.signIn(key.show(stepUp))).status).toBe(401);
    expect(
      (await mine.ask('post', '/ui/session/step-up', { passkey: key.show(await mine.question('step-up')) })).status,
    ).toBe(200);
  });

  it('accept only one of many simultaneous answers to a challenge, on two nodes', async () => {
    const { key } = await withPasskey();
    const at = browser();
    const answer = key.show(await at.question('sign-in'));
    const asked = await Promise.all(Array.from({ length: 12 }, (_, n) => at.signIn(answer, nodes[n % nodes.length])));
    expect(asked.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(asked.filter(({ status }) => status === 401)).toHaveLength(11);
  });

  it.each([
    ['of another origin', { origin: 'https://keystead.example.evil.example' }],
    ['for another host', { rpId: 'evil.example' }],
    ['to another challenge', { challenge: Buffer.alloc(56).toString('base64url') }],
    ['of another type', { type: 'webauthn.create' }],
    ['without user verification', { unverified: true as const }],
    ['of another key', { signedBy: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }],
  ])('refuse an answer %s', async (_what, lie) => {
    const { key } = await withPasskey();
    const at = browser();
    const refused = await at.signIn(key.show(await at.question('sign-in'), lie));
    expect([refused.status, refused.body.errors[0].detail]).toEqual([
      401,
      expect.stringContaining('not registered here'),
    ]);
    expect(refused.headers['set-cookie']).toBeUndefined();
    expect((await signInWith(key)).status).toBe(201);
  });

  it('refuse a copy of a key with a counter', async () => {
    const { key } = await withPasskey(true);
    expect((await signInWith(key)).status).toBe(201);
    key.counter = 0;
    expect((await signInWith(key)).status).toBe(401);
    expect((await signInWith(key)).status).toBe(201);
  });

  it('are added and removed only after a recent proof of identity, and not with an API token', async () => {
    const { at, key, id, api, answer } = await withPasskey();
    expect((await at.ask('post', '/ui/passkeys', { name: 'again', answer })).status).toBe(409);
    nowMs += 6 * 60_000;
    for (const refused of [
      await at.ask('post', '/ui/passkeys/ask', { for: 'add' }),
      await at.ask('delete', `/ui/passkeys/${id}`),
    ]) {
      expect([refused.status, refused.headers['x-keystead-step-up']]).toEqual([403, 'required']);
    }
    const byToken = browser();
    expect((await byToken.ask('post', '/ui/session', { method: 'token', token: api.token })).status).toBe(201);
    expect((await byToken.ask('post', '/ui/passkeys/ask', { for: 'add' })).status).toBe(403);
    expect((await byToken.ask('delete', `/ui/passkeys/${id}`)).status).toBe(403);
    const stranger = (await withPasskey()).at;
    expect((await stranger.ask('delete', `/ui/passkeys/${id}`)).status).toBe(404);
    for (const [method, path] of [
      ['get', ''],
      ['post', ''],
      ['delete', `/${id}`],
    ] as const) {
      expect((await browser().ask(method, `/ui/passkeys${path}`, method === 'post' ? {} : undefined)).status).toBe(401);
    }
    await at.ask('post', '/ui/session/step-up', { password: PASSWORD });
    expect((await at.ask('delete', `/ui/passkeys/${id}`)).status).toBe(204);
    expect((await signInWith(key)).status).toBe(401);
  });

  it('replace a code, for the account whose password was given', async () => {
    const { username, at, key, api } = await withPasskey();
    const { key: others } = await withPasskey();
    await workspaces.service.pool.query(
      "INSERT INTO two_factor (user_id, secret, verified_at, recovery_codes) VALUES ($1, 'x', now(), '{}')",
      [api.id],
    );
    const proof = { method: 'password', username, password: PASSWORD };
    expect((await at.ask('post', '/ui/session', proof)).body.errors[0].code).toBe('code-required');
    const show = async (one: SoftwareAuthenticator) => one.show(await at.question('sign-in'));
    expect((await at.ask('post', '/ui/session', { ...proof, passkey: await show(others) })).status).toBe(401);
    expect(
      (await at.ask('post', '/ui/session', { ...proof, password: 'wrong', passkey: await show(key) })).status,
    ).toBe(401);
    expect((await at.ask('post', '/ui/session', { ...proof, passkey: await show(key) })).status).toBe(201);
  });

  it('do not work while their person is suspended', async () => {
    const { key, api } = await withPasskey();
    const { pool } = workspaces.service;
    await pool.query('UPDATE user_account SET suspended_at = now() WHERE id = $1', [api.id]);
    expect((await signInWith(key)).status).toBe(401);
    await pool.query('UPDATE user_account SET suspended_at = NULL WHERE id = $1', [api.id]);
    expect((await signInWith(key)).status).toBe(201);
  });

  it('are in the audit trail: added, removed, and refused', async () => {
    const { at, id, key } = await withPasskey();
    await at.ask('delete', `/ui/passkeys/${id}`);
    await signInWith(key);
    const { rows } = await workspaces.service.pool.query(
      "SELECT action FROM audit_event WHERE action LIKE '%passkey' OR action = 'account.refuse-sign-in' ORDER BY id",
    );
    expect(rows.map(({ action }) => action).slice(-3)).toEqual([
      'account.create-passkey',
      'account.delete-passkey',
      'account.refuse-sign-in',
    ]);
  });

  it.each([
    [{ for: 'something' }, 422],
    [{}, 422],
  ])('cannot be requested for another purpose: %j', async (body, status) => {
    expect((await browser().ask('post', '/ui/passkeys/ask', body)).status).toBe(status);
  });

  it.each([
    {},
    { id: 'x' },
    { id: '!', rawId: '!', type: 'public-key', clientExtensionResults: {}, response: {} },
    'text',
    null,
  ])('refuse everything except an answer: %j', async (passkey) => {
    const at = browser();
    await at.question('sign-in');
    expect((await at.ask('post', '/ui/session', { method: 'passkey', passkey })).status).toBe(422);
  });
});
