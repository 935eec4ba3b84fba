import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { verifySignature } from '@keystead/auth';
import { manualClock } from '@keystead/testing';
import request from 'supertest';
import { type Client, startSecrets } from '../../../../test/start-secrets';

const publicUrl = 'https://secrets.example';
const clock = manualClock(Date.UTC(2027, 3, 1));
const secrets = startSecrets({ env: { SECRETS_PUBLIC_URL: publicUrl }, clock });
const redirect = 'https://app.example/callback?tenant=1';
const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
let made = 0;

interface Person {
  readonly entity: string;
  readonly as: Client;
}
interface App {
  readonly name: string;
  readonly client_id: string;
  readonly client_secret?: string;
}

async function person(): Promise<Person> {
  const name = `person${++made}`;
  await secrets.root.write(`auth/people/users/${name}`, { password: 'p4ssw0rd-long', token_policies: 'people' });
  const login = await secrets.anonymous.write(`auth/people/login/${name}`, { password: 'p4ssw0rd-long' }).expect(200);
  return { entity: login.body.auth.entity_id, as: secrets.as(login.body.auth.client_token) };
}

async function app(fields: object = {}, by: Client = secrets.root): Promise<App> {
  const name = `app${++made}`;
  await by
    .write(`identity/oidc/client/${name}`, { redirect_uris: redirect, assignments: 'allow_all', ...fields })
    .expect(204);
  return { name, ...(await by.read(`identity/oidc/client/${name}`).expect(200)).body.data };
}

let ada: Person;
let client: App;
beforeAll(async () => {
  const rules = 'path "identity/oidc/provider/+/authorize" { capabilities = ["read", "update"] }';
  await secrets.root.write('sys/policies/acl/people', { policy: rules }).expect(204);
  await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
  ada = await person();
  client = await app();
});

const asked = (of: App, more: object = {}) => ({
  client_id: of.client_id,
  redirect_uri: redirect,
  response_type: 'code',
  scope: 'openid',
  state: 's1',
  ...more,
});
const authorize = (of: App, more: object = {}, who: Person = ada, provider = 'default') =>
  who.as.write(`identity/oidc/provider/${provider}/authorize`, asked(of, more));
const codeFor = async (of: App, more: object = {}, who: Person = ada, provider = 'default'): Promise<string> =>
  (await authorize(of, more, who, provider).expect(200)).body.code;

/** Like a relying party: a form, with the secret in a header. */
function redeem(of: App, form: Record<string, string>, provider = 'default', basic = true) {
  const call = request(secrets.server).post(`/v1/identity/oidc/provider/${provider}/token`).type('form');
  if (basic && of.client_secret) call.auth(of.client_id, of.client_secret);
  const named: Record<string, string> = of.client_secret ? {} : { client_id: of.client_id };
  return call.send({ grant_type: 'authorization_code', redirect_uri: redirect, ...named, ...form });
}
const userinfo = (token: string, provider = 'default') =>
  request(secrets.server).get(`/v1/identity/oidc/provider/${provider}/userinfo`).auth(token, { type: 'bearer' });
async function verified(token: string, path = 'identity/oidc/provider/default/.well-known/keys') {
  const { keys } = (await secrets.anonymous.read(path).expect(200)).body as { keys: (JsonWebKey & { kid: string })[] };
  return verifySignature(token, {
    algorithms: ['RS256', 'ES256'],
    keys: async ({ kid }) =>
      keys.filter((key) => key.kid === kid).map((key) => createPublicKey({ key, format: 'jwk' })),
  });
}
const half = (text: string) => createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');

