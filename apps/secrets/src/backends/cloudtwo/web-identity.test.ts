import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { CloudStandIn } from '../../../test/stand-ins/cloudtwo';
import { trustIssuer } from '../../../test/stand-ins/cloudtwo-web-identity';
import { startSecrets } from '../../../test/start-secrets';

const publicUrl = 'https://secrets.example/base';
const roleArn = 'arn:aws:iam::123456789012:role/keystead';
const audience = 'sts.example';

describe('root credentials by web identity', () => {
  const cloud = new CloudStandIn();
  const clock = manualClock(Date.now());
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  const secrets = startSecrets({ env: { SECRETS_PUBLIC_URL: `${publicUrl}/` }, clock });
  const exchanged = trustIssuer(
    cloud,
    {
      issuer: `${publicUrl}/v1/identity/oidc/plugins`,
      audience,
      subject: /^plugin-identity:root:secret:cloudtwo_\w+$/,
      roleArn,
    },
    // Served under the public address, as behind a proxy.
    () => `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}/strip`,
  );
  beforeAll(() => {
    const [handler] = secrets.server.listeners('request');
    secrets.server.removeAllListeners('request');
    secrets.server.on('request', (request, response) => {
      request.url = request.url!.replace(/^\/strip\/base/, '');
      (handler as (...args: unknown[]) => void)(request, response);
    });
  });

  const base = () => ({ region: 'eu-west-1', iam_endpoint: cloud.address, sts_endpoint: cloud.address });
  const identity = { role_arn: roleArn, identity_token_audience: audience };
  const configure = (fields: object) => secrets.root.write('cloudtwo/config/root', { ...base(), ...fields });
  const wellKnown = async (name: string, namespace = '') =>
    (await secrets.anonymous.read(`${namespace}identity/oidc/plugins/.well-known/${name}`).expect(200)).body;
  const kids = async () => (await wellKnown('keys')).keys.map((key: { kid: string }) => key.kid);

  it('publishes an issuer and public keys, and nothing private', async () => {
    expect(await wellKnown('openid-configuration')).toEqual({
      issuer: `${publicUrl}/v1/identity/oidc/plugins`,
      jwks_uri: `${publicUrl}/v1/identity/oidc/plugins/.well-known/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
    const [before, again] = await Promise.all([wellKnown('keys'), wellKnown('keys')]);
    expect(again).toEqual(before);
    expect(before.keys).toHaveLength(2);
    for (const key of before.keys) expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });

  it.each([
    [{ ...identity, access_key: 'AKIA', secret_key: 'x' }, 'cannot be combined with access_key or'],
    [{ ...identity, credential_source: 'environment' }, 'cannot be combined with access_key or'],
    [{ role_arn: roleArn }, 'role_arn and identity_token_audience must be set together'],
    [{ identity_token_audience: audience }, 'role_arn and identity_token_audience must be set together'],
    [{ ...identity, role_arn: 'keystead' }, 'role_arn must be the ARN of a role'],
    [{ ...identity, identity_token_ttl: 30 }, 'identity_token_ttl must be between'],
    [{ ...identity, identity_token_ttl: '25h' }, 'identity_token_ttl must be between'],
  ])('is refused if it is configured as %j', async (fields, text) => {
    const { body } = await configure(fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  it('issues credentials without a stored key of the provider', async () => {
    await configure({ ...identity, identity_token_ttl: '10m' }).expect(204);
    const read = await secrets.root.read('cloudtwo/config/root').expect(200);
    expect(read.body.data).toMatchObject({ ...identity, identity_token_ttl: 600, access_key: '' });
    await secrets.root
      .write('cloudtwo/roles/user', {
        credential_type: 'iam_user',
        policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess',
      })
      .expect(204);
    const { body } = await secrets.root.read('cloudtwo/creds/user').expect(200);
    expect(cloud.keys.has(body.data.access_key)).toBe(true);
    await secrets.root.read('cloudtwo/creds/user').expect(200);
    expect(cloud.actions().filter((action) => action === 'AssumeRoleWithWebIdentity')).toHaveLength(1);
    const [claims] = exchanged;
    expect(Number(claims!.exp) - Number(claims!.iat)).toBe(600);
    expect(claims!.keystead).toMatchObject({ namespace_path: '', plugin: 'cloudtwo', path: 'cloudtwo/' });
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    expect(cloud.keys.has(body.data.access_key)).toBe(false);
  });

  it('reports why the provider refused, without showing a token', async () => {
    await configure({ ...identity, identity_token_audience: 'another' }).expect(204);
    const { body } = await secrets.root.read('cloudtwo/creds/user').expect(400);
    expect(body.errors[0]).toContain('Error assuming role with web identity: InvalidIdentityToken: Incorrect token');
    expect(body.errors[0]).not.toContain('eyJ');
    await configure({ ...identity, role_arn: `${roleArn}-other` }).expect(204);
    await secrets.root.read('cloudtwo/creds/user').expect(502, /AccessDenied/);
    await configure(identity).expect(204);
    await secrets.root.read('cloudtwo/creds/user').expect(200);
  });

  it('has no root key to rotate', async () => {
    await secrets.root.write('cloudtwo/config/rotate-root', {}).expect(400, /access_key or secret_key is empty/);
  });

  it('signs with a key that was published a day before, and still publishes the previous one', async () => {
    const [first, second] = await kids();
    clock.advance(25 * 3_600_000);
    const rotatedKids = await kids();
    expect(rotatedKids).toEqual([second, expect.any(String), first]);
    await configure(identity).expect(204);
    await secrets.root.read('cloudtwo/creds/user').expect(200);
    clock.advance(25 * 3_600_000);
    expect(await kids()).toEqual([rotatedKids[1], expect.any(String), second]);
  });

  it('has its own issuer and keys in every namespace', async () => {
    await secrets.root.write('sys/namespaces/team', {}).expect(200);
    const document = await wellKnown('openid-configuration', 'team/');
    expect(document.issuer).toBe(`${publicUrl}/v1/team/identity/oidc/plugins`);
    const ownKids = (await wellKnown('keys', 'team/')).keys.map((key: { kid: string }) => key.kid);
    expect(await kids()).not.toEqual(expect.arrayContaining(ownKids));
    await secrets.root.write('team/sys/mounts/cloudtwo', { type: 'cloudtwo' }).expect(204);
    await secrets.root.write('team/cloudtwo/config/root', { ...base(), ...identity }).expect(204);
    await secrets.root
      .write('team/cloudtwo/roles/user', { credential_type: 'iam_user', policy_document: '{"Statement":[{}]}' })
      .expect(204);
    const { body } = await secrets.root.read('team/cloudtwo/creds/user').expect(400);
    expect(body.errors[0]).toContain('No OpenIDConnect provider found');
  });
});

describe('without a public address', () => {
  const secrets = startSecrets();

  it('nothing is issued or published', async () => {
    const fields = { role_arn: roleArn, identity_token_audience: audience };
    await secrets.root.write('cloudtwo/config/root', fields).expect(400, /SECRETS_PUBLIC_URL/);
    await secrets.anonymous.read('identity/oidc/plugins/.well-known/openid-configuration').expect(404);
    const { body } = await secrets.anonymous.read('identity/oidc/plugins/.well-known/keys').expect(200);
    expect(body).toEqual({ keys: [] });
  });
});
