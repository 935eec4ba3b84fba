import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SoftwareAuthenticator } from '@keystead/testing';
import pg from 'pg';
import request from 'supertest';
import { authenticator, newMethod } from './authenticator';
import { until } from './fresh-storage';
import { withSecondNode } from './second-node';
import { DirectoryStandIn } from './stand-ins/ldap';
import { ProviderStandIn } from './stand-ins/oidc';
import { type Secrets, startSecrets } from './start-secrets';

const page = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };
type Headers = Readonly<Record<string, string>>;

/** A browser with a page of the console open, with or without a cookie. `url` is the address of another node. */
function browser(secrets: Secrets, url?: string) {
  let cookie: string | undefined;
  const at = () => request(url ?? secrets.server);
  const dressed = (test: request.Test, headers: Headers = page) => {
    if (cookie !== undefined) test.set('Cookie', cookie);
    for (const [name, value] of Object.entries(headers)) test.set(name, value);
    return test;
  };
  return {
    get cookie() {
      return cookie;
    },
    set cookie(value: string | undefined) {
      cookie = value;
    },
    async signIn(proof: object, status = 201) {
      const answer = await dressed(at().post('/ui/session')).send(proof).expect(status);
      const [line] = (answer.headers['set-cookie'] as unknown as string[] | undefined) ?? [];
      if (status === 201) cookie = line!.split(';')[0];
      return { body: answer.body, line };
    },
    show: (status = 200) => dressed(at().get('/ui/session')).expect(status),
    config: () => dressed(at().get('/ui/config')).expect(200),
    signOut: () => dressed(at().delete('/ui/session')).expect(204),
    stepUp: (proof: object, status = 200) => dressed(at().post('/ui/session/step-up')).send(proof).expect(status),
    read: (where: string, headers?: Headers) => dressed(at().get(`/v1/${where}`), headers),
    write: (where: string, body: object = {}, headers?: Headers) =>
      dressed(at().post(`/v1/${where}`), headers).send(body),
    delete: (where: string, headers?: Headers) => dressed(at().delete(`/v1/${where}`), headers),
  };
}

/** Makes every step-up too old to be accepted. */
async function forgetProofs(secrets: Secrets): Promise<void> {
  const client = new pg.Client(secrets.database.url);
  await client.connect();
  await client.query('UPDATE console_session SET step_up_until_ms = 0');
  await client.end();
}

const time = expect.stringMatching(/^20.*Z$/);

