import { createHash, createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { newSigningKey, type SigningAlgorithm, signJwt, verifyIdToken, withUserInfo } from './index';

const nowMs = 1_800_000_000_000;
const now = nowMs / 1000;
const keys = new Map<SigningAlgorithm, ReturnType<typeof newSigningKey>>();
const keyOf = (algorithm: SigningAlgorithm) => {
  const key = keys.get(algorithm) ?? newSigningKey(0, algorithm);
  keys.set(algorithm, key);
  return key;
};

/** Signs claims, by default those of a valid token, and verifies them. */
async function verified(
  claims: object,
  more: { check?: object; accessToken?: string; algorithm?: SigningAlgorithm } = {},
) {
  const key = await keyOf(more.algorithm ?? 'ES256');
  const token = signJwt({ iss: 'https://p', aud: 'us', sub: 'me', iat: now, exp: now + 60, ...claims }, key);
  return verifyIdToken(token, more.accessToken ?? '', {
    algorithms: [more.algorithm ?? 'ES256'],
    keys: async () => [createPublicKey(key.privatePem)],
    issuer: 'https://p',
    clientId: 'us',
    nonce: undefined,
    maxAgeSeconds: 0,
    nowMs,
    ...more.check,
  });
}

const invalid = (text: string) => new Refusal('invalid', text);

describe('an ID token', () => {
  it('identifies the user', async () => {
    expect(await verified({ groups: ['a'] })).toEqual({
      iss: 'https://p',
      aud: 'us',
      sub: 'me',
      iat: now,
      exp: now + 60,
      groups: ['a'],
    });
    expect(await verified({ aud: ['us', 'them'], azp: 'us' })).toMatchObject({ azp: 'us' });
    expect(await verified({ aud: ['us'] })).toMatchObject({ sub: 'me' });
  });

  it('may be longer than other tokens, for people in many groups', async () => {
    expect(await verified({ groups: ['g'.repeat(100_000)] })).toMatchObject({ sub: 'me' });
    await expect(verified({ groups: ['g'.repeat(4 * 1024 * 1024)] })).rejects.toThrow('malformed jwt');
  });

  it.each<[string, object, string]>([
    ['no expiry', { exp: undefined }, 'no expiration time (exp) claim in token'],
    ['another issuer', { iss: 'https://q' }, 'invalid issuer (iss) claim'],
    ['no issuer', { iss: undefined }, 'invalid issuer (iss) claim'],
    ['another client', { aud: 'them' }, 'invalid audience (aud) claim: the token is for another client'],
    [
      'several clients and no authorized party',
      { aud: ['us', 'them'] },
      'invalid authorized party (azp) claim: the token is for another client',
    ],
    [
      'another authorized party',
      { azp: 'them' },
      'invalid authorized party (azp) claim: the token is for another client',
    ],
    ['no subject', { sub: undefined }, 'invalid subject (sub) claim'],
    ['an empty subject', { sub: '' }, 'invalid subject (sub) claim'],
    ['a subject that is not a string', { sub: 7 }, 'invalid subject (sub) claim'],
    ['an expiry long ago', { exp: now - 61 }, 'invalid expiration time (exp) claim: token is expired'],
  ])('is refused with %s', async (_what, claims, text) => {
    await expect(verified(claims)).rejects.toEqual(invalid(text));
  });

  it('is refused if the issuer is not known', async () => {
    await expect(verified({ iss: undefined }, { check: { issuer: undefined } })).rejects.toEqual(
      invalid('invalid issuer (iss) claim'),
    );
  });

  it('has the nonce of the request', async () => {
    expect(await verified({ nonce: 'n' }, { check: { nonce: 'n' } })).toMatchObject({ nonce: 'n' });
    expect(await verified({ nonce: 'n' })).toMatchObject({ nonce: 'n' });
    for (const nonce of [undefined, 'm', '']) {
      await expect(verified({ nonce }, { check: { nonce: 'n' } })).rejects.toEqual(invalid('invalid ID token nonce'));
    }
  });

  it('comes from a recent sign-in if that is required, apart from the clock skew', async () => {
    const check = { maxAgeSeconds: 100 };
    expect(await verified({ auth_time: now - 160 }, { check })).toMatchObject({ sub: 'me' });
    expect(await verified({ auth_time: now - 161 })).toMatchObject({ sub: 'me' });
    await expect(verified({ auth_time: now - 161 }, { check })).rejects.toEqual(
      invalid('the last sign-in at the provider is too old'),
    );
    for (const auth_time of [undefined, String(now)]) {
      await expect(verified({ auth_time }, { check })).rejects.toEqual(
        invalid('no auth_time claim in token, although the request had max_age'),
      );
    }
    const narrow = { maxAgeSeconds: 100, leeways: { skew: 0, expiration: 1, notBefore: 1 } };
    await expect(verified({ auth_time: now - 101 }, { check: narrow })).rejects.toThrow('too old');
  });

  it.each<[SigningAlgorithm, string]>([
    ['ES256', 'sha256'],
    ['RS384', 'sha384'],
    ['ES512', 'sha512'],
    ['EdDSA', 'sha512'],
  ])('by %s names its access token by half of a %s', async (algorithm, digest) => {
    const hash = createHash(digest).update('token').digest();
    const at_hash = hash.subarray(0, hash.length / 2).toString('base64url');
    const more = { algorithm, accessToken: 'token' };
    expect(await verified({ at_hash }, more)).toMatchObject({ at_hash });
    expect(await verified({}, more)).toMatchObject({ sub: 'me' });
    expect(await verified({ at_hash }, { algorithm })).toMatchObject({ sub: 'me' });
    await expect(verified({ at_hash }, { ...more, accessToken: 'other' })).rejects.toEqual(
      invalid('the access token does not match the ID token'),
    );
  });
});

describe('the userinfo of a provider', () => {
  const idClaims = { iss: 'p', sub: 'me', nonce: 'n', exp: 9, name: 'A' };

  it('adds claims, but never replaces those of the token', () => {
    expect(withUserInfo(idClaims, undefined)).toEqual({ iss: 'p', sub: 'me', exp: 9, name: 'A' });
    const more = { sub: 'me', name: 'B', email: 'b@example.com', iss: 'q', exp: 99, aud: 'x', nonce: 'm' };
    expect(withUserInfo(idClaims, more)).toEqual({ iss: 'p', sub: 'me', exp: 9, name: 'B', email: 'b@example.com' });
  });

  it.each(['aud', 'azp', 'iat', 'nbf', 'nonce', 'auth_time', 'acr', 'amr', 'sid'])('cannot add %s', (name) => {
    expect(withUserInfo(idClaims, { sub: 'me', [name]: 'x' })).not.toHaveProperty(name);
  });

  it('is refused for another subject', () => {
    const refusal = invalid('the userinfo is about another subject than the ID token');
    expect(() => withUserInfo(idClaims, { sub: 'you' })).toThrow(refusal);
    expect(() => withUserInfo(idClaims, {})).toThrow(refusal);
  });
});
