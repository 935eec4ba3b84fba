import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const redirect = 'https://app.example/callback';
const session = path.join(__dirname, 'relying-party-session.mjs');

describe('a third-party relying party', () => {
  const secrets = startSecrets();

  it('signs people in at a provider, with every flow and every algorithm', async () => {
    const { root } = secrets;
    const { port } = secrets.server.address() as { port: number };
    const origin = `http://127.0.0.1:${port}`;
    const policy = 'path "identity/oidc/provider/+/authorize" { capabilities = ["read"] }';
    await root.write('sys/policies/acl/person', { policy }).expect(204);
    await root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await root.write('auth/userpass/users/ada', { password: 'p4ssw0rd-long', token_policies: 'person' }).expect(204);
    const login = await secrets.anonymous.write('auth/userpass/login/ada', { password: 'p4ssw0rd-long' }).expect(200);
    const { client_token: token, entity_id: entity } = login.body.auth;
    await root.write(`identity/entity/id/${entity}`, { metadata: { name: 'Ada "the first"' } }).expect(204);
    await root
      .write('identity/oidc/scope/profile', { template: '{"name": {{identity.entity.metadata.name}}}' })
      .expect(204);
    await root
      .write('identity/oidc/provider/company', { issuer: origin, allowed_client_ids: '*', scopes_supported: 'profile' })
      .expect(200);
    const combinations = [
      ['basic', 'RS256'],
      ['post', 'ES256'],
      ['none', 'EdDSA'],
      ['basic', 'ES512'],
      ['none', 'RS384'],
    ] as const;
    const applications = [];
    for (const [way, algorithm] of combinations) {
      const name = `${way}-${algorithm}`;
      await root.write(`identity/oidc/key/${name}`, { algorithm, allowed_client_ids: '*' }).expect(204);
      const fields = { key: name, redirect_uris: redirect, assignments: 'allow_all' };
      const client_type = way === 'none' ? 'public' : 'confidential';
      await root.write(`identity/oidc/client/${name}`, { ...fields, client_type }).expect(204);
      const { client_id: id, client_secret: secret } = (await root.read(`identity/oidc/client/${name}`)).body.data;
      applications.push({ id, secret, way, algorithm });
    }
    const given = { issuer: `${origin}/v1/identity/oidc/provider/company`, token, applications, redirect };
    const { stdout } = await promisify(execFile)(process.execPath, [session, JSON.stringify(given)]);
    const expected = combinations.map(([way, algorithm]) => `${way} ${algorithm}: Ada "the first" ${entity}`);
    expect(stdout.trim().split('\n')).toEqual(expected);
  }, 60_000);
});