describe('a session of the console', () => {
  const secrets = startSecrets();
  const unproven = () => forgetProofs(secrets);
  const token = async (body: object = {}) =>
    (await secrets.root.write('auth/token/create', { policies: ['default'], ...body }).expect(200)).body.auth;

  it('is created from a pasted token, in a cookie that no script can read, with a child token', async () => {
    const at = browser(secrets);
    const { body, line } = await at.signIn({ method: 'token', token: ` ${secrets.rootToken}\n` });
    expect(body).toEqual({
      name: 'root',
      kind: 'token',
      'expires-at': time,
      'idle-ends-at': time,
      'step-up-until': time,
      'step-up-methods': ['token'],
      policies: ['root'],
      accessor: expect.any(String),
      'entity-id': null,
      namespace: '',
      'token-type': 'service',
    });
    expect(line).toMatch(/^keystead-secrets=[\w-]{43}; /);
    expect(line).toMatch(/HttpOnly/i);
    expect(line).toMatch(/SameSite=Strict/i);
    expect(JSON.stringify((await at.show()).body)).not.toContain(at.cookie!.split('=')[1]);
    const { data } = (await at.read('auth/token/lookup-self').expect(200)).body;
    expect(data).toMatchObject({
      accessor: body.accessor,
      path: 'auth/token/console',
      orphan: false,
      policies: ['root'],
    });
    expect(data.id).not.toBe(secrets.rootToken);
    expect(data.ttl).toBeLessThanOrEqual(3600);
    await at.signOut();
    await at.show(204);
    await at.read('auth/token/lookup-self').expect(401, { errors: ['sign in first'] });
    await secrets.root.write('auth/token/lookup-accessor', { accessor: body.accessor }).expect(400);
    await secrets.root.read('auth/token/lookup-self').expect(200);
  });

  it('has the rights of its token, and ends with it or its parent', async () => {
    const made = await token({ no_default_policy: true, policies: ['nothing'], meta: { team: 'net' } });
    const at = browser(secrets);
    const { body } = await at.signIn({ method: 'token', token: made.client_token });
    expect(body.policies).toEqual(['nothing']);
    await at.read('sys/mounts').expect(403);
    await secrets.root.write('auth/token/revoke-accessor', { accessor: body.accessor }).expect(204);
    await at.show(204);
    const again = browser(secrets);
    await again.signIn({ method: 'token', token: made.client_token });
    await secrets.root.write('auth/token/revoke', { token: made.client_token }).expect(204);
    await again.show(204);
    await browser(secrets).signIn({ method: 'token', token: made.client_token }, 401);
  });

  it('is accepted only from our own pages, and never next to a token', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    await at.read('sys/mounts').expect(200);
    const { 'X-Keystead-Console': _, ...noHeader } = page;
    await at.read('sys/mounts', noHeader).expect(403);
    for (const site of ['cross-site', 'same-site', 'none']) {
      await at.read('sys/mounts', { ...page, 'Sec-Fetch-Site': site }).expect(403);
      await at.write('sys/seal', {}, { ...page, 'Sec-Fetch-Site': site }).expect(403);
    }
    await at.write('cubbyhole/a', { v: 1 }, { 'X-Keystead-Console': '1', Origin: 'https://evil.example' }).expect(403);
    await at.write('cubbyhole/a', { v: 1 }, { Origin: 'https://evil.example' }).expect(403);
    const weak = (await token()).client_token;
    await at.read('sys/mounts', { ...page, 'X-Service-Token': weak }).expect(403);
    await at.read('sys/mounts', { ...page, Authorization: `Bearer ${weak}` }).expect(403);
    await at.read('sys/mounts', { ...page, 'X-Vault-Token': weak }).expect(403);
    const { body } = await at.read('auth/token/lookup-self', { ...page, 'X-Service-Token': weak }).expect(200);
    expect(body.data.id).toBe(weak);
    const twisted = at.cookie!;
    at.cookie = `${twisted.slice(0, -1)}${twisted.endsWith('A') ? 'B' : 'A'}`;
    await at.read('sys/mounts').expect(401);
    at.cookie = 'keystead-secrets=';
    await at.read('sys/mounts').expect(401);
    at.cookie = twisted;
    await at.read('sys/mounts').expect(200);
  });

  it('cannot be created from an unsuitable token, and says why', async () => {
    const say = async (proof: object, status: number) =>
      (await browser(secrets).signIn(proof, status)).body.errors.map(({ detail }: { detail: string }) => detail).join();
    expect(await say({ method: 'token', token: 's.unknown' }, 401)).toContain('not valid');
    const limited = await token({ num_uses: 3 });
    expect(await say({ method: 'token', token: limited.client_token }, 401)).toContain('limited number of uses');
    const left = await secrets.root.write('auth/token/lookup', { token: limited.client_token }).expect(200);
    expect(left.body.data.num_uses).toBe(3);
    const wrapped = await secrets
      .as(secrets.rootToken, { 'X-Service-Wrap-TTL': '5m' })
      .write('sys/wrapping/wrap', { a: 1 })
      .expect(200);
    expect(await say({ method: 'token', token: wrapped.body.wrap_info.token }, 401)).toContain('unwrap it');
    await secrets.root.write('sys/wrapping/lookup', { token: wrapped.body.wrap_info.token }).expect(200);
    expect(await say({ method: 'token' }, 422)).toContain('token');
    expect(await say({ method: 'magic', token: 'x' }, 422)).toContain('method');
    expect(await say({ method: 'token', token: 'x'.repeat(10_000) }, 422)).toContain('too long');
  });

  it('uses a batch token directly, and ends with it', async () => {
    const batch = await token({ type: 'batch', ttl: '5m' });
    const at = browser(secrets);
    const { body } = await at.signIn({ method: 'token', token: batch.client_token });
    expect(body['token-type']).toBe('batch');
    expect(Date.parse(body['expires-at']) - Date.now()).toBeLessThan(301_000);
    await at.read('auth/token/lookup-self').expect(200);
    await at.signOut();
    await at.show(204);
    await secrets.as(batch.client_token).read('auth/token/lookup-self').expect(200);
  });

  it('is bound to the addresses of its token', async () => {
    await secrets.root.write('auth/token/roles/far', { token_bound_cidrs: ['192.0.2.0/24'] }).expect(204);
    const far = await secrets.root.write('auth/token/create/far', { policies: ['default'] }).expect(200);
    await browser(secrets).signIn({ method: 'token', token: far.body.auth.client_token }, 401);
  });

  it('belongs to the namespace of its token', async () => {
    await secrets.root.write('sys/namespaces/team').expect(200);
    const team = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'team' });
    await team.write('sys/policies/acl/see', { policy: 'path "sys/mounts" { capabilities = ["read"] }' }).expect(204);
    const made = (await team.write('auth/token/create', { policies: ['see'] }).expect(200)).body.auth;
    const at = browser(secrets);
    const { body } = await at.signIn({ method: 'token', token: made.client_token });
    expect(body).toMatchObject({ namespace: 'team/', policies: ['default', 'see'] });
    await at.read('team/sys/mounts').expect(200);
    await at.read('sys/mounts', { ...page, 'X-Service-Namespace': 'team' }).expect(200);
    await at.read('sys/mounts').expect(403);
  });

  it('is replaced by signing in again, which ends the previous one', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    const before = at.cookie;
    await at.signIn({ method: 'token', token: secrets.rootToken });
    const after = at.cookie;
    expect(after).not.toBe(before);
    at.cookie = before;
    await at.show(204);
    at.cookie = after;
    await at.show(200);
  });

  it('is shown only to our own pages', async () => {
    for (const headers of [
      {},
      { 'X-Keystead-Console': '1' },
      { ...page, 'Sec-Fetch-Site': 'cross-site' },
    ] as Headers[]) {
      for (const where of ['/ui/session', '/ui/config']) {
        const test = request(secrets.server).get(where);
        for (const [name, value] of Object.entries(headers)) test.set(name, value);
        await test.expect(403);
      }
      const post = request(secrets.server).post('/ui/session').send({ method: 'token', token: secrets.rootToken });
      for (const [name, value] of Object.entries(headers)) post.set(name, value);
      expect((await post.expect(403)).headers['set-cookie']).toBeUndefined();
    }
  });

  it('needs a confirmation from the last five minutes for destructive actions of pages, but not of other callers', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    await unproven();
    await secrets.root.write('sys/mounts/gone', { type: 'kv', options: { version: '2' } }).expect(204);
    await secrets.root.write('gone/data/a', { data: { v: 1 } }).expect(200);
    const refused = await at.delete('sys/mounts/gone').expect(403);
    expect(refused.headers['x-keystead-step-up']).toBe('required');
    expect(refused.body.errors).toEqual([expect.stringMatching(/^step-up-required: /)]);
    for (const [where, body] of [
      ['gone/destroy/a', { versions: [1] }],
      ['sys/leases/revoke-prefix/scheduler', {}],
      ['sys/leases/revoke-force/scheduler', {}],
      ['sys/seal', {}],
      ['sys/rekey-recovery-key/init', {}],
      ['sys/generate-root/attempt', {}],
      ['sys/generate-root-token/attempt', {}],
    ] as const) {
      const answer = await at.write(where, body).expect(403);
      expect(answer.headers['x-keystead-step-up']).toBe('required');
    }
    await at.delete('gone/metadata/a').expect(403);
    await at.stepUp({ token: 's.wrong' }, 401);
    await at.stepUp({ password: 'x' }, 401);
    await at.stepUp({ code: '123456' }, 401);
    await at.stepUp({}, 422);
    await at.delete('sys/mounts/gone').expect(403);
    const { body } = await at.stepUp({ token: secrets.rootToken });
    const minutes = (Date.parse(body['step-up-until']) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(4);
    expect(minutes).toBeLessThanOrEqual(5.1);
    await at.delete('gone/metadata/a').expect(204);
    await at.delete('sys/mounts/gone').expect(204);
    await secrets.root.write('sys/mounts/gone', { type: 'kv' }).expect(204);
    await secrets.root.delete('sys/mounts/gone').expect(204);
  });

  it('needs a confirmation also for credentials that outlive it', async () => {
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await secrets.root.write('sys/auth/approle', { type: 'approle' }).expect(204);
    await secrets.root.write('auth/approle/role/robot', {}).expect(204);
    await secrets.root.write('auth/token/roles/robot', {}).expect(204);
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    await at.write('auth/token/create', { ttl: '1m' }).expect(200);
    await unproven();
    const makes: [string, object][] = [
      ['auth/token/create', { ttl: '1m' }],
      ['auth/token/create-orphan', { ttl: '1m' }],
      ['auth/token/create/robot', { ttl: '1m' }],
      ['auth/userpass/users/ana', { password: 'right horse' }],
      ['auth/approle/role/robot/secret-id', {}],
      ['auth/approle/role/robot/custom-secret-id', { secret_id: 'chosen' }],
    ];
    for (const [where, body] of makes) {
      const refused = await at.write(where, body).expect(403);
      expect([where, refused.headers['x-keystead-step-up']]).toEqual([where, 'required']);
    }
    await at.stepUp({ token: secrets.rootToken });
    for (const [where, body] of makes) {
      expect([where, (await at.write(where, body)).status]).toEqual([where, where.includes('users/') ? 204 : 200]);
    }
    await unproven();
    await at.write('auth/userpass/users/ana/password', { password: 'another' }).expect(403);
    await secrets.root.write('auth/userpass/users/ana/password', { password: 'another' }).expect(204);
  });

  it('checks the permission before asking for a confirmation', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: (await token()).client_token });
    await unproven();
    const answer = await at.write('sys/seal').expect(403);
    expect(answer.headers['x-keystead-step-up']).toBeUndefined();
  });
});

