import { type KeyObject, sign as signBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import jwt from 'jsonwebtoken';
import { keyPair } from '../../testing/src/key-pairs';
import { audiencesOf, type JwtAlgorithm, type SignatureHeader, verifyJwt, verifySignature } from './index';
import { keyFits } from './signature';

const rsa = keyPair('rsa');
const short = keyPair('rsa-1024');
const p256 = keyPair('P-256');
const p384 = keyPair('P-384');
const p521 = keyPair('P-521');
const ed = keyPair('ed25519');
const ed448 = keyPair('ed448');

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const check = (key: KeyObject, algorithm: JwtAlgorithm) => ({ algorithms: [algorithm], keys: async () => [key] });
const malformed = new Refusal('denied', 'malformed jwt');

describe('a signature', () => {
  it.each<[JwtAlgorithm, { publicKey: KeyObject; privateKey: KeyObject }]>([
    ['RS256', rsa],
    ['RS384', rsa],
    ['RS512', rsa],
    ['PS256', rsa],
    ['PS384', rsa],
    ['PS512', rsa],
    ['ES256', p256],
    ['ES384', p384],
    ['ES512', p521],
  ])('by %s is verified, with any times', async (algorithm, { publicKey, privateKey }) => {
    const claims = { sub: 'me', exp: 1, nbf: 4_000_000_000 };
    const token = jwt.sign(claims, privateKey, { algorithm: algorithm as jwt.Algorithm, noTimestamp: true });
    expect(await verifySignature(token, check(publicKey, algorithm))).toEqual(claims);
  });

  it('is verified before claims are parsed exactly', async () => {
    const read: string[] = [];
    const parse = (text: string) => read.push(text) && JSON.parse(text);
    const [head, body, signature] = jwt
      .sign({ sub: 'me' }, rsa.privateKey, { algorithm: 'RS256', noTimestamp: true })
      .split('.');
    const claims = { ...check(rsa.publicKey, 'RS256'), parse };
    await expect(verifySignature(`${head}.${part({ sub: 'you' })}.${signature}`, claims)).rejects.toThrow('signature');
    expect(read).toEqual([]);
    expect(await verifySignature(`${head}.${body}.${signature}`, claims)).toEqual({ sub: 'me' });
    expect(read).toEqual(['{"sub":"me"}']);
  });

  it.each([
    ['ed25519', ed],
    ['ed448', ed448],
  ])('by EdDSA is verified, with a key of %s', async (_curve, { publicKey, privateKey }) => {
    const text = `${part({ alg: 'EdDSA' })}.${part({ sub: 'me' })}`;
    const token = `${text}.${signBytes(null, Buffer.from(text), privateKey).toString('base64url')}`;
    expect(await verifySignature(token, check(publicKey, 'EdDSA'))).toEqual({ sub: 'me' });
    const other = `${part({ alg: 'EdDSA' })}.${part({ sub: 'you' })}.${token.split('.')[2]}`;
    await expect(verifySignature(other, check(publicKey, 'EdDSA'))).rejects.toEqual(
      new Refusal('denied', 'failed to verify signature of jwt'),
    );
  });

  it('is accepted from any of several keys, even one that its issuer publishes only at the second request', async () => {
    const other = keyPair('rsa', 'other');
    const token = jwt.sign({ sub: 'me' }, rsa.privateKey, { algorithm: 'RS256', keyid: 'k', noTimestamp: true });
    const headers: SignatureHeader[] = [];
    const keys = async (header: SignatureHeader) => {
      headers.push(header);
      return header.unverified ? [other.publicKey, rsa.publicKey] : [other.publicKey];
    };
    const both = async () => [other.publicKey, rsa.publicKey];
    expect(await verifySignature(token, { algorithms: ['RS256'], keys: both })).toEqual({ sub: 'me' });
    expect(await verifySignature(token, { algorithms: ['ES256', 'RS256'], keys })).toEqual({ sub: 'me' });
    expect(headers).toEqual([
      { algorithm: 'RS256', kid: 'k', unverified: false },
      { algorithm: 'RS256', kid: 'k', unverified: true },
    ]);
  });

  it.each<[string, string, Refusal]>([
    ['a key id that is not a string', `${part({ alg: 'RS256', kid: 1 })}.${part({})}.AAAA`, malformed],
    [
      'a critical extension',
      `${part({ alg: 'RS256', crit: ['exp'] })}.${part({})}.AAAA`,
      new Refusal('denied', 'malformed jwt: it demands extensions'),
    ],
    ['a header that is a list', `${part([])}.${part({})}.AAAA`, malformed],
    ['a header that is null', `${part(null)}.${part({})}.AAAA`, malformed],
    ['claims that are a string', `${part({ alg: 'RS256' })}.${part('x')}.AAAA`, malformed],
    ['claims that are not JSON', `${part({ alg: 'RS256' })}.zz.AAAA`, malformed],
    ['a fourth part', `${part({ alg: 'RS256' })}.${part({})}.AAAA.AAAA`, malformed],
    ['a part before it', `.${part({ alg: 'RS256' })}.${part({})}.AAAA`, malformed],
    ['a line after it', `${part({ alg: 'RS256' })}.${part({})}.AAAA\n`, malformed],
    ['more than 64 KiB', `${part({ alg: 'RS256' })}.${part({})}.${'A'.repeat(64 * 1024)}`, malformed],
  ])('is not checked for %s', async (_what, token, refusal) => {
    await expect(verifySignature(token, check(rsa.publicKey, 'RS256'))).rejects.toEqual(refusal);
  });

  it('is checked in a token of exactly 64 KiB', async () => {
    const start = `${part({ alg: 'RS256' })}.${part({})}.`;
    const token = start + 'A'.repeat(64 * 1024 - start.length);
    await expect(verifySignature(token, check(rsa.publicKey, 'RS256'))).rejects.toThrow('failed to verify signature');
  });
});

describe('a key', () => {
  it.each<[JwtAlgorithm, KeyObject[]]>([
    ['RS256', [rsa.publicKey]],
    ['PS512', [rsa.publicKey]],
    ['ES256', [p256.publicKey]],
    ['ES384', [p384.publicKey]],
    ['ES512', [p521.publicKey]],
    ['EdDSA', [ed.publicKey, ed448.publicKey]],
  ])('fits %s only if it is public, of the right type and long enough', (algorithm, expected) => {
    const pairs = [rsa, short, p256, p384, p521, ed, ed448];
    const keys = pairs.flatMap(({ publicKey, privateKey }) => [publicKey, privateKey]);
    expect(keys.filter((key) => keyFits(key, algorithm))).toEqual(expected);
  });
});

describe('the claims of a token', () => {
  const nowMs = 1_000_500;
  const verify = (claims: object) =>
    verifyJwt(
      jwt.sign({ iss: 'us', aud: 'me', ...claims }, rsa.privateKey, { algorithm: 'RS256', noTimestamp: true }),
      {
        ...check(rsa.publicKey, 'RS256'),
        issuer: 'us',
        audience: 'me',
        nowMs,
      },
    );

  it('are valid from the second of nbf to the one before exp', async () => {
    expect(await verify({ nbf: 1_000, exp: 1_001 })).toMatchObject({ nbf: 1_000 });
    await expect(verify({ nbf: 1_001, exp: 1_002 })).rejects.toThrow('not valid yet');
    await expect(verify({ exp: 1_000 })).rejects.toThrow('expired');
  });

  it('name the audience in one text or in a list', async () => {
    expect(await verify({ aud: ['you', 'me'], exp: 2_000 })).toMatchObject({ iss: 'us' });
    expect(audiencesOf({ aud: 'me' })).toEqual(['me']);
    expect(audiencesOf({ aud: ['me', 1, 'you'] })).toEqual(['me', 'you']);
    expect(audiencesOf({ aud: 1 })).toEqual([]);
    expect(audiencesOf({})).toEqual([]);
  });
});
