import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import jwt from 'jsonwebtoken';
import { keyPair } from '../../testing/src/key-pairs';
import { equalSecrets, mintToken, randomBase62, randomId, readBearer, verifyJwt } from './index';

describe('mintToken', () => {
  it('returns the prefix and base62 text, never the same twice', () => {
    const tokens = new Set(Array.from({ length: 1000 }, () => mintToken('s.', 24)));
    expect(tokens.size).toBe(1000);
    for (const token of tokens) expect(token).toMatch(/^s\.[0-9A-Za-z]{24}$/);
  });

  it('uses every character about equally often', () => {
    const counts = new Map<string, number>();
    for (const c of mintToken('', 62_000)) counts.set(c, (counts.get(c) ?? 0) + 1);
    expect(counts.size).toBe(62);
    for (const n of counts.values()) expect(Math.abs(n - 1000)).toBeLessThan(250);
  });

  it('can return random text without a prefix', () => {
    expect(randomBase62(40)).toMatch(/^[0-9A-Za-z]{40}$/);
    expect(randomBase62(0)).toBe('');
  });

  it('creates public ids without similar characters', () => {
    expect(randomId('ws-')).toMatch(/^ws-[1-9A-HJ-NP-Za-km-z]{16}$/);
  });
});

it.each([
  ['Bearer abc', 'abc'],
  ['bearer abc', undefined],
  ['Basic abc', undefined],
  ['Bearer  abc ', 'abc'],
  ['Bearer ', undefined],
  ['Bearer  ', undefined],
  [undefined, undefined],
])('the header %p has the bearer token %p', (header, token) => {
  expect(readBearer(header)).toBe(token);
});

it('secrets of any length can be compared', () => {
  expect(equalSecrets('a', 'a')).toBe(true);
  expect(equalSecrets('a', 'ab')).toBe(false);
  expect(equalSecrets('a', 'b')).toBe(false);
  expect(equalSecrets('a', Buffer.from('a'))).toBe(true);
});

describe('verifyJwt', () => {
  const keys = keyPair('rsa');
  const nowMs = Date.UTC(2026, 0, 1);
  const now = nowMs / 1000;
  const sign = (claims: object, options: jwt.SignOptions = {}) =>
    jwt.sign({ iss: 'https://issuer', aud: 'us', exp: now + 60, iat: now, ...claims }, keys.privateKey, {
      algorithm: 'RS256',
      keyid: 'k1',
      ...options,
    });
  const check = {
    issuer: 'https://issuer',
    audience: 'us',
    algorithms: ['RS256'] as const,
    keys: async ({ kid }: { kid: string | undefined }) => (kid === 'k1' ? [keys.publicKey] : []),
    nowMs,
  };

  it('returns the claims of a valid token', async () => {
    expect(await verifyJwt(sign({ oid: 'o' }), check)).toMatchObject({ oid: 'o' });
  });

  it.each([
    ['an expired token', sign({ exp: now - 1 }), 'jwt is expired'],
    ['a token without expiry', withoutExpiry(), 'jwt has no expiry'],
    ['a token that is not valid yet', sign({ nbf: now + 100 }), 'jwt is not valid yet'],
    ['another audience', sign({ aud: 'them' }), 'jwt is for another audience'],
    ['another issuer', sign({ iss: 'https://evil' }), 'jwt was issued by a different provider'],
    ['an unknown key', sign({}, { keyid: 'k2' }), 'failed to verify signature of jwt: no such key'],
    ['text', 'zz', 'malformed jwt'],
    ['a symmetric signature made with the public key', hmacSigned(), 'unexpected signature algorithm of jwt'],
    ['an unsigned token', `${jwt.sign({}, '', { algorithm: 'none' })}`, 'unexpected signature algorithm of jwt'],
    ['a broken signature', `${sign({}).slice(0, -6)}AAAAAA`, 'failed to verify signature of jwt'],
  ])('refuses %s', async (_what, token, message) => {
    await expect(verifyJwt(token, check)).rejects.toEqual(new Refusal('denied', message));
  });

  function withoutExpiry(): string {
    return jwt.sign({ iss: 'https://issuer', aud: 'us' }, keys.privateKey, { algorithm: 'RS256', keyid: 'k1' });
  }

  function hmacSigned(): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg: 'HS256', kid: 'k1' })}.${part({ iss: 'https://issuer', aud: 'us', exp: now + 60 })}.AAAA`;
  }
});