describe('the actions that need a confirmation', () => {
  const secrets = startSecrets();

  it('are those that cannot be undone, or create or accept a credential, and no others', async () => {
    for (const type of ['userpass', 'approle']) await secrets.root.write(`sys/auth/${type}`, { type }).expect(204);
    await secrets.root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
    const declared = [...secrets.service.kernel.mounts.all()].flatMap(({ type, backend }) =>
      backend.paths.flatMap(({ pattern, operations }) =>
        Object.entries(operations)
          .filter(([, operation]) => operation?.stepUp)
          .map(([verb]) => `${verb} ${type}/${pattern}`),
      ),
    );
    const ceremonies = ['rekey', 'rekey-recovery-key', 'rotate/recovery', 'rotate/root'].flatMap((base) =>
      ['init', 'update', 'verify'].map((step) => `write system/${base}/${step}`),
    );
    const root = ['generate-root', 'generate-root-token'].flatMap((base) =>
      ['attempt', 'update'].map((step) => `write system/${base}/${step}`),
    );
    expect([...new Set(declared)].sort()).toEqual(
      [
        ...ceremonies,
        ...root,
        ...['create', 'create-orphan', 'create/:role'].map((pattern) => `write token/${pattern}`),
        'write approle/role/:role_name/custom-secret-id',
        'write approle/role/:role_name/secret-id',
        'write userpass/users/:username',
        'write userpass/users/:username/password',
        'delete userpass/passkeys/:id',
        'delete userpass/users/:username/passkeys/:id',
        'write identity/mfa/method/totp/generate',
        'write identity/mfa/method/totp/admin-generate',
        'write identity/mfa/method/totp/admin-destroy',
        'delete identity/mfa/method/totp/:method_id',
        'read identity/oidc/client/:name',
        'read identity/oidc/token/:name',
        'write system/namespaces/api-lock/lock',
        'write system/namespaces/api-lock/lock/:path*',
        'delete kv/metadata/:path*',
        'delete system/auth/:path*',
        'delete system/mounts/:path*',
        'delete system/namespaces/:path*',
        'write kv/destroy/:path*',
        'write system/leases/revoke-force/:prefix*',
        'write system/leases/revoke-prefix/:prefix*',
        'write system/seal',
      ].sort(),
    );
  });
});

