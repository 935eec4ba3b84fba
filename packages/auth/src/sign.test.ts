import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  digestOf,
  newSigningKey,
  publicJwk,
  type SigningAlgorithm,
  signingAlgorithms,
  signJwt,
  verifySignature,
} from './index';

describe('a signing key', () => {
  it.each<[SigningAlgorithm | undefined, object]>([
    [undefined, { kty: 'RSA', alg: 'RS256' }],
    ['RS384', { kty: 'RSA', alg: 'RS384' }],
    ['RS512', { kty: 'RSA', alg: 'RS512' }],
    ['ES256', { kty: 'EC', crv: 'P-256', alg: 'ES256' }],
    ['ES384', { kty: 'EC', crv: 'P-384', alg: 'ES384' }],
    ['ES512', { kty: 'EC', crv: 'P-521', alg: 'ES512' }],
    ['EdDSA', { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' }],
  ])('for %s publishes its public half, which verifies its signatures', async (algorithm, publicMembers) => {
    const key = await newSigningKey(5, algorithm);
    expect(key).toMatchObject({ createdAtMs: 5, kid: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(key.algorithm).toBe(algorithm);
    expect('algorithm' in key).toBe(algorithm !== undefined);
    const published = publicJwk(key);
    expect(published).toMatchObject({ ...publicMembers, kid: key.kid, use: 'sig' });
    expect(published).not.toHaveProperty('d');
    if (published.kty === 'RSA') expect(Buffer.from(published.n!, 'base64url')).toHaveLength(256);
    // The key is used twice: parsed, and from the cache.
    for (const iat of [1, 2]) {
      const token = signJwt({ sub: 'me', iat }, key);
      const head = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
      expect(head).toEqual({ alg: algorithm ?? 'RS256', typ: 'JWT', kid: key.kid });
      const keys = async () => [createPublicKey({ key: published, format: 'jwk' })];
      expect(await verifySignature(token, { algorithms: [algorithm ?? 'RS256'], keys })).toEqual({ sub: 'me', iat });
    }
  });

  it('signs a digest, or the text itself', () => {
    const digests = ['sha256', 'sha384', 'sha512', 'sha256', 'sha384', 'sha512', undefined];
    expect(signingAlgorithms.map(digestOf)).toEqual(digests);
  });
});