describe('scopes, assignments, clients and providers', () => {
  it('are stored as written', async () => {
    const { root } = secrets;
    await root
      .write('identity/oidc/scope/groups', { template: '{"groups": {{identity.entity.groups.names}}}' })
      .expect(204);
    await root.write('identity/oidc/scope/groups', { description: 'Groups.' }).expect(204);
    expect((await root.read('identity/oidc/scope/groups').expect(200)).body.data).toEqual({
      template: '{"groups": {{identity.entity.groups.names}}}',
      description: 'Groups.',
    });
    await root
      .write('identity/oidc/assignment/ops', { entity_ids: [ada.entity.toUpperCase(), ada.entity] })
      .expect(204);
    expect((await root.read('identity/oidc/assignment/ops').expect(200)).body.data).toEqual({
      entity_ids: [ada.entity],
      group_ids: [],
    });
    const fields = { redirect_uris: redirect, assignments: 'ops', access_token_ttl: '10m', id_token_ttl: '5m' };
    await root.write('identity/oidc/client/kept', fields).expect(204);
    const read = (await root.read('identity/oidc/client/kept').expect(200)).body.data;
    const shown = {
      access_token_ttl: 600,
      assignments: ['ops'],
      client_id: expect.stringMatching(/^\w{32}$/),
      client_type: 'confidential',
      id_token_ttl: 300,
      key: 'default',
      redirect_uris: [redirect],
    };
    expect(read).toEqual({ ...shown, client_secret: expect.stringMatching(/^hvo_secret_\w{64}$/) });
    await root.write('identity/oidc/client/kept', { id_token_ttl: '6m' }).expect(204);
    expect((await root.read('identity/oidc/client/kept')).body.data).toEqual({ ...read, id_token_ttl: 360 });
    const listed = (await root.list('identity/oidc/client').expect(200)).body.data;
    expect(listed.key_info.kept).toEqual({ ...shown, id_token_ttl: 360 });
    const provider = { allowed_client_ids: [read.client_id], scopes_supported: 'groups' };
    await root.write('identity/oidc/provider/kept', provider).expect(204);
    const issuer = `${publicUrl}/v1/identity/oidc/provider/kept`;
    const asRead = { allowed_client_ids: [read.client_id], issuer, scopes_supported: ['groups'] };
    expect((await root.read('identity/oidc/provider/kept').expect(200)).body.data).toEqual(asRead);
    const providers = (await root.list('identity/oidc/provider').expect(200)).body.data;
    expect(providers.keys).toEqual(['default', 'kept']);
    expect(providers.key_info.kept).toEqual(asRead);
    const serving = await root.list(`identity/oidc/provider?allowed_client_id=${client.client_id}`).expect(200);
    expect(serving.body.data.keys).toEqual(['default']);
    expect((await root.list('identity/oidc/assignment').expect(200)).body.data.keys).toEqual(['allow_all', 'ops']);
    expect((await root.list('identity/oidc/scope').expect(200)).body.data.keys).toEqual(['groups']);
  });

  it('stay while others refer to them', async () => {
    const { root } = secrets;
    await root.delete('identity/oidc/scope/groups').expect(400, /currently referenced by these providers: kept/);
    await root.delete('identity/oidc/assignment/ops').expect(400, /currently referenced by these clients: kept/);
    await root.write('identity/oidc/key/used', { allowed_client_ids: '*' }).expect(204);
    await root.write('identity/oidc/client/user', { key: 'used' }).expect(204);
    await root.delete('identity/oidc/key/used').expect(400, /currently referenced by these clients: user/);
    await root
      .write('identity/oidc/key/used', { verification_ttl: '1h' })
      .expect(400, /id_token_ttl greater than 3600/);
    for (const at of ['client/user', 'key/used', 'provider/kept', 'client/kept', 'scope/groups', 'assignment/ops']) {
      await root.delete(`identity/oidc/${at}`).expect(204);
      await root.read(`identity/oidc/${at}`).expect(404);
    }
    await root.delete('identity/oidc/assignment/allow_all').expect(400, /not allowed/);
    await root.write('identity/oidc/assignment/allow_all', {}).expect(400, /not allowed/);
    await root.delete('identity/oidc/provider/default').expect(400, /not allowed/);
  });

  it.each([
    ['scope/openid', {}, /reserved/],
    ['scope/wrong', { template: '{"aud": "a"}' }, /top level key/],
    ['client/wrong', { assignments: 'none' }, /assignment \\"none\\" does not exist/],
    ['client/wrong', { key: 'none' }, /key \\"none\\" does not exist/],
    ['client/wrong', { id_token_ttl: '25h' }, /cannot be greater than the verification_ttl/],
    ['client/wrong', { client_type: 'secret' }, /invalid client_type/],
    ['client/wrong', { redirect_uris: 'javascript:alert(1)' }, /not a valid redirect URI/],
    ['client/wrong', { redirect_uris: 'https://a.example/#f' }, /not a valid redirect URI/],
    ['client/wrong', { redirect_uris: '/relative' }, /not a valid redirect URI/],
    ['client/wrong', { client_credentials: true }, /not supported/],
    ['provider/wrong', { scopes_supported: 'none' }, /scope \\"none\\" does not exist/],
    ['provider/wrong', { issuer: 'https://a.example/path' }, /must include only/],
  ])('refuse %s with %j', async (at, fields, why) => {
    await secrets.root.write(`identity/oidc/${at}`, fields).expect(400, why);
  });

  it('include clients, whose key and type never change', async () => {
    const at = `identity/oidc/client/${client.name}`;
    await secrets.root.write('identity/oidc/key/other', {}).expect(204);
    await secrets.root.write(at, { key: 'other' }).expect(400, /key modification is not allowed/);
    await secrets.root.write(at, { client_type: 'public' }).expect(400, /client_type modification is not allowed/);
  });
});