describe('a session by password', () => {
  const secrets = startSecrets();
  const ana = { method: 'userpass', mount: 'people/', username: 'ana', password: 'right horse' };
  beforeAll(async () => {
    await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
    await secrets.root.write('auth/people/users/ana', { password: 'right horse' }).expect(204);
    await secrets.root.write('auth/people/users/ben', { password: 'other horse', token_num_uses: 5 }).expect(204);
    await secrets.root.write('auth/people/users/cem', { password: 'third horse', token_type: 'batch' }).expect(204);
  });

  it('is created at any userpass mount, and revokes its token at its end', async () => {
    const at = browser(secrets);
    const { body } = await at.signIn(ana);
    expect(body).toMatchObject({
      name: 'ana',
      kind: 'userpass',
      'step-up-methods': ['password'],
      policies: ['default'],
    });
    expect(body['entity-id']).toEqual(expect.any(String));
    for (const mount of ['people', 'auth/people/', '/people/']) await browser(secrets).signIn({ ...ana, mount });
    await at.signOut();
    await secrets.root.write('auth/token/lookup-accessor', { accessor: body.accessor }).expect(400);
  });

  it('is refused with the same message for any reason', async () => {
    const say = async (proof: object) => (await browser(secrets).signIn({ ...ana, ...proof }, 401)).body.errors;
    const wrong = await say({ password: 'wrong' });
    expect(wrong[0].detail).toBe('wrong user name or password');
    expect(await say({ username: 'unknown' })).toEqual(wrong);
    expect(await say({ username: '../config' })).toEqual(wrong);
    expect(await say({ username: 'a/b' })).toEqual(wrong);
    const { body } = await browser(secrets).signIn({ ...ana, mount: 'token/' }, 422);
    expect(body.errors[0]).toMatchObject({ field: 'mount' });
    await browser(secrets).signIn({ ...ana, mount: '../people' }, 422);
    const away = await browser(secrets).signIn({ ...ana, namespace: 'nowhere' }, 422);
    expect(away.body.errors[0]).toMatchObject({ field: 'namespace' });
  });

  it('counts guesses together with those of the API', async () => {
    await secrets.root.write('auth/people/users/dee', { password: 'right' }).expect(204);
    const dee = { ...ana, username: 'dee' };
    for (let i = 0; i < 3; i++) await browser(secrets).signIn({ ...dee, password: `wrong ${i}` }, 401);
    for (let i = 0; i < 2; i++)
      await secrets.anonymous.write('auth/people/login/dee', { password: `no ${i}` }).expect(400);
    await browser(secrets).signIn({ ...dee, password: 'right' }, 401);
    await secrets.anonymous.write('auth/people/login/dee', { password: 'right' }).expect(400);
  });

  it('leaves no unsuitable token behind, and uses a batch token directly', async () => {
    const { body } = await browser(secrets).signIn({ ...ana, username: 'ben', password: 'other horse' }, 401);
    expect(body.errors[0].detail).toContain('limited number of uses');
    const { body: left } = await secrets.root.list('sys/leases/lookup/auth/people/login/ben');
    expect(left.data?.keys ?? []).toEqual([]);
    const cem = await browser(secrets).signIn({ ...ana, username: 'cem', password: 'third horse' });
    expect(cem.body['token-type']).toBe('batch');
  });

  it('confirms the password again, without leaving a token behind', async () => {
    const at = browser(secrets);
    await at.signIn(ana);
    const keys = async () =>
      (await secrets.root.list('sys/leases/lookup/auth/people/login/ana').expect(200)).body.data.keys.length;
    const before = await keys();
    await forgetProofs(secrets);
    await at.stepUp({ password: 'wrong' }, 401);
    expect((await at.show()).body['step-up-until']).toBeNull();
    await at.stepUp({ password: 'right horse' });
    expect((await at.show()).body['step-up-until']).toEqual(time);
    expect(await keys()).toBe(before);
  });

  it('asks for a required second factor, and accepts it as a confirmation', async () => {
    const at = browser(secrets);
    const entity = (await at.signIn(ana)).body['entity-id'];
    const method_id = await newMethod(secrets, { period: 30, skew: 1 });
    const secret = await secrets.root
      .write('identity/mfa/method/totp/admin-generate', { method_id, entity_id: entity })
      .expect(200);
    const app = authenticator(secret.body.data.url);
    await secrets.root
      .write('identity/mfa/login-enforcement/people', { mfa_method_ids: [method_id], auth_method_types: ['userpass'] })
      .expect(204);
    const asked = await browser(secrets).signIn(ana, 422);
    expect(asked.body.errors).toEqual([expect.objectContaining({ code: 'code-required', field: 'code' })]);
    await browser(secrets).signIn({ ...ana, code: '000000' }, 401);
    const now = secrets.service.kernel.clock.now();
    const inside = browser(secrets);
    const { body } = await inside.signIn({ ...ana, code: app.code(now) });
    expect(body['step-up-methods']).toEqual(['password', 'code']);
    await inside.stepUp({ code: app.code(now) }, 401);
    await inside.stepUp({ code: app.code(now, 1) });
    await inside.stepUp({ password: 'right horse' });
    await browser(secrets).signIn({ ...ana, password: 'wrong', code: app.code(now, 1) }, 401);
  });
});

