import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { signingAlgorithms, verifySignature } from '@keystead/auth';
import { manualClock } from '@keystead/testing';
import { withSecondNode } from '../../../../test/second-node';
import { type Client, startSecrets } from '../../../../test/start-secrets';

const publicUrl = 'https://secrets.example';
const clock = manualClock(Date.UTC(2027, 3, 1));
const secrets = startSecrets({ env: { SECRETS_PUBLIC_URL: publicUrl }, clock });
let made = 0;

/** A client with an entity and a policy. */
async function person(policy = 'path "identity/oidc/*" { capabilities = ["read", "update"] }', namespace = '') {
  const name = `person${++made}`;
  const root = secrets.as(secrets.rootToken, namespace ? { 'X-Service-Namespace': namespace } : {});
  await root.write(`sys/policies/acl/${name}`, { policy }).expect(204);
  await root.write(`sys/auth/${name}`, { type: 'userpass' }).expect(204);
  await root.write(`auth/${name}/users/${name}`, { password: 'p4ssw0rd-long', token_policies: name }).expect(204);
  const login = await root.write(`auth/${name}/login/${name}`, { password: 'p4ssw0rd-long' }).expect(200);
  const { client_token: token, entity_id: entity } = login.body.auth;
  return {
    name,
    entity: entity as string,
    as: secrets.as(token, namespace ? { 'X-Service-Namespace': namespace } : {}),
  };
}

async function keysAt(path = 'identity/oidc/.well-known/keys'): Promise<(JsonWebKey & { kid: string; alg: string })[]> {
  return (await secrets.anonymous.read(path).expect(200)).body.keys;
}

/** The claims of a token, after verifying its signature with a published key. */
async function verified(token: string, path?: string) {
  const published = await keysAt(path);
  return verifySignature(token, {
    algorithms: signingAlgorithms,
    keys: async ({ kid }) =>
      published.filter((key) => key.kid === kid).map((key) => createPublicKey({ key, format: 'jwk' })),
  });
}

async function role(fields: object = {}, key: object = {}): Promise<string> {
  const name = `role${++made}`;
  await secrets.root.write(`identity/oidc/key/${name}`, { allowed_client_ids: '*', ...key }).expect(204);
  await secrets.root.write(`identity/oidc/role/${name}`, { key: name, ...fields }).expect(204);
  return name;
}

const tokenOf = async (by: Client, name: string): Promise<string> =>
  (await by.read(`identity/oidc/token/${name}`).expect(200)).body.data.token;
const headerOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
const isActive = async (token: string, more: object = {}) =>
  (await secrets.root.write('identity/oidc/introspect', { token, ...more }).expect(200)).body;