describe('the discovery document', () => {
  it('says where everything is, to anyone', async () => {
    const issuer = `${publicUrl}/v1/identity/oidc/provider/default`;
    const at = 'identity/oidc/provider/default/.well-known/openid-configuration';
    expect((await secrets.anonymous.read(at).expect(200)).body).toMatchObject({
      issuer,
      jwks_uri: `${issuer}/.well-known/keys`,
      authorization_endpoint: `${publicUrl}/ui/identity/oidc/provider/default/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      scopes_supported: ['openid'],
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code'],
      code_challenge_methods_supported: ['S256', 'plain'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    });
    await secrets.anonymous.read('identity/oidc/provider/none/.well-known/openid-configuration').expect(404);
    await secrets.anonymous.read('identity/oidc/provider/none/.well-known/keys').expect(404);
  });
});

describe('a sign-in', () => {
  it('ends with an ID token and the claims of the scopes', async () => {
    const template = '{"username": {{identity.entity.name}}, "groups": {{identity.entity.groups.names}}}';
    await secrets.root.write('identity/oidc/scope/user', { template }).expect(204);
    const of = await app({ id_token_ttl: '5m', access_token_ttl: '10m' });
    const provider = { allowed_client_ids: of.client_id, scopes_supported: 'user' };
    await secrets.root.write('identity/oidc/provider/signin', provider).expect(204);
    await secrets.root.write('identity/group', { name: 'staff', member_entity_ids: [ada.entity] }).expect(200);
    const wanted = { scope: 'openid user unknown', nonce: 'n1', ...pkce };
    const { body } = await authorize(of, wanted, ada, 'signin').expect(200);
    const iss = `${publicUrl}/v1/identity/oidc/provider/signin`;
    expect(body).toEqual({ code: expect.any(String), state: 's1', iss });
    const { body: tokens, headers } = await redeem(of, { code: body.code, code_verifier: verifier }, 'signin').expect(
      200,
    );
    expect(headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'openid user' });
    const now = Math.floor(clock.now() / 1000);
    const { name } = (await secrets.root.read(`identity/entity/id/${ada.entity}`)).body.data;
    const keys = 'identity/oidc/provider/signin/.well-known/keys';
    expect(await verified(tokens.id_token, keys)).toEqual({
      iss: `${publicUrl}/v1/identity/oidc/provider/signin`,
      namespace: 'root',
      sub: ada.entity,
      aud: of.client_id,
      nonce: 'n1',
      iat: now,
      exp: now + 300,
      auth_time: now,
      at_hash: half(tokens.access_token),
      c_hash: half(body.code),
      username: name,
      groups: ['staff'],
    });
    const said = { sub: ada.entity, username: name, groups: ['staff'] };
    expect((await userinfo(tokens.access_token, 'signin').expect(200)).body).toEqual(said);
    const posted = request(secrets.server).post('/v1/identity/oidc/provider/signin/userinfo');
    expect((await posted.auth(tokens.access_token, { type: 'bearer' }).expect(200)).body).toEqual(said);
    // The access token works at this provider's userinfo only, and only until it expires.
    await secrets.as(tokens.access_token).read('auth/token/lookup-self').expect(403);
    await userinfo(tokens.access_token, 'default').expect(401, /invalid_token/);
    clock.advance(600_000);
    await userinfo(tokens.access_token, 'signin').expect(401, /invalid_token/);
  });

  it('works by GET as well, with every usual client authentication', async () => {
    const query = new URLSearchParams(asked(client) as Record<string, string>);
    const { body } = await ada.as.read(`identity/oidc/provider/default/authorize?${query}`).expect(200);
    const inBody = { client_id: client.client_id, client_secret: client.client_secret! };
    await redeem(client, { code: body.code, ...inBody }, 'default', false).expect(200);
    const open = await app({ client_type: 'public' });
    expect(open).not.toHaveProperty('client_secret');
    const code = await codeFor(open, pkce);
    await redeem(open, { code, code_verifier: verifier }).expect(200);
    const plain = await codeFor(open, { code_challenge: verifier });
    await redeem(open, { code: plain, code_verifier: verifier }).expect(200);
  });

  it.each([
    ['client_id', { client_id: '' }, 'invalid_client_id'],
    ['another client_id', { client_id: 'x'.repeat(32) }, 'invalid_client_id'],
    ['no redirect_uri', { redirect_uri: '' }, 'invalid_request'],
    ['no response_type', { response_type: '' }, 'invalid_request'],
    ['the implicit flow', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['another response_mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['no openid', { scope: 'user' }, 'invalid_request'],
    ['a request object', { request: 'a.b.c' }, 'request_not_supported'],
    ['a request_uri', { request_uri: 'https://a.example' }, 'request_uri_not_supported'],
    ['max_age 0', { max_age: 0 }, 'invalid_request'],
    ['an unknown challenge method', { code_challenge: challenge, code_challenge_method: 'S512' }, 'invalid_request'],
    ['a method without challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['a long state', { state: 's'.repeat(5000) }, 'invalid_request'],
  ])('is refused with %s', async (_what, more, error) => {
    const { body } = await authorize(client, more).expect(400);
    expect(body.error).toBe(error);
    expect(body.error_description).toEqual(expect.any(String));
    // An error may only be sent to a known redirect address.
    const known = (asked(client, more) as Record<string, string>).redirect_uri === redirect;
    const isUnsent = !known || /_id$/.test(error) || 'state' in more;
    expect(body.redirect_uri).toBe(isUnsent ? undefined : redirect);
  });

  it('requires a newer login if max_age demands it', async () => {
    const late = await person();
    clock.advance(61_000);
    expect((await authorize(client, { max_age: 60 }, late).expect(400)).body.error).toBe('max_age_violation');
    const code = await codeFor(client, { max_age: 61 }, late);
    const { id_token } = (await redeem(client, { code }).expect(200)).body;
    expect((await verified(id_token)).auth_time).toBe(Math.floor(clock.now() / 1000) - 61);
  });

  it.each([
    ['a child', {}],
    ['an orphan', { no_parent: true }],
    ['a batch token', { type: 'batch' }],
    ['a child of a child', {}],
  ])('does not become newer by %s of the token', async (what, fields: object) => {
    const make = async (by: string, more: object) => {
      const { body } = await secrets
        .as(by)
        .write('auth/token/create', { policies: ['able'], ...more })
        .expect(200);
      return body.auth.client_token as string;
    };
    await secrets.root.write('sys/policies/acl/able', {
      policy: 'path "auth/token/create" { capabilities = ["create", "update", "sudo"] }',
    });
    await secrets.root.write('sys/auth/by-name', { type: 'userpass' });
    await secrets.root.write('auth/by-name/users/ada', { password: 'right', token_policies: 'able' }).expect(204);
    const { body } = await secrets.anonymous.write('auth/by-name/login/ada', { password: 'right' }).expect(200);
    clock.advance(61_000);
    let token = await make(body.auth.client_token, fields);
    if (what === 'a child of a child') token = await make(token, {});
    const record = (await secrets.service.kernel.tokens.find(token))!;
    expect(clock.now() - record.authenticatedAtMs).toBe(61_000);
  });

  it('is for assigned people only, checked at every step', async () => {
    const [bob, eve] = [await person(), await person()];
    const group = (await secrets.root.write('identity/group', { name: 'app', member_entity_ids: [bob.entity] })).body
      .data;
    await secrets.root.write('identity/oidc/assignment/group', { group_ids: group.id }).expect(204);
    const of = await app({ assignments: 'group' });
    expect((await authorize(of, {}, eve).expect(400)).body.error).toBe('access_denied');
    expect((await authorize(await app({ assignments: '' }), {}, bob).expect(400)).body.error).toBe('access_denied');
    const { access_token } = (await redeem(of, { code: await codeFor(of, {}, bob) }).expect(200)).body;
    const code = await codeFor(of, {}, bob);
    await secrets.root.write(`identity/group/id/${group.id}`, { member_entity_ids: [] }).expect(204);
    expect((await redeem(of, { code }).expect(400)).body.error).toBe('invalid_grant');
    await userinfo(access_token).expect(403, /access_denied/);
    expect((await authorize(client, {}, { entity: '', as: secrets.root }).expect(400)).body.error).toBe(
      'access_denied',
    );
  });

  it('stays open to a person whose entity was merged into another', async () => {
    const [goes, stays] = [await person(), await person()];
    await secrets.root.write('identity/oidc/assignment/merged', { entity_ids: goes.entity }).expect(204);
    const of = await app({ assignments: 'merged' });
    await authorize(of, {}, stays).expect(400);
    const { data } = (await secrets.root.read(`identity/entity/id/${stays.entity}`).expect(200)).body;
    await secrets.root.delete(`identity/entity-alias/id/${data.aliases[0].id}`).expect(204);
    await secrets.root
      .write('identity/entity/merge', { from_entity_ids: goes.entity, to_entity_id: stays.entity })
      .expect(204);
    await authorize(of, {}, goes).expect(200);
  });

  it('ends when its client is deleted', async () => {
    const of = await app();
    const { access_token } = (await redeem(of, { code: await codeFor(of) }).expect(200)).body;
    const code = await codeFor(of);
    await secrets.root.delete(`identity/oidc/client/${of.name}`).expect(204);
    expect((await redeem(of, { code }).expect(401)).body.error).toBe('invalid_client');
    await userinfo(access_token).expect(403, /client not found/);
    expect((await authorize(of).expect(400)).body.error).toBe('invalid_client_id');
  });

  it('refuses scopes with the same claims', async () => {
    for (const name of ['one', 'two']) {
      await secrets.root.write(`identity/oidc/scope/${name}`, { template: '{"same": 1}' }).expect(204);
    }
    const provider = { allowed_client_ids: '*', scopes_supported: 'one,two' };
    const { body } = await secrets.root.write('identity/oidc/provider/both', provider).expect(200);
    expect(body.warnings[0]).toContain('conflict');
    const code = await codeFor(client, { scope: 'openid one two' }, ada, 'both');
    expect((await redeem(client, { code }, 'both').expect(400)).body.error).toBe('invalid_scope');
    const single = await codeFor(client, { scope: 'openid two' }, ada, 'both');
    await redeem(client, { code: single }, 'both').expect(200);
  });
});

describe('the redirect URI', () => {
  it.each([
    'https://app.example/callback',
    'https://app.example/callback?tenant=1&more=1',
    'https://app.example/callback?tenant=1#',
    'https://app.example.evil.example/callback?tenant=1',
    'https://app.example@evil.example/callback?tenant=1',
    'https://app.example\\@evil.example/callback?tenant=1',
    'HTTPS://app.example/callback?tenant=1',
    'https://app.example/callback/../callback?tenant=1',
    ' https://app.example/callback?tenant=1',
    'javascript:alert(1)',
    '//evil.example',
  ])('is never %s', async (redirect_uri) => {
    const { body, headers } = await authorize(client, { redirect_uri }).expect(400);
    expect(body).toEqual({ error: 'invalid_redirect_uri', error_description: expect.any(String), state: 's1' });
    expect(headers).not.toHaveProperty('location');
  });

  it('may have any port of the person’s own machine if that is registered, and differ in nothing else', async () => {
    const of = await app({ redirect_uris: 'http://127.0.0.1:1234/back' });
    await authorize(of, { redirect_uri: 'http://127.0.0.1:40000/back' }).expect(200);
    for (const redirect_uri of [
      'http://localhost:1234/back',
      'http://127.0.0.1:1234/other',
      'https://127.0.0.1:1234/back',
      'http://127.0.0.1:1234/back?x',
    ]) {
      expect((await authorize(of, { redirect_uri }).expect(400)).body.error).toBe('invalid_redirect_uri');
    }
  });
});

describe('a code', () => {
  it('is valid once, also for simultaneous requests, and a second use revokes the tokens of the first', async () => {
    const code = await codeFor(client);
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(client, { code })));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const { status, body } of answers.filter((one) => one !== won[0])) {
      expect([status, body.error]).toEqual([400, 'invalid_grant']);
    }
    await userinfo(won[0]!.body.access_token).expect(401, /invalid_token/);
  });

  it('is valid for five minutes', async () => {
    const [inTime, late] = [await codeFor(client), await codeFor(client)];
    clock.advance(299_000);
    await redeem(client, { code: inTime }).expect(200);
    clock.advance(2000);
    expect((await redeem(client, { code: late }).expect(400)).body.error).toBe('invalid_grant');
  });

  it.each([
    ['another client', async (code: string) => redeem(await app(), { code }), 'invalid_grant'],
    [
      'another address',
      (code: string) => redeem(client, { code, redirect_uri: 'https://app.example/b' }),
      'invalid_grant',
    ],
    [
      'another provider',
      async (code: string) => {
        await secrets.root.write('identity/oidc/provider/another', { allowed_client_ids: '*' }).expect(204);
        return redeem(client, { code, code_verifier: verifier }, 'another');
      },
      'invalid_grant',
    ],
    ['no verifier', (code: string) => redeem(client, { code }), 'invalid_request'],
    ['a wrong verifier', (code: string) => redeem(client, { code, code_verifier: 'w'.repeat(43) }), 'invalid_grant'],
    [
      'the challenge as verifier',
      (code: string) => redeem(client, { code, code_verifier: challenge }),
      'invalid_grant',
    ],
  ])('is used up by a redemption with %s', async (_what, wrongly, error) => {
    const code = await codeFor(client, pkce);
    const { status, body } = await wrongly(code);
    expect([status, body.error]).toEqual([400, error]);
    const again = await redeem(client, { code, code_verifier: verifier }).expect(400);
    expect(again.body.error).toBe('invalid_grant');
  });

  const losses: Readonly<Record<string, (of: App, who: Person) => Promise<{ status: number }>>> = {
    'the address it was sent to': (of) =>
      secrets.root.write(`identity/oidc/client/${of.name}`, { redirect_uris: 'https://app.example/other' }),
    'the assignment of its client': (of) =>
      secrets.root.write(`identity/oidc/client/${of.name}`, { assignments: 'none' }),
    'its person': (_, who) => secrets.root.delete(`identity/entity/id/${who.entity}`),
    'a person who may sign in': (_, who) => secrets.root.write(`identity/entity/id/${who.entity}`, { disabled: true }),
  };

  it.each(Object.keys(losses))('becomes invalid once %s is lost, and so do its tokens', async (loss) => {
    const [of, who] = [await app(), await person()];
    await secrets.root.write('identity/oidc/assignment/none', {}).expect(204);
    const { access_token } = (await redeem(of, { code: await codeFor(of, {}, who) }).expect(200)).body;
    const code = await codeFor(of, {}, who);
    expect((await losses[loss]!(of, who)).status).toBe(204);
    expect((await redeem(of, { code }).expect(400)).body.error).toBe('invalid_grant');
    // Removing the redirect address does not matter for an application that has authenticated since.
    expect((await userinfo(access_token)).status).toBe(loss === 'the address it was sent to' ? 200 : 403);
  });

  it('without a challenge accepts no verifier, and a public client needs a challenge', async () => {
    const code = await codeFor(client);
    expect((await redeem(client, { code, code_verifier: verifier }).expect(400)).body.error).toBe('invalid_request');
    const open = await app({ client_type: 'public' });
    expect((await authorize(open).expect(400)).body.error_description).toBe('PKCE is required for public clients');
  });
});

describe('a client', () => {
  it('that fails authentication is refused, and uses up no code', async () => {
    const code = await codeFor(client);
    const wrong = {
      ...client,
      client_secret: client.client_secret!.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    };
    const unknown = { ...client, client_id: 'x'.repeat(32) };
    for (const who of [wrong, unknown, { ...client, client_secret: 'hvo_secret_' }]) {
      const { body, headers } = await redeem(who, { code }).expect(401);
      expect(body).toEqual({ error: 'invalid_client', error_description: 'client failed to authenticate' });
      expect(headers['www-authenticate']).toMatch(/^Basic/);
    }
    await redeem(client, { code, client_id: client.client_id }, 'default', false).expect(401);
    const twice = { code, client_secret: client.client_secret! };
    expect((await redeem(client, twice).expect(400)).body.error).toBe('invalid_request');
    expect((await redeem(client, { code, client_id: 'another' }).expect(400)).body.error).toBe('invalid_request');
    await redeem(client, { code }).expect(200);
  });

  it('is served by providers and keys that list only it', async () => {
    await secrets.root.write('identity/oidc/provider/none', {}).expect(204);
    expect((await authorize(client, {}, ada, 'none').expect(400)).body.error).toBe('unauthorized_client');
    expect((await authorize(client, {}, ada, 'absent').expect(400)).body.error).toBe('invalid_request');
    const code = await codeFor(client);
    expect((await redeem(client, { code }, 'none').expect(401)).body.error).toBe('invalid_client');
    await secrets.root.write('identity/oidc/key/closed', {}).expect(204);
    const of = await app({ key: 'closed' });
    expect((await redeem(of, { code: await codeFor(of) }).expect(401)).body.error).toBe('invalid_client');
  });

  it('gets nothing by another grant type', async () => {
    for (const grant_type of ['client_credentials', 'password', 'refresh_token', '']) {
      const { body } = await redeem(client, { grant_type }).expect(400);
      expect(body.error).toBe('unsupported_grant_type');
    }
  });
});

describe('another namespace', () => {
  it('has its own providers, clients and keys', async () => {
    await secrets.root.write('sys/namespaces/team').expect(200);
    const team = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'team' });
    const theirs = await app({}, team);
    const discovery = 'team/identity/oidc/provider/default/.well-known';
    const document = (await secrets.anonymous.read(`${discovery}/openid-configuration`).expect(200)).body;
    expect(document.issuer).toBe(`${publicUrl}/v1/team/identity/oidc/provider/default`);
    expect(document.authorization_endpoint).toBe(`${publicUrl}/ui/team/identity/oidc/provider/default/authorize`);
    // Codes and clients of one namespace are unknown in the other.
    expect((await authorize(theirs).expect(400)).body.error).toBe('invalid_client_id');
    const code = await codeFor(client);
    const there = request(secrets.server).post('/v1/team/identity/oidc/provider/default/token').type('form');
    const form = { grant_type: 'authorization_code', redirect_uri: redirect, code };
    await there
      .auth(theirs.client_id, theirs.client_secret!)
      .send(form)
      .expect(400, /invalid_grant/);
    const tokens = (await redeem(client, { code }).expect(200)).body;
    await expect(verified(tokens.id_token, `${discovery}/keys`)).rejects.toThrow('no such key');
    const other = request(secrets.server).get('/v1/team/identity/oidc/provider/default/userinfo');
    await other.auth(tokens.access_token, { type: 'bearer' }).expect(401);
    expect((await verified(tokens.id_token)).sub).toBe(ada.entity);
  });
});