describe('a session by passkey', () => {
  const origin = 'https://secrets.example';
  const secrets = startSecrets({ env: { SECRETS_PUBLIC_URL: origin } });
  const key = new SoftwareAuthenticator(origin);
  const ana = { method: 'userpass', mount: 'people/', username: 'ana', password: 'right horse' };
  const shown = async (nonce = 'n', from = key) => {
    const asked = await secrets.anonymous.write('auth/people/passkey/login/begin', { client_nonce: nonce }).expect(200);
    return { passkey: from.show(asked.body.data), nonce };
  };
  const proof = async () => ({ method: 'passkey', mount: 'people/', ...(await shown()) });
  /** Registers a passkey as its user does, on a page. */
  const register = async (who: object, credential: SoftwareAuthenticator) => {
    const at = browser(secrets);
    await at.signIn(who);
    const asked = await at.write('auth/people/passkey/register/begin').expect(200);
    const fields = { name: 'laptop', password: 'right horse', credential: credential.make(asked.body.data) };
    await at.write('auth/people/passkey/register', fields).expect(200);
    return at;
  };
  beforeAll(async () => {
    await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
    for (const name of ['ana', 'ben']) {
      await secrets.root.write(`auth/people/users/${name}`, { password: 'right horse' }).expect(204);
    }
    const at = await register(ana, key);
    expect((await at.show()).body).toMatchObject({ mount: 'auth/people/', 'step-up-methods': ['password'] });
  });

  it('is offered, and belongs to the user of the passkey', async () => {
    const at = browser(secrets);
    expect((await at.config()).body['sign-in']).toContainEqual({ method: 'passkey' });
    const sent = await proof();
    const { body } = await at.signIn(sent);
    expect(body).toMatchObject({ name: 'ana', kind: 'userpass', 'step-up-methods': ['passkey', 'password'] });
    await at.read('auth/token/lookup-self').expect(200);
    await browser(secrets).signIn(sent, 401);
    await browser(secrets).signIn({ ...(await proof()), nonce: 'another' }, 401);
    await browser(secrets).signIn({ ...(await proof()), mount: 'token/' }, 422);
    await browser(secrets).signIn({ ...(await proof()), namespace: 'nowhere' }, 422);
    await browser(secrets).signIn({ method: 'passkey', mount: 'people/' }, 401);
  });

  it('accepts the answer of a browser, and no deeply nested body', async () => {
    const send = async (passkey: object) => {
      const body = JSON.stringify({ ...(await proof()), passkey });
      const deep = body.replace('"deep"', '['.repeat(20_000) + ']'.repeat(20_000));
      return request(secrets.server).post('/ui/session').set(page).set('Content-Type', 'application/json').send(deep);
    };
    expect((await send({ id: 'deep' })).status).toBe(422);
    const { passkey } = await shown();
    expect((await send({ ...passkey, clientExtensionResults: { any: 'deep' } })).status).toBe(201);
  });

  it('is confirmed only by a passkey of the same user, and leaves no token of that confirmation', async () => {
    const bens = new SoftwareAuthenticator(origin);
    await register({ ...ana, username: 'ben' }, bens);
    const at = browser(secrets);
    await at.signIn(await proof());
    const tokens = async () => (await secrets.root.list('auth/token/accessors').expect(200)).body.data.keys.length;
    const before = await tokens();
    await forgetProofs(secrets);
    await at.stepUp(await shown('n', bens), 401);
    expect((await at.show()).body['step-up-until']).toBeNull();
    await at.stepUp(await shown());
    expect((await at.show()).body['step-up-until']).toEqual(time);
    expect(await tokens()).toBe(before);
  });

  it('continues with a code if the MFA method accepts no passkeys', async () => {
    const entity_id = (await browser(secrets).signIn(await proof())).body['entity-id'];
    const method_id = await newMethod(secrets);
    const app = await secrets.root
      .write('identity/mfa/method/totp/admin-generate', { method_id, entity_id })
      .expect(200);
    const { code } = authenticator(app.body.data.url);
    await secrets.root
      .write('identity/mfa/login-enforcement/people', { mfa_method_ids: [method_id], identity_entity_ids: [entity_id] })
      .expect(204);
    const asked = await browser(secrets).signIn(await proof(), 422);
    expect(asked.body.errors[0]).toMatchObject({ field: 'code', code: 'code-required' });
    const request = (asked.body.errors[1].detail as string).replace(/^request /, '');
    const again = { method: 'passkey', mount: 'people/', request };
    const at = browser(secrets);
    expect((await at.signIn({ ...again, code: code(Date.now()) })).body.name).toBe('ana');
    // A login that began in another way, or at another mount, cannot be finished as a passkey sign-in.
    const other = await secrets.anonymous.write('auth/people/login/ana', { password: 'right horse' }).expect(200);
    const waiting = `${other.body.auth.mfa_requirement.mfa_request_id}:${method_id}`;
    const crossed = { ...again, request: waiting, code: code(Date.now() + 30_000) };
    expect((await browser(secrets).signIn(crossed, 401)).body.errors[0].detail).toContain('another sign-in');
    expect((await at.stepUp(await shown(), 401)).body.errors[0].detail).toContain('confirm with a code');
    await secrets.root.write(`identity/mfa/method/totp/${method_id}`, { accept_passkeys: true }).expect(204);
    expect((await browser(secrets).signIn(await proof())).body.name).toBe('ana');
    await secrets.root.delete('identity/mfa/login-enforcement/people').expect(204);
  });
});