describe('the configuration', () => {
  it('names the public address of the service as issuer, or another address', async () => {
    expect((await secrets.root.read('identity/oidc/config').expect(200)).body.data).toEqual({ issuer: '' });
    const at = 'identity/oidc/.well-known/openid-configuration';
    const { body, headers } = await secrets.anonymous.read(at).expect(200);
    expect(body).toEqual({
      issuer: `${publicUrl}/v1/identity/oidc`,
      jwks_uri: `${publicUrl}/v1/identity/oidc/.well-known/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...signingAlgorithms],
    });
    expect(headers['cache-control']).toContain('max-age=3600');
    const set = await secrets.root.write('identity/oidc/config', { issuer: 'https://other.example:8200' }).expect(200);
    expect(set.body.warnings).toEqual([expect.stringContaining('set explicitly')]);
    expect((await secrets.anonymous.read(at)).body.issuer).toBe('https://other.example:8200/v1/identity/oidc');
    await secrets.root.write('identity/oidc/config', { issuer: '' }).expect(204);
    expect((await secrets.anonymous.read(at)).body.issuer).toBe(`${publicUrl}/v1/identity/oidc`);
  });

  it.each(['ftp://a', 'https://a/path', 'https://a?b', 'https://u@a', 'a.example', 'https://a/#f'])(
    'is not an issuer %s',
    async (issuer) => {
      await secrets.root.write('identity/oidc/config', { issuer }).expect(400, /must include only a scheme, host/);
    },
  );
});

describe('keys', () => {
  it('exist by default, for all clients', async () => {
    expect((await secrets.root.list('identity/oidc/key').expect(200)).body.data.keys).toContain('default');
    expect((await secrets.root.read('identity/oidc/key/default').expect(200)).body.data).toEqual({
      algorithm: 'RS256',
      allowed_client_ids: ['*'],
      rotation_period: 86_400,
      verification_ttl: 86_400,
    });
    await secrets.root.delete('identity/oidc/key/default').expect(400, /deletion of key/);
    await secrets.root.read('identity/oidc/key/none').expect(404);
  });

  it('change only in the named fields', async () => {
    const at = 'identity/oidc/key/changed';
    await secrets.root.write(at, { algorithm: 'ES256', allowed_client_ids: 'a,b' }).expect(204);
    await secrets.root.write(at, { rotation_period: '1h', verification_ttl: '2h' }).expect(204);
    expect((await secrets.root.read(at).expect(200)).body.data).toEqual({
      algorithm: 'ES256',
      allowed_client_ids: ['a', 'b'],
      rotation_period: 3600,
      verification_ttl: 7200,
    });
    await secrets.root.delete(at).expect(204);
    await secrets.root.read(at).expect(404);
  });

  it.each([
    [{ algorithm: 'none' }, /unknown signing algorithm/],
    [{ algorithm: 'HS256' }, /unknown signing algorithm/],
    [{ rotation_period: 59 }, /at least one minute/],
    [{ rotation_period: 60, verification_ttl: 601 }, /longer than 10x/],
  ])('refuse %j', async (fields, why) => {
    await secrets.root.write('identity/oidc/key/wrong', fields).expect(400, why);
  });

  it.each(signingAlgorithms)('make signatures with %s that other libraries can verify', async (algorithm) => {
    const { as, entity } = await person();
    const name = await role({}, { algorithm });
    const token = await tokenOf(as, name);
    expect(headerOf(token)).toMatchObject({ alg: algorithm, typ: 'JWT' });
    expect(await verified(token)).toMatchObject({ sub: entity, iss: `${publicUrl}/v1/identity/oidc` });
    expect(await isActive(token)).toEqual({ active: true });
    for (const key of await keysAt()) {
      for (const secret of ['d', 'p', 'q', 'k']) expect(key).not.toHaveProperty(secret);
    }
  });

  it('are replaced on schedule, by a key that was published before', async () => {
    const { as } = await person();
    const name = await role({ ttl: '1h' }, { rotation_period: '1h', verification_ttl: '2h', algorithm: 'ES256' });
    const before = await tokenOf(as, name);
    const published = (await keysAt()).map(({ kid }) => kid);
    clock.advance(59 * 60_000);
    expect(headerOf(await tokenOf(as, name)).kid).toBe(headerOf(before).kid);
    clock.advance(60_000);
    const after = await tokenOf(as, name);
    expect(headerOf(after).kid).not.toBe(headerOf(before).kid);
    expect(published).toContain(headerOf(after).kid);
    // Its signatures can be verified for the verification_ttl, and no longer.
    clock.advance(2 * 3600_000 - 1000);
    await verified(before);
    clock.advance(1000);
    await expect(verified(before)).rejects.toThrow('no such key');
  });

  it('are replaced at once on request', async () => {
    const { as } = await person();
    const name = await role({}, { algorithm: 'ES256' });
    const before = await tokenOf(as, name);
    await secrets.root.write(`identity/oidc/key/${name}/rotate`).expect(204);
    const between = await tokenOf(as, name);
    expect(headerOf(between).kid).not.toBe(headerOf(before).kid);
    await verified(before);
    await secrets.root.write(`identity/oidc/key/${name}/rotate`, { verification_ttl: 0 }).expect(204);
    await expect(verified(between)).rejects.toThrow('no such key');
    await verified(before);
    await secrets.root.write('identity/oidc/key/none/rotate').expect(400, /no named key found at \\"none\\"/);
  });

  it('change their algorithm, and earlier signatures stay valid', async () => {
    const { as } = await person();
    const name = await role({}, { algorithm: 'RS256' });
    const before = await tokenOf(as, name);
    await secrets.root.write(`identity/oidc/key/${name}`, { algorithm: 'EdDSA' }).expect(204);
    const after = await tokenOf(as, name);
    expect([headerOf(before).alg, headerOf(after).alg]).toEqual(['RS256', 'EdDSA']);
    await verified(before);
    await verified(after);
  });

  it('stay while a role uses them, and remain published as long as their tokens are valid', async () => {
    const name = await role({ ttl: '10m' }, { verification_ttl: '10m' });
    await secrets.root
      .delete(`identity/oidc/key/${name}`)
      .expect(400, new RegExp(`currently referenced by these roles: ${name}`));
    await secrets.root
      .write(`identity/oidc/key/${name}`, { verification_ttl: '9m' })
      .expect(400, /roles with a token ttl greater than 540 seconds/);
    await secrets.root.delete(`identity/oidc/role/${name}`).expect(204);
    await secrets.root.delete(`identity/oidc/key/${name}`).expect(204);
  });
});

describe('roles', () => {
  it('have their own audience, a lifetime of a day, and no template by default', async () => {
    const name = await role();
    const { data } = (await secrets.root.read(`identity/oidc/role/${name}`).expect(200)).body;
    expect(data).toEqual({ client_id: expect.stringMatching(/^\w{26}$/), key: name, template: '', ttl: 86_400 });
    await secrets.root.write(`identity/oidc/role/${name}`, { ttl: '5m' }).expect(204);
    const after = (await secrets.root.read(`identity/oidc/role/${name}`).expect(200)).body.data;
    expect(after).toEqual({ ...data, ttl: 300 });
    expect((await secrets.root.list('identity/oidc/role').expect(200)).body.data.keys).toContain(name);
    await secrets.root.delete(`identity/oidc/role/${name}`).expect(204);
    await secrets.root.read(`identity/oidc/role/${name}`).expect(404);
  });

  it.each([
    [{}, /the key parameter is required/],
    [{ key: 'none' }, /cannot find key \\"none\\"/],
    [{ key: 'default', ttl: '25h' }, /cannot be longer than the verification_ttl/],
    [{ key: 'default', template: '{{' }, /unbalanced templating characters/],
    [{ key: 'default', template: '{"a": {{identity.entity.nothing}} }' }, /no value could be found/],
    [{ key: 'default', template: '{"a": {{identity.groups.names.a.id}} }' }, /no value could be found/],
    [{ key: 'default', template: '{"a": {{time.then}} }' }, /invalid time selector/],
    [{ key: 'default', template: '"text"' }, /not a JSON object/],
    [{ key: 'default', template: '{"a": "{{identity.entity.name}}"}' }, /not a JSON object/],
    [{ key: 'default', template: '{"iss": "https://other"}' }, /top level key \\"iss\\" not allowed/],
    [{ key: 'default', template: '{"sub": "someone"}' }, /top level key \\"sub\\" not allowed/],
  ])('refuse %j', async (fields, why) => {
    await secrets.root.write('identity/oidc/role/wrong', fields).expect(400, why);
  });
});

describe('a token', () => {
  it('identifies the caller, by the template of the role', async () => {
    const { as, entity, name } = await person();
    const hostile = 'x", "admin": "yes {{identity.entity.id}}';
    const metadata = { color: 'green', hostile };
    await secrets.root.write(`identity/entity/id/${entity}`, { metadata }).expect(204);
    const group = (await secrets.root.write('identity/group', { name: 'ops', member_entity_ids: [entity] })).body.data;
    const { accessor } = (await secrets.root.read('sys/auth')).body.data[`${name}/`];
    const template = `{
      "color": {{identity.entity.metadata.color}}, "hostile": {{ identity.entity.metadata.hostile }},
      "none": {{identity.entity.metadata.none}}, "all": {{identity.entity.metadata}},
      "user": {"name": {{identity.entity.aliases.${accessor}.name}}, "of": {"groups": {{identity.entity.groups.names}}}},
      "other": {{identity.entity.aliases.other.name}}, "ids": {{identity.entity.groups.ids}},
      "until": {{time.now.plus.1h}}, "now": {{time.now}}, "fixed": [1, true]
    }`;
    for (const sent of [template, Buffer.from(template).toString('base64')]) {
      const asked = await role({ template: sent, ttl: '10m', client_id: 'mine' });
      const { data } = (await as.read(`identity/oidc/token/${asked}`).expect(200)).body;
      expect(data).toEqual({ client_id: 'mine', token: expect.any(String), ttl: 600 });
      const now = Math.floor(clock.now() / 1000);
      expect(await verified(data.token)).toEqual({
        iss: `${publicUrl}/v1/identity/oidc`,
        namespace: 'root',
        sub: entity,
        aud: 'mine',
        iat: now,
        exp: now + 600,
        color: 'green',
        hostile,
        none: '',
        all: metadata,
        user: { name, of: { groups: ['ops'] } },
        other: '',
        ids: [group.id],
        until: now + 3600,
        now,
        fixed: [1, true],
      });
    }
  });

  it('is issued to callers with an entity, by a key that lists the role', async () => {
    const name = await role({}, { allowed_client_ids: 'another' });
    const { as } = await person();
    await as.read(`identity/oidc/token/${name}`).expect(400, /does not list the client ID of the role/);
    await secrets.root.write(`identity/oidc/key/${name}`, { allowed_client_ids: '*' }).expect(204);
    await as.read(`identity/oidc/token/${name}`).expect(200);
    await secrets.root.read(`identity/oidc/token/${name}`).expect(400, /no entity associated/);
    await as.read('identity/oidc/token/none').expect(400, /role \\"none\\" not found/);
    const other = await person('path "a" { capabilities = ["read"] }');
    await other.as.read(`identity/oidc/token/${name}`).expect(403);
  });

  it('is inactive once its entity is deleted or disabled, or its time is over', async () => {
    const name = await role({ ttl: '10m' });
    const [gone, disabled, late] = [await person(), await person(), await person()];
    const tokens = await Promise.all([gone, disabled, late].map(({ as }) => tokenOf(as, name)));
    for (const token of tokens) expect(await isActive(token)).toEqual({ active: true });
    await secrets.root.delete(`identity/entity/id/${gone.entity}`).expect(204);
    await secrets.root.write(`identity/entity/id/${disabled.entity}`, { disabled: true }).expect(204);
    expect(await isActive(tokens[0]!)).toEqual({ active: false, error: 'entity was not found' });
    expect(await isActive(tokens[1]!)).toEqual({ active: false, error: 'entity is disabled' });
    expect(await isActive(tokens[2]!, { client_id: 'another' })).toMatchObject({ active: false });
    clock.advance(10 * 60_000);
    expect(await isActive(tokens[2]!)).toMatchObject({ active: false, error: expect.stringContaining('expired') });
  });

  it('is not accepted from another issuer', async () => {
    const { as } = await person();
    const name = await role({}, { algorithm: 'ES256' });
    const [head, body, signature] = (await tokenOf(as, name)).split('.') as [string, string, string];
    const none = Buffer.from(JSON.stringify({ ...headerOf(`${head}.`), alg: 'none' })).toString('base64url');
    const hmac = Buffer.from(JSON.stringify({ ...headerOf(`${head}.`), alg: 'HS256' })).toString('base64url');
    const admin = Buffer.from(JSON.stringify({ sub: 'admin' })).toString('base64url');
    for (const token of [
      '',
      'a.b.c',
      `${none}.${body}.`,
      `${hmac}.${body}.${signature}`,
      `${head}.${admin}.${signature}`,
    ]) {
      expect(await isActive(token)).toMatchObject({ active: false });
    }
  });
});

describe('another namespace', () => {
  it('has its own issuer and keys, and cannot issue tokens for this one', async () => {
    await secrets.root.write('sys/namespaces/team').expect(200);
    const team = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'team' });
    const here = await role({ client_id: 'shared' });
    await team.write('identity/oidc/key/mine', { allowed_client_ids: '*' }).expect(204);
    await team.write('identity/oidc/role/mine', { key: 'mine', client_id: 'shared' }).expect(204);
    const { as } = await person('path "identity/oidc/*" { capabilities = ["read"] }', 'team');
    const token = (await as.read('identity/oidc/token/mine').expect(200)).body.data.token;
    const claims = await verified(token, 'team/identity/oidc/.well-known/keys');
    expect(claims).toMatchObject({ iss: `${publicUrl}/v1/team/identity/oidc` });
    await expect(verified(token)).rejects.toThrow('no such key');
    expect(await isActive(token)).toMatchObject({ active: false });
    await as.read(`identity/oidc/token/${here}`).expect(400);
    // A configured issuer sets scheme, host and port; the path is that of the namespace.
    await team.write('identity/oidc/config', { issuer: publicUrl }).expect(200);
    const again = (await as.read('identity/oidc/token/mine').expect(200)).body.data.token;
    expect(await verified(again, 'team/identity/oidc/.well-known/keys')).toMatchObject({
      iss: `${publicUrl}/v1/team/identity/oidc`,
    });
    expect(await keysAt('team/identity/oidc/.well-known/keys')).toHaveLength(2);
  });
});

describe('two nodes', () => {
  const env = { SECRETS_PUBLIC_URL: publicUrl };
  const here = startSecrets({ env });
  const nodes = withSecondNode(here, env);
  const ask = async (node: string, path: string, more: { token?: string; body?: object } = {}) => {
    const answer = await fetch(`${node}/v1/${path}`, {
      method: more.body ? 'POST' : 'GET',
      headers: { 'X-Service-Token': more.token ?? here.rootToken },
      body: more.body && JSON.stringify(more.body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: bodies of several endpoints
    return answer.status === 204 ? undefined : ((await answer.json()) as any);
  };

  it('create one key of a name, also at the same time, and sign with it', async () => {
    const body = { allowed_client_ids: '*', algorithm: 'ES256' };
    await Promise.all([0, 1, 0, 1].map((i) => ask(nodes[i]!, 'identity/oidc/key/both', { body })));
    await ask(nodes[0]!, 'identity/oidc/role/both', { body: { key: 'both' } });
    const { id } = (await here.root.write('identity/entity', { name: 'both' }).expect(200)).body.data;
    await here.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await here.root.write('auth/userpass/users/both', { password: 'p4ssw0rd-long' }).expect(204);
    const { accessor } = (await here.root.read('sys/auth')).body.data['userpass/'];
    const alias = { name: 'both', mount_accessor: accessor, canonical_id: id };
    await here.root.write('identity/entity-alias', alias).expect(200);
    await here.root
      .write('sys/policies/acl/both', { policy: 'path "identity/oidc/token/*" { capabilities = ["read"] }' })
      .expect(204);
    await here.root.write('auth/userpass/users/both', { token_policies: 'both' }).expect(204);
    const login = await here.anonymous.write('auth/userpass/login/both', { password: 'p4ssw0rd-long' }).expect(200);
    const token = login.body.auth.client_token;
    const signed = await Promise.all(
      [0, 1, 0, 1].map(async (i) => headerOf((await ask(nodes[i]!, 'identity/oidc/token/both', { token })).data.token)),
    );
    expect(new Set(signed.map(({ kid }) => kid)).size).toBe(1);
    const [one, other] = await Promise.all(nodes.map((node) => ask(node, 'identity/oidc/.well-known/keys')));
    expect(one.keys).toHaveLength(2);
    expect(other).toEqual(one);
  });
});
