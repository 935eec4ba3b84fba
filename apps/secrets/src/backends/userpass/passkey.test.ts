import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Lie, manualClock, SoftwareAuthenticator } from '@keystead/testing';
import { withSecondNode } from '../../../test/second-node';
import { type Client, startSecrets } from '../../../test/start-secrets';

const origin = 'https://secrets.example.com';
const mount = 'auth/userpass';

describe('passkeys of users', () => {
  const clock = manualClock(Date.UTC(2027, 0, 1));
  const secrets = startSecrets({ clock, env: { SECRETS_PUBLIC_URL: origin } });
  let people = 0;

  const logIn = async (name: string, at = mount) =>
    (await secrets.anonymous.write(`${at}/login/${name}`, { password: 'right' }).expect(200)).body.auth;
  const person = async (fields: object = {}) => {
    await secrets.root.write(`sys/${mount}`, { type: 'userpass' });
    const name = `person-${++people}`;
    await secrets.root.write(`${mount}/users/${name}`, { password: 'right', ...fields }).expect(204);
    return { name, as: secrets.as((await logIn(name)).client_token) };
  };
  const begin = async (as: Client) => {
    clock.advance(1);
    return (await as.write(`${mount}/passkey/register/begin`)).body.data;
  };
  const register = async (as: Client, key = new SoftwareAuthenticator(origin), more: object = {}) => {
    const credential = key.make(await begin(as));
    return as.write(`${mount}/passkey/register`, { name: 'laptop', password: 'right', credential, ...more });
  };
  const withPasskey = async (fields: object = {}, counts = false) => {
    const user = await person(fields);
    const key = new SoftwareAuthenticator(origin, counts);
    const { status, body } = await register(user.as, key);
    expect(status).toBe(200);
    return { ...user, key, id: body.data.id as string };
  };
  const question = async (client_nonce = 'n') => {
    clock.advance(1);
    return (await secrets.anonymous.write(`${mount}/passkey/login/begin`, { client_nonce }).expect(200)).body.data;
  };
  const answer = async (credential: unknown, client_nonce = 'n') =>
    secrets.anonymous.write(`${mount}/passkey/login`, { credential, client_nonce });
  const enter = async (key: SoftwareAuthenticator, lie: Lie = {}) => answer(key.show(await question(), lie));
  const unknown = { errors: ['this passkey is not registered here'] };

  it('log a user in as the password does', async () => {
    const { name, as, key } = await withPasskey({ token_policies: 'dev', token_ttl: '30m' });
    expect(await question()).toMatchObject({ rpId: 'secrets.example.com', userVerification: 'required' });
    const { status, body } = await enter(key);
    const byPassword = await logIn(name);
    expect([status, body.auth]).toEqual([
      200,
      { ...byPassword, client_token: expect.any(String), accessor: expect.any(String) },
    ]);
    expect(body.auth.client_token).not.toBe(byPassword.client_token);
    const listed = (await as.list(`${mount}/passkeys`).expect(200)).body.data;
    expect(Object.values(listed.key_info)).toEqual([
      { name: 'laptop', created_time: expect.any(String), last_used_time: expect.any(String) },
    ]);
    const renewed = await secrets.as(body.auth.client_token).write('auth/token/renew-self').expect(200);
    expect(renewed.body.auth.lease_duration).toBe(1800);
  });

  it('are valid once, for the client that asked, for five minutes', async () => {
    const { key } = await withPasskey();
    const shown = key.show(await question());
    expect((await answer(shown, 'another')).body).toEqual(unknown);
    expect((await answer(shown)).status).toBe(200);
    expect((await answer(shown)).body).toEqual(unknown);
    const late = key.show(await question());
    clock.advance(5 * 60_000 + 1);
    expect((await answer(late)).body).toEqual(unknown);
    // The clock of the node that asked was ahead.
    const early = key.show(await question());
    clock.advance(-5 * 60_000 - 1);
    expect((await answer(early)).body).toEqual(unknown);
    clock.advance(5 * 60_000 + 1);
    const older = key.show(await question());
    expect((await enter(key)).status).toBe(200);
    expect((await answer(older)).body).toEqual(unknown);
  });

  it('accept only one of many simultaneous answers', async () => {
    const { key } = await withPasskey();
    const shown = key.show(await question());
    const answers = await Promise.all(Array.from({ length: 6 }, () => answer(shown)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it.each<[string, Lie]>([
    ['of another origin', { origin: 'https://evil.example.com' }],
    ['for another host', { rpId: 'evil.example.com' }],
    ['of another type', { type: 'webauthn.create' }],
    ['to another challenge', { challenge: Buffer.alloc(56).toString('base64url') }],
    ['without user verification', { unverified: true }],
    ['of another key', { signedBy: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }],
  ])('refuse an answer %s', async (_what, lie) => {
    const { key } = await withPasskey();
    expect((await enter(key, lie)).body).toEqual(unknown);
    expect((await enter(key)).status).toBe(200);
  });

  it('are refused while wrong passwords lock their user, like the password', async () => {
    const { name, key } = await withPasskey();
    for (let i = 0; i < 5; i += 1) {
      await secrets.anonymous.write(`${mount}/login/${name}`, { password: 'wrong' }).expect(400);
    }
    const refused = await enter(key);
    expect([refused.status, refused.body.errors]).toEqual([
      403,
      ['this user is locked after too many wrong passwords: wait, or ask an administrator to unlock the user'],
    ]);
    const { accessor } = (await secrets.root.read('sys/auth').expect(200)).body.data['userpass/'];
    await secrets.root.write(`sys/locked-users/${accessor}/unlock/${name}`).expect(204);
    expect((await enter(key)).status).toBe(200);
    for (let i = 0; i < 5; i += 1) {
      await secrets.anonymous.write(`${mount}/login/${name}`, { password: 'wrong' }).expect(400);
    }
    expect((await enter(key)).status).toBe(403);
    clock.advance(15 * 60_000);
    expect((await enter(key)).status).toBe(200);
  });

  it('refuse a copy of an authenticator that counts', async () => {
    const { key } = await withPasskey({}, true);
    expect((await enter(key)).status).toBe(200);
    key.counter = 0;
    expect((await enter(key)).body).toEqual(unknown);
  });

  it('are registered only with a token of the user’s own login here, and the password', async () => {
    const { name, as } = await person({ token_policies: 'root-like' });
    const other = await person();
    const denied = /send the token of your own login at this method/;
    const child = await secrets.root
      .write('auth/token/create', { policies: ['default'], meta: { username: name } })
      .expect(200);
    await secrets.root.write('sys/auth/other', { type: 'userpass' }).expect(204);
    await secrets.root.write(`auth/other/users/${name}`, { password: 'right' }).expect(204);
    const elsewhere = secrets.as((await logIn(name, 'auth/other')).client_token);
    for (const caller of [secrets.root, secrets.as(child.body.auth.client_token), elsewhere, secrets.anonymous]) {
      await caller.write(`${mount}/passkey/register/begin`).expect(403, denied);
      await caller.list(`${mount}/passkeys`).expect(403, denied);
    }
    expect((await register(as, undefined, { password: 'wrong' })).body.errors).toEqual([
      'invalid username or password',
    ]);
    // The challenge of one user is not valid for another.
    const credential = new SoftwareAuthenticator(origin).make(await begin(as));
    const fields = { name: 'x', password: 'right', credential };
    expect((await other.as.write(`${mount}/passkey/register`, fields)).status).toBe(400);
    expect((await as.write(`${mount}/passkey/register`, fields)).status).toBe(200);
    expect((await as.write(`${mount}/passkey/register`, fields)).body.errors).toEqual([
      'credential is already registered',
    ]);
  });

  it.each([
    [{ name: ' ' }, 'name must have 1 to 100 characters'],
    [{ name: 'x'.repeat(101) }, 'name must have 1 to 100 characters'],
    [{ credential: {} }, 'credential is not the response for a new passkey'],
  ])('refuse %j', async (more, message) => {
    const { as } = await person();
    expect((await register(as, undefined, more)).body.errors).toEqual([message]);
  });

  it('end with their user, and are not those of another user of the same name', async () => {
    const { name, key, as } = await withPasskey();
    await secrets.root.delete(`${mount}/users/${name}`).expect(204);
    expect((await enter(key)).body).toEqual(unknown);
    clock.advance(1);
    await secrets.root.write(`${mount}/users/${name}`, { password: 'right' }).expect(204);
    expect((await enter(key)).body).toEqual(unknown);
    const again = secrets.as((await logIn(name)).client_token);
    const { id } = (await register(again)).body.data;
    // A token of the earlier user does not work for the later user.
    await as.write(`${mount}/passkey/register/begin`).expect(403);
    await as.list(`${mount}/passkeys`).expect(403);
    await as.delete(`${mount}/passkeys/${id}`).expect(403);
    // Changing a user does not end their logins.
    await secrets.root.write(`${mount}/users/${name}`, { token_ttl: '1h' }).expect(204);
    await again.list(`${mount}/passkeys`).expect(200);
  });

  it('are not those of a user of an earlier mount at the same path', async () => {
    const at = 'auth/replaced';
    await secrets.root.write(`sys/${at}`, { type: 'userpass' }).expect(204);
    await secrets.root.write(`${at}/users/ana`, { password: 'right', token_type: 'batch' }).expect(204);
    // Batch tokens outlive their mount.
    const earlier = secrets.as((await logIn('ana', at)).client_token);
    await earlier.write(`${at}/passkey/register/begin`).expect(200);
    await secrets.root.delete(`sys/${at}`).expect(204);
    await secrets.root.write(`sys/${at}`, { type: 'userpass' }).expect(204);
    await secrets.root.write(`${at}/users/ana`, { password: 'right' }).expect(204);
    await earlier.read('auth/token/lookup-self').expect(200);
    await earlier.write(`${at}/passkey/register/begin`).expect(403);
  });

  it('are registered from any device, whose attestation is not read', async () => {
    const { as } = await person();
    const attested = new SoftwareAuthenticator(origin, false, 'apple');
    expect((await register(as, attested)).status).toBe(200);
    expect((await enter(attested)).status).toBe(200);
  });

  it('are listed and deleted by their user, and by an administrator', async () => {
    const { name, as, key, id } = await withPasskey();
    const stranger = await person();
    await stranger.as.delete(`${mount}/passkeys/${id}`).expect(204);
    await stranger.as.delete(`${mount}/users/${name}/passkeys/${id}`).expect(403);
    expect((await secrets.root.list(`${mount}/users/${name}/passkeys`).expect(200)).body.data.keys).toEqual([id]);
    expect((await enter(key)).status).toBe(200);
    await as.delete(`${mount}/passkeys/${id}`).expect(204);
    await as.list(`${mount}/passkeys`).expect(404);
    expect((await enter(key)).body).toEqual(unknown);
    const again = (await register(as)).body.data.id;
    await secrets.root.delete(`${mount}/users/${name}/passkeys/${again}`).expect(204);
    await as.list(`${mount}/passkeys`).expect(404);
  });

  it('are at most 20 for a user', async () => {
    const { as } = await person();
    for (let made = 0; made < 19; made++) expect((await register(as)).status).toBe(200);
    const two = await Promise.all([register(as), register(as)]);
    expect(two.map(({ status }) => status).sort()).toEqual([200, 400]);
    await as.write(`${mount}/passkey/register/begin`).expect(400, { errors: ['a user has at most 20 passkeys'] });
  });

  it('work only from the addresses of their user', async () => {
    const { name, key } = await withPasskey();
    await secrets.root.write(`${mount}/users/${name}`, { token_bound_cidrs: '10.0.0.0/8' }).expect(204);
    expect((await enter(key)).status).toBe(403);
  });

  it('need no code if the MFA method accepts them', async () => {
    const { key, as } = await withPasskey();
    const { entity_id } = (await as.read('auth/token/lookup-self')).body.data;
    const made = await secrets.root.write('identity/mfa/method/totp', { issuer: 'x' }).expect(200);
    const { method_id } = made.body.data;
    await secrets.root
      .write('identity/mfa/login-enforcement/all', { mfa_method_ids: [method_id], identity_entity_ids: [entity_id] })
      .expect(204);
    const waiting = await enter(key);
    expect(waiting.body.auth).toMatchObject({ client_token: '', mfa_requirement: expect.anything() });
    await secrets.root.write(`identity/mfa/method/totp/${method_id}`, { accept_passkeys: true }).expect(204);
    const read = await secrets.root.read(`identity/mfa/method/totp/${method_id}`).expect(200);
    expect(read.body.data).toMatchObject({ accept_passkeys: true, issuer: 'x' });
    expect((await enter(key)).body.auth).toMatchObject({ client_token: expect.stringMatching(/^s\./) });
    await secrets.root.delete('identity/mfa/login-enforcement/all').expect(204);
  });

  it('answer nothing before the first is registered, and store nothing for strangers', async () => {
    await secrets.root.write('sys/auth/empty', { type: 'userpass' }).expect(204);
    const asked = await secrets.anonymous.write('auth/empty/passkey/login/begin').expect(200);
    const credential = new SoftwareAuthenticator(origin).show(asked.body.data);
    await secrets.anonymous.write('auth/empty/passkey/login', { credential }).expect(400, unknown);
    await secrets.anonymous
      .write('auth/empty/passkey/login', { credential: { id: 'x' } })
      .expect(400, { errors: ['credential is not a passkey response'] });
  });
});

describe('passkeys at two nodes', () => {
  let hold: Promise<void> | undefined;
  let held = () => {};
  const secrets = startSecrets({
    env: { SECRETS_PUBLIC_URL: origin },
    fault: async (point) => {
      if (point !== 'commit:before' || hold === undefined) return;
      held();
      await hold;
    },
  });
  const urls = withSecondNode(secrets, { SECRETS_PUBLIC_URL: origin });
  /** A request to the second node. */
  const elsewhere = (method: 'DELETE' | 'POST', path: string, token: string, body: object = {}) =>
    fetch(`${urls[1]}/v1/${path}`, {
      method,
      headers: { 'X-Service-Token': token, 'Content-Type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    });
  /** Holds back a request of the first node while another runs at the second. */
  const during = async <T>(first: () => Promise<T>, second: () => Promise<unknown>): Promise<T> => {
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const isHeld = new Promise<void>((resolve) => {
      held = resolve;
    });
    const answer = first();
    await isHeld;
    await second();
    hold = undefined;
    release();
    return answer;
  };

  it.each(['registration', 'deletion'])('are never those of a deleted user if the %s is late', async (late) => {
    await secrets.root.write(`sys/${mount}`, { type: 'userpass' });
    const user = `${mount}/users/${late}`;
    const logIn = async () =>
      (await secrets.anonymous.write(`${mount}/login/${late}`, { password: 'right' }).expect(200)).body.auth
        .client_token;
    await secrets.root.write(user, { password: 'right' }).expect(204);
    const token = await logIn();
    const asked = await secrets.as(token).write(`${mount}/passkey/register/begin`).expect(200);
    const credential = new SoftwareAuthenticator(origin).make(asked.body.data);
    const fields = { name: 'laptop', password: 'right', credential };
    if (late === 'registration') {
      const register = async () => secrets.as(token).write(`${mount}/passkey/register`, fields);
      await during(register, () => elsewhere('DELETE', user, secrets.rootToken));
    } else {
      const end = async () => secrets.root.delete(user).expect(204);
      await during(end, () => elsewhere('POST', `${mount}/passkey/register`, token, fields));
    }
    await secrets.root.write(user, { password: 'right' }).expect(204);
    await secrets
      .as(await logIn())
      .list(`${mount}/passkeys`)
      .expect(404);
  });
});

describe('passkeys of a service without an address', () => {
  const secrets = startSecrets();

  it('are refused by name', async () => {
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await secrets.anonymous
      .write('auth/userpass/passkey/login/begin')
      .expect(400, { errors: ['passkeys need the public URL of the service: set SECRETS_PUBLIC_URL'] });
  });
});
