import { sign } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { newKey } from '../../../test/stand-ins/jwt';
import { startSecrets } from '../../../test/start-secrets';

const key = newKey('RS256');
const base64 = (text: string) => Buffer.from(text).toString('base64url');
/** A token whose claims are this text, so that numbers keep all their digits. */
const tokenOf = (project: string) => {
  const now = Math.floor(Date.now() / 1000);
  const body = `${base64('{"alg":"RS256"}')}.${base64(`{"aud":"ks","sub":"s1","iat":${now},"exp":${now + 600},"project":${project}}`)}`;
  return `${body}.${sign('RSA-SHA256', Buffer.from(body), key.privateKey).toString('base64url')}`;
};

describe('numbers in claims', () => {
  const secrets = startSecrets();
  let next = 0;
  beforeAll(async () => {
    await secrets.root.write('sys/auth/jwt', { type: 'jwt' }).expect(204);
    const pem = key.publicKey.export({ type: 'spki', format: 'pem' });
    await secrets.root.write('auth/jwt/config', { jwt_validation_pubkeys: [pem] }).expect(204);
  });
  const roleBoundTo = async (project: string) => {
    const name = `r${next++}`;
    const rest = '"role_type":"jwt","user_claim":"sub","bound_audiences":"ks","claim_mappings":{"project":"pid"}';
    await secrets.root.write(`auth/jwt/role/${name}`, `{${rest},"bound_claims":{"project":${project}}}`).expect(204);
    return name;
  };
  const login = (role: string, project: string) =>
    secrets.anonymous.write('auth/jwt/login', { role, jwt: tokenOf(project) });

  it.each([
    ['9007199254740993', '9007199254740993', 200],
    ['9007199254740993', '9007199254740992', 400],
    ['9007199254740992', '9007199254740993', 400],
    ['[1,9007199254740993]', '9007199254740993', 200],
    ['[1,9007199254740993]', '9007199254740992', 400],
    ['42', '42.0', 200],
    ['42.0', '42', 200],
    ['42', '42.9', 400],
    ['42', '4.2e1', 200],
    ['"9007199254740993"', '9007199254740993', 200],
    ['100000000000000000001', '100000000000000000000', 400],
    ['0.1', '0.10000000000000000001', 400],
  ])('%s is compared with %s by value: %d', async (bound, claim, status) => {
    const { body } = await login(await roleBoundTo(bound), claim).expect(status);
    if (status === 400) expect(body.errors[0]).toMatch(/project/);
  });

  it('keep their digits in a role that is read back, and in metadata', async () => {
    const ids = fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }).map(String);
    await fc.assert(
      fc.asyncProperty(ids, async (id) => {
        const name = await roleBoundTo(id);
        expect((await secrets.root.read(`auth/jwt/role/${name}`).expect(200)).text).toContain(`{"project":${id}}`);
        expect((await login(name, id).expect(200)).body.auth.metadata.pid).toBe(id);
        await login(name, String(BigInt(id) + 1n)).expect(400);
        // Changing another field does not change them.
        await secrets.root.write(`auth/jwt/role/${name}`, { token_ttl: 60 }).expect(204);
        expect((await secrets.root.read(`auth/jwt/role/${name}`).expect(200)).text).toContain(`{"project":${id}}`);
      }),
      { ...propertySettings, numRuns: 20 },
    );
  });
});