describe('a session by a directory', () => {
  const secrets = startSecrets();
  const directory = new DirectoryStandIn();
  const ada = { method: 'ldap', mount: 'staff/', username: 'ada', password: 'right horse' };
  beforeAll(async () => {
    await directory.start();
    directory.entries = [{ dn: 'uid=ada,dc=acme', password: 'right horse', attributes: { uid: ['ada'] } }];
    await secrets.root.write('sys/auth/staff', { type: 'ldap', config: { listing_visibility: 'unauth' } }).expect(204);
    const config = {
      url: directory.address,
      userdn: 'dc=acme',
      userattr: 'uid',
      discoverdn: false,
      deny_null_bind: true,
    };
    await secrets.root.write('auth/staff/config', config).expect(204);
    await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
    await secrets.root.write('auth/people/users/ada', { password: 'right horse' }).expect(204);
  });
  afterAll(() => directory.stop().catch(() => undefined));

  it('is offered if its method is visible, created with the directory password, and confirmed with it', async () => {
    const at = browser(secrets);
    expect((await at.config()).body['sign-in']).toContainEqual({ method: 'ldap', mount: 'staff/' });
    const { body } = await at.signIn(ada);
    expect(body).toMatchObject({ name: 'ada', kind: 'ldap', 'step-up-methods': ['password'] });
    await forgetProofs(secrets);
    await at.stepUp({ password: 'wrong' }, 401);
    await at.stepUp({ password: 'right horse' });
    expect((await at.show()).body['step-up-until']).toEqual(time);
  });

  it('is refused for a wrong password, at another kind of method, and while the directory is down', async () => {
    const { body } = await browser(secrets).signIn({ ...ada, password: 'wrong' }, 401);
    expect(body.errors[0].detail).toBe('wrong user name or password');
    for (const proof of [{ mount: 'people/' }, { method: 'userpass' }, { mount: 'token/' }]) {
      const refused = await browser(secrets).signIn({ ...ada, ...proof }, 422);
      expect(refused.body.errors[0]).toMatchObject({ field: 'mount' });
    }
    await directory.stop();
    await browser(secrets).signIn(ada, 502);
    await browser(secrets).signIn({ ...ada, mount: 'people/', method: 'userpass' });
  });

  it('confirms nothing for another session', async () => {
    const userpass = { ...ada, method: 'userpass', mount: 'people/' };
    const [here, there] = [browser(secrets), browser(secrets)];
    for (const at of [here, there]) await at.signIn(userpass);
    await forgetProofs(secrets);
    await here.stepUp({ password: 'right horse' });
    expect((await there.show()).body['step-up-until']).toBeNull();
    await there.stepUp({ token: secrets.rootToken }, 401);
  });
});

