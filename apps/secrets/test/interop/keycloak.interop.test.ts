import { createHash, createHmac, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Keycloak, keycloakAt } from '@keystead/testing';
import { startSecrets } from '../start-secrets';

jest.setTimeout(60_000);
if (!keycloakAt)
  process.stderr.write('skipped: no KEYSTEAD_KEYCLOAK, so there is no attack with tokens of a real provider\n');
const withKeycloak = keycloakAt ? describe : describe.skip;
const back = 'http://localhost:8250/oidc/callback';

withKeycloak('an attacker with tokens and codes of a real Keycloak', () => {
  const secrets = startSecrets();
  const keycloak = new Keycloak();
  const other = new Keycloak();
  interface Tokens {
    readonly id_token: string;
    readonly access_token: string;
    readonly refresh_token: string;
  }
  let tokens: Tokens;
  let foreign: Tokens;
  let pem = '';

  /** The tokens of a person who signs in there directly. */
  const tokensAt = async (at: Keycloak): Promise<Tokens> => {
    const code_verifier = randomBytes(48).toString('base64url');
    const asked = new URLSearchParams({
      client_id: 'keystead',
      response_type: 'code',
      scope: 'openid',
      redirect_uri: back,
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const { location } = await at.browse(`${at.issuer}/protocol/openid-connect/auth?${asked}`);
    const form = {
      grant_type: 'authorization_code',
      client_id: 'keystead',
      client_secret: at.clientSecret,
      redirect_uri: back,
      code: new URL(location!).searchParams.get('code')!,
      code_verifier,
    };
    const answer = await fetch(`${at.issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    return (await answer.json()) as Tokens;
  };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());

  beforeAll(async () => {
    await Promise.all([keycloak.start(), other.start()]);
    [tokens, foreign] = await Promise.all([tokensAt(keycloak), tokensAt(other)]);
    pem = createPublicKey(await keycloak.certificate()).export({ type: 'spki', format: 'pem' }) as string;
    for (const [type, at] of [
      ['jwt', keycloak],
      ['oidc', keycloak],
      ['second', other],
    ] as const) {
      await secrets.root.write(`sys/auth/${type}`, { type: type === 'jwt' ? 'jwt' : 'oidc' }).expect(204);
      const client = type === 'jwt' ? {} : { oidc_client_id: 'keystead', oidc_client_secret: at.clientSecret };
      await secrets.root.write(`auth/${type}/config`, { oidc_discovery_url: at.issuer, ...client }).expect(204);
      const role = type === 'jwt' ? { role_type: 'jwt', bound_audiences: 'keystead' } : { allowed_redirect_uris: back };
      await secrets.root.write(`auth/${type}/role/r`, { user_claim: 'sub', ...role }).expect(204);
    }
  }, 400_000);
  afterAll(async () => {
    await Promise.all([keycloak.stop(), other.stop()]);
  });

  const login = (jwt: string) => secrets.anonymous.write('auth/jwt/login', { role: 'r', jwt });
  const signed = (header: object, claims: object, by: (text: string) => Buffer) => {
    const text = `${part(header)}.${part(claims)}`;
    return `${text}.${by(text).toString('base64url')}`;
  };
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const byOwnKey = (text: string) => sign('sha256', Buffer.from(text), pair.privateKey);
  const of = () => {
    const [head, claims, signature] = tokens.id_token.split('.') as [string, string, string];
    return { head, claims, signature, header: read(head), said: read(claims) };
  };

  it.each<[string, () => string]>([
    ['its token without a signature', () => `${part({ alg: 'none' })}.${of().claims}.`],
    ['its token with the algorithm None', () => `${part({ ...of().header, alg: 'None' })}.${of().claims}.`],
    [
      'its public key as a shared secret',
      () =>
        signed({ ...of().header, alg: 'HS256' }, of().said, (text) => createHmac('sha256', pem).update(text).digest()),
    ],
    [
      'a key in the token itself',
      () => signed({ alg: 'RS256', jwk: pair.publicKey.export({ format: 'jwk' }) }, of().said, byOwnKey),
    ],
    ['another key under the id of its key', () => signed(of().header, of().said, byOwnKey)],
    [
      'key URLs in the header',
      () => signed({ ...of().header, jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' }, of().said, byOwnKey),
    ],
    ['a key id that is a path', () => signed({ alg: 'RS256', kid: '../../etc/passwd' }, of().said, byOwnKey)],
    ['claims of another person', () => [of().head, part({ ...of().said, sub: 'eve' }), of().signature].join('.')],
    ['its access token, which is for another audience', () => tokens.access_token],
    ['its refresh token', () => tokens.refresh_token],
    ['a token of another realm', () => foreign.id_token],
    [
      'a token of another realm with the issuer of this realm',
      () => {
        const [head, claims, signature] = foreign.id_token.split('.');
        return [head, part({ ...read(claims!), iss: keycloak.issuer }), signature].join('.');
      },
    ],
    ['a truncated token', () => tokens.id_token.slice(0, -40)],
    ['a token with an additional part', () => `${tokens.id_token}.${of().signature}`],
  ])('is refused with %s', async (_what, make) => {
    const jwt = make();
    const { body } = await login(jwt).expect(400);
    expect(JSON.stringify(body)).not.toContain(of().said.sub);
    expect(body.auth ?? undefined).toBeUndefined();
  });

  it('can log in with the token itself', async () => {
    await login(tokens.id_token).expect(200);
  });

  const begin = async (mount = 'oidc') => {
    const asked = { role: 'r', redirect_uri: back, client_nonce: 'n' };
    const { body } = await secrets.anonymous.write(`auth/${mount}/oidc/auth_url`, asked).expect(200);
    return new URL(body.data.auth_url);
  };
  const finish = (location: string | URL, changed: Record<string, string> = {}, mount = 'oidc') => {
    const sent = new URL(location).searchParams;
    for (const [name, value] of Object.entries({ client_nonce: 'n', ...changed })) sent.set(name, value);
    return secrets.anonymous.read(`auth/${mount}/oidc/callback?${sent}`);
  };

  it('gets no token with a weaker PKCE, or none', async () => {
    for (const [name, value] of [
      ['code_challenge_method', 'plain'],
      ['code_challenge', undefined],
    ] as const) {
      const url = await begin();
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
      const { location } = await keycloak.browse(url.href);
      // The provider sends an error instead of a code, which uses up the state.
      expect(new URL(location!).searchParams.get('error')).toBe('invalid_request');
      await finish(location!).expect(400);
    }
  });

  it('gets no token with a code of another provider, another mount or another nonce, or for a second time', async () => {
    const elsewhere = (await other.browse((await begin('second')).href)).location!;
    const state = (await begin()).searchParams.get('state')!;
    // Mix-up: the code of one provider is sent to the other.
    await finish(elsewhere, { state }).expect(400, /Another issuer|Error exchanging/);
    await finish(elsewhere, { state: (await begin()).searchParams.get('state')!, iss: keycloak.issuer }).expect(400);
    await finish(elsewhere).expect(400, /state/i);
    await finish(elsewhere, { client_nonce: 'm' }, 'second').expect(400, /client_nonce/);
    const { location } = await keycloak.browse((await begin()).href);
    await finish(location!).expect(200);
    await finish(location!).expect(400, /state/i);
  });

  it('is redirected only to the addresses of the role', async () => {
    for (const redirect_uri of [
      'https://evil.example/',
      `${back}/../x`,
      `${back}?a=b`,
      'http://localhost:8250@evil.example/',
    ]) {
      const { body } = await secrets.anonymous.write('auth/oidc/oidc/auth_url', { role: 'r', redirect_uri });
      expect(body.data?.auth_url ?? '').toBe('');
    }
  });
});