describe('the ends of a session', () => {
  let aheadMs = 0;
  const secrets = startSecrets({
    clock: { now: () => Date.now() + aheadMs },
    env: { SECRETS_UI_IDLE_MINUTES: '30', SECRETS_UI_SESSION_HOURS: '2' },
  });
  const minutes = (count: number) => {
    aheadMs += count * 60_000;
  };

  it('come with inactivity or at the maximum lifetime, and not before', async () => {
    const at = browser(secrets);
    const { body } = await at.signIn({ method: 'token', token: secrets.rootToken });
    minutes(29);
    await at.read('auth/token/lookup-self').expect(200);
    minutes(29);
    // Reading the session does not extend it.
    await at.show(200);
    minutes(2);
    await at.show(204);
    await at.read('auth/token/lookup-self').expect(401, { errors: ['sign in first'] });
    await until(async () => {
      const { status } = await secrets.root.write('auth/token/lookup-accessor', { accessor: body.accessor });
      return status === 400;
    }, 60_000);
    const busy = browser(secrets);
    await busy.signIn({ method: 'token', token: secrets.rootToken });
    for (let past = 0; past < 100; past += 20) {
      await busy.read('auth/token/lookup-self').expect(200);
      minutes(20);
    }
    await busy.read('auth/token/lookup-self').expect(200);
    minutes(21);
    await busy.read('auth/token/lookup-self').expect(401);
  });

  it('come although its page refreshes automatically', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    const byItself = { ...page, 'X-Keystead-Background': '1' };
    for (let past = 0; past < 30; past += 10) {
      await at.read('auth/token/lookup-self', byItself).expect(200);
      minutes(10);
    }
    await at.read('auth/token/lookup-self', byItself).expect(401);
  });

  it('come earlier for a confirmation: after five minutes', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    await at.write('sys/leases/revoke-prefix/scheduler').expect(204);
    minutes(6);
    await at.write('sys/leases/revoke-prefix/scheduler').expect(403);
    await at.stepUp({ token: secrets.rootToken });
    await at.write('sys/leases/revoke-prefix/scheduler').expect(204);
    minutes(6);
    await at.write('sys/leases/revoke-prefix/scheduler').expect(403);
  });
});

describe('sessions and the seal', () => {
  const secrets = startSecrets();

  it('do not work while the service is sealed, are not lost, and the page gets a notice', async () => {
    const at = browser(secrets);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    await at.stepUp({ token: secrets.rootToken });
    await at.write('sys/seal').expect(204);
    const config = await at.config();
    expect(config.body).toMatchObject({
      service: 'secrets',
      initialized: true,
      sealed: true,
      'needs-first-run': false,
    });
    await at.show(503);
    await at.signIn({ method: 'token', token: secrets.rootToken }, 503);
    await at.read('sys/mounts').expect(503);
    for (const key of secrets.recoveryKeys.slice(0, 3)) await at.write('sys/unseal', { key }).expect(200);
    await at.show(200);
    await at.read('sys/mounts').expect(200);
  });
});

describe('sessions of an installation with two nodes', () => {
  const secrets = startSecrets();
  const urls = withSecondNode(secrets);

  it('hold on both, and end on both at once', async () => {
    const here = browser(secrets, urls[0]);
    await here.signIn({ method: 'token', token: secrets.rootToken });
    const there = browser(secrets, urls[1]);
    there.cookie = here.cookie;
    await there.read('auth/token/lookup-self').expect(200);
    await there.stepUp({ token: secrets.rootToken });
    expect((await here.show()).body['step-up-until']).toEqual(time);
    await there.signOut();
    await here.show(204);
    await here.read('auth/token/lookup-self').expect(401);
  });
});

describe('the log and audit lines of sessions', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'console-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file, SECRETS_AUDIT_TABLE: 'on' } });

  it('show who did what, without cookies, tokens or passwords', async () => {
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await secrets.root.write('auth/userpass/users/ana', { password: 'right horse' }).expect(204);
    const at = browser(secrets);
    const ana = { method: 'userpass', username: 'ana', password: 'right horse' };
    await at.signIn({ method: 'token', token: 's.unknown-to-all' }, 401);
    await at.signIn({ method: 'token', token: secrets.rootToken });
    const cookies = [at.cookie!];
    await at.stepUp({ token: secrets.rootToken });
    await at.write('cubbyhole/a', { v: 1 }).expect(204);
    await at.signIn({ ...ana, password: 'wrong horse' }, 401);
    await at.signIn(ana);
    cookies.push(at.cookie!);
    await at.signOut();
    const log = readFileSync(file, 'utf8');
    const lines = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const secret of [...cookies.map((one) => one.split('=')[1]!), secrets.rootToken, 'horse', 's.unknown']) {
      expect(log).not.toContain(secret);
    }
    const answered = lines.filter(({ type, request: { path: at } }) => type === 'response' && at.startsWith('ui/'));
    expect(
      answered.map(({ request, response, auth }) => [
        request.path,
        request.operation,
        response.status,
        auth?.display_name,
      ]),
    ).toEqual([
      ['ui/session', 'update', 401, undefined],
      ['ui/session', 'update', 201, undefined],
      ['ui/session/step-up', 'update', 200, 'root'],
      ['ui/session', 'update', 401, undefined],
      ['ui/session', 'update', 201, undefined],
      ['ui/session', 'delete', 204, 'root'],
      ['ui/session', 'delete', 204, 'userpass-ana'],
    ]);
    const entries = (await secrets.root.read('sys/audit-chain/entries?path=ui/session').expect(200)).body.data.entries;
    expect(entries.length).toBeGreaterThanOrEqual(7);
    expect((await secrets.root.write('sys/audit-chain/verify').expect(200)).body.data.valid).toBe(true);
  });
});

describe('without SECRETS_UI', () => {
  const secrets = startSecrets({ env: { SECRETS_UI: 'off' } });

  it('there is no console, and no cookie means anything', async () => {
    for (const where of ['/ui/', '/ui/session', '/ui/config', '/ui/assets/x.js', '/']) {
      const test = request(secrets.server).get(where).set('Accept', 'text/html');
      for (const [name, value] of Object.entries(page)) test.set(name, value);
      expect((await test.expect(404)).body).toEqual({ errors: [] });
    }
    await browser(secrets).signIn({ method: 'token', token: secrets.rootToken }, 404);
  });
});

describe('a session of a person from a provider', () => {
  const secrets = startSecrets();
  const provider = new ProviderStandIn();
  const redirect_uri = 'https://secrets.example/ui/oidc/callback';
  beforeAll(async () => {
    await provider.start();
    await secrets.root.write('sys/auth/oidc', { type: 'oidc', config: { listing_visibility: 'unauth' } }).expect(204);
    await secrets.root
      .write('auth/oidc/config', {
        oidc_discovery_url: provider.address,
        oidc_client_id: provider.clientId,
        oidc_client_secret: provider.clientSecret,
        default_role: 'people',
      })
      .expect(204);
    await secrets.root
      .write('auth/oidc/role/people', { user_claim: 'sub', allowed_redirect_uris: redirect_uri })
      .expect(204);
  });
  afterAll(() => provider.stop());

  const proof = async (at: ReturnType<typeof browser>, fields: object = {}) => {
    const begun = await at.write('auth/oidc/oidc/auth_url', { redirect_uri, client_nonce: 'n' }).expect(200);
    const { state, code } = provider.signIn(begun.body.data.auth_url, { sub: 'ada' });
    return { method: 'oidc', mount: 'oidc/', state, authorization: code, nonce: 'n', ...fields };
  };

  it('is offered if the mount is visible, and works like any other', async () => {
    const at = browser(secrets);
    const { body: config } = await at.config();
    expect(config['sign-in'][0]).toEqual({ method: 'oidc', mount: 'oidc/' });
    const sent = await proof(at);
    const { body } = await at.signIn(sent);
    expect(body).toMatchObject({ name: 'oidc-ada', kind: 'oidc', 'step-up-methods': [], 'step-up-until': time });
    await at.read('auth/token/lookup-self').expect(200);
    await browser(secrets).signIn(sent, 401);
    await at.signOut();
    await at.show(204);
  });

  it('needs the page that began it, the right mount and namespace', async () => {
    const at = browser(secrets);
    expect((await at.signIn(await proof(at, { nonce: 'other' }), 401)).body.errors[0].detail).toBe(
      'invalid client_nonce',
    );
    await at.signIn(await proof(at, { mount: 'token/' }), 422);
    await at.signIn(await proof(at, { mount: '../sys' }), 422);
    await at.signIn(await proof(at, { namespace: 'nowhere' }), 422);
    await at.signIn({ method: 'oidc' }, 401);
  });

  it('asks for a required second factor, and continues the same sign-in', async () => {
    const at = browser(secrets);
    const method = await newMethod(secrets);
    const { body } = await secrets.anonymous
      .read(`auth/oidc/oidc/callback?${new URLSearchParams(await callbackOf(at))}`)
      .expect(200);
    const app = await secrets.root
      .write('identity/mfa/method/totp/admin-generate', { method_id: method, entity_id: body.auth.entity_id })
      .expect(200);
    const { code } = authenticator(app.body.data.url);
    await secrets.root
      .write('identity/mfa/login-enforcement/people', { mfa_method_ids: [method], auth_method_types: ['oidc'] })
      .expect(204);
    const asked = await at.signIn(await proof(at), 422);
    expect(asked.body.errors[0]).toMatchObject({ field: 'code', code: 'code-required' });
    const request = (asked.body.errors[1].detail as string).replace(/^request /, '');
    const again = { method: 'oidc', mount: 'oidc/', request };
    await at.signIn({ ...again, code: '000000' }, 401);
    expect((await at.signIn({ ...again, code: code(Date.now()) })).body.name).toBe('oidc-ada');
    await secrets.root.delete('identity/mfa/login-enforcement/people').expect(204);
  });

  const callbackOf = async (at: ReturnType<typeof browser>) => {
    const { state, authorization } = await proof(at);
    return { state, code: authorization, client_nonce: 'n' };
  };
});
