import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { keyPair } from '../../testing/src/key-pairs';
import {
  discoveryOf,
  foreignIssuer,
  importPublicKey,
  type JwtAlgorithm,
  KeySets,
  type KeySource,
  newSigningKey,
  publicJwk,
  type SignatureHeader,
  signJwt,
  verifySignature,
} from './index';

const rsa = keyPair('rsa');
const ec = keyPair('P-256');
const ed = keyPair('ed25519');
const jwk = (pair: { publicKey: typeof rsa.publicKey }, more: object = {}) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  ...more,
});

/** An in-memory issuer: its documents by address, and the requests it received. */
function issuer(documents: Record<string, unknown>) {
  let nowMs = 1_000_000;
  const requests: string[] = [];
  const issuerState = { down: false };
  const sets = new KeySets(
    'the issuer',
    async (url) => {
      requests.push(url);
      if (issuerState.down) throw new Refusal('upstream', 'the issuer is unreachable: ECONNREFUSED');
      const json = documents[url];
      return json === undefined ? { status: 404, json: undefined } : { status: 200, json };
    },
    { now: () => nowMs },
  );
  return {
    sets,
    asked: requests,
    documents,
    state: issuerState,
    wait(ms: number) {
      nowMs += ms;
    },
  };
}

const keySet: KeySource = { kind: 'key-set', url: 'https://issuer/keys' };
const found = (sets: KeySets, kid: string | undefined, algorithm: JwtAlgorithm = 'RS256', source = keySet) =>
  sets.keys(source, { kid, algorithm });

describe('the keys of an issuer', () => {
  it('are found by id; all suitable ones if a token names none', async () => {
    const keys = [jwk(rsa, { kid: 'a' }), jwk(rsa, { kid: 'b' }), jwk(ec, { kid: 'c' }), jwk(ed)];
    const { sets } = issuer({ 'https://issuer/keys': { keys } });
    expect(await found(sets, 'a')).toHaveLength(1);
    expect(await found(sets, undefined)).toHaveLength(2);
    expect(await found(sets, undefined, 'EdDSA')).toHaveLength(1);
    expect(await found(sets, 'c', 'ES256')).toHaveLength(1);
    expect(await found(sets, 'c', 'ES384')).toHaveLength(0);
    expect(await found(sets, 'c', 'RS256')).toHaveLength(0);
  });

  it.each([
    ['for encryption', jwk(rsa, { use: 'enc' })],
    ['that only sign', jwk(rsa, { key_ops: ['sign'] })],
    ['of another algorithm', jwk(rsa, { alg: 'PS512' })],
    ['that are secret', { kty: 'oct', k: 'c2VjcmV0' }],
    ['that are broken', { kty: 'RSA', n: '', e: 'AQAB' }],
    ['that are too short', jwk(keyPair('rsa-1024'))],
    ['that are null', null],
  ])('do not include %s', async (_what, key) => {
    const { sets } = issuer({ 'https://issuer/keys': { keys: [key] } });
    expect(await found(sets, undefined)).toEqual([]);
  });

  it('are public, even if the issuer published a private key', async () => {
    const { sets } = issuer({ 'https://issuer/keys': { keys: [rsa.privateKey.export({ format: 'jwk' })] } });
    expect((await found(sets, undefined)).map(({ type }) => type)).toEqual(['public']);
  });

  it('are fetched once for simultaneous callers, and cached for an hour', async () => {
    const { sets, asked: requests, wait } = issuer({ 'https://issuer/keys': { keys: [jwk(rsa, { kid: 'a' })] } });
    await Promise.all(Array.from({ length: 20 }, () => found(sets, 'a')));
    wait(59 * 60_000);
    await found(sets, 'a');
    expect(requests).toHaveLength(1);
    wait(2 * 60_000);
    await found(sets, 'a');
    expect(requests).toHaveLength(2);
  });

  it('are fetched again for an unknown id, at most five times in half a minute', async () => {
    const { sets, asked: requests, documents, wait } = issuer({ 'https://issuer/keys': { keys: [] } });
    expect(await found(sets, 'forged')).toEqual([]);
    documents['https://issuer/keys'] = { keys: [jwk(rsa, { kid: 'at once' })] };
    expect(await found(sets, 'at once')).toHaveLength(1);
    for (let i = 0; i < 9; i++) expect(await found(sets, `forged-${i}`)).toEqual([]);
    expect(requests).toHaveLength(6);
    documents['https://issuer/keys'] = { keys: [jwk(rsa, { kid: 'new' })] };
    expect(await found(sets, 'new')).toEqual([]);
    wait(31_000);
    expect(await found(sets, 'new')).toHaveLength(1);
  });

  it('are fetched again if one was replaced under its old id', async () => {
    const [before, after] = [await newSigningKey(0), await newSigningKey(0)].map((key) => ({ ...key, kid: 'k' }));
    const { sets, asked: requests, documents } = issuer({ 'https://issuer/keys': { keys: [publicJwk(before!)] } });
    const check = { algorithms: ['RS256'] as const, keys: (header: SignatureHeader) => sets.keys(keySet, header) };
    const token = (key = before!) => signJwt({ sub: 'a', iat: 1 }, key);
    expect(await verifySignature(token(before), check)).toEqual({ sub: 'a', iat: 1 });
    documents['https://issuer/keys'] = { keys: [publicJwk(after!)] };
    expect(await verifySignature(token(after), check)).toMatchObject({ sub: 'a' });
    expect(requests).toHaveLength(2);
    await expect(verifySignature(token(before), check)).rejects.toThrow('failed to verify signature');
  });

  it('are used for a day while the issuer is down, and not every caller retries', async () => {
    const {
      sets,
      asked: requests,
      state,
      wait,
    } = issuer({ 'https://issuer/keys': { keys: [jwk(rsa, { kid: 'a' })] } });
    await found(sets, 'a');
    state.down = true;
    wait(23 * 3_600_000);
    for (let i = 0; i < 5; i++) expect(await found(sets, 'a')).toHaveLength(1);
    expect(requests).toHaveLength(2);
    wait(2 * 3_600_000);
    await expect(found(sets, 'a')).rejects.toThrow('unreachable');
    state.down = false;
    wait(6_000);
    expect(await found(sets, 'a')).toHaveLength(1);
  });

  it('are cached per configuration: other certificates or another generation mean another source', async () => {
    const { sets, asked: requests } = issuer({ 'https://issuer/keys': { keys: [jwk(rsa, { kid: 'a' })] } });
    await found(sets, 'a');
    await found(sets, 'a', 'RS256', { ...keySet, ca: 'certificate' });
    expect(requests).toHaveLength(2);
    for (const _again of [1, 2]) await found(sets, 'a', 'RS256', { ...keySet, generation: 'next' });
    expect(requests).toHaveLength(3);
  });

  const discovery: KeySource = { kind: 'discovery', url: 'https://issuer/.well-known/openid-configuration' };
  it.each([
    [{ issuer: 'https://issuer' }, 'without issuer or keys'],
    [{ issuer: 'https://issuer', jwks_uri: 'http://issuer/keys' }, 'cannot be trusted'],
    [{ issuer: 'https://issuer', jwks_uri: 'keys' }, 'cannot be trusted'],
    [{ issuer: 'https://issuer', jwks_uri: 'https://issuer/absent' }, 'answered 404 to /absent'],
    ['text', 'not a JSON object'],
    [null, 'not a JSON object'],
    [{ issuer: 'https://issuer', jwks_uri: 7 }, 'without issuer or keys'],
    [{ issuer: 7, jwks_uri: 'https://issuer/keys' }, 'without issuer or keys'],
    [
      { issuer: 'https://issuer', jwks_uri: 'https://issuer/.well-known/openid-configuration' },
      'did not return a key set',
    ],
  ])('are not available from the document %j', async (document, text) => {
    const { sets } = issuer({ [discovery.url]: document });
    await expect(sets.issuer(discovery)).rejects.toThrow(text);
  });
});

describe('the documents of an issuer', () => {
  const source: KeySource = { kind: 'discovery', url: 'http://issuer/.well-known/openid-configuration', ca: 'pem' };
  const document = { issuer: 'http://issuer', jwks_uri: 'http://issuer/keys', more: 1 };
  const documents = { [source.url]: document, 'http://issuer/keys': { keys: [jwk(rsa, { kid: 'a' }), null] } };

  it('are its discovery document and the keys that it names', async () => {
    const { sets, asked: requests } = issuer(documents);
    expect(await sets.issuer(source)).toBe('http://issuer');
    expect(await sets.document(source)).toEqual(document);
    expect(await found(sets, 'a', 'RS256', source)).toHaveLength(1);
    expect(requests).toEqual([source.url, 'http://issuer/keys']);
    expect(await sets.check(source)).toEqual({ issuer: 'http://issuer', usableKeys: 1 });
    expect(requests).toHaveLength(4);
  });

  it('contain only keys for a bare key set', async () => {
    const { sets } = issuer({ 'https://issuer/keys': { keys: [jwk(rsa)] } });
    expect(await sets.issuer(keySet)).toBeUndefined();
    expect(await sets.document(keySet)).toEqual({});
  });

  it('are fetched again once they are forgotten', async () => {
    const { sets, asked: requests, state } = issuer(documents);
    await sets.issuer(source);
    sets.forget();
    state.down = true;
    await expect(sets.issuer(source)).rejects.toThrow('unreachable');
    state.down = false;
    sets.forget();
    expect(await sets.issuer(source)).toBe('http://issuer');
    expect(requests).toHaveLength(5);
  });

  it('are fetched from an issuer that failed only after five seconds', async () => {
    const { sets, asked: requests, state, wait } = issuer(documents);
    state.down = true;
    await expect(sets.issuer(source)).rejects.toThrow('unreachable');
    state.down = false;
    wait(4_999);
    await expect(sets.issuer(source)).rejects.toThrow('unreachable');
    expect(requests).toHaveLength(1);
    wait(1);
    expect(await sets.issuer(source)).toBe('http://issuer');
    // A failure no longer counts after a success.
    wait(60 * 60_000);
    expect(await sets.issuer(source)).toBe('http://issuer');
    expect(requests).toHaveLength(5);
  });

  it('are fetched with the certificates of the source', async () => {
    const requests: unknown[] = [];
    const sets = new KeySets(
      'it',
      async (url, ca) => {
        requests.push(ca);
        return { status: 200, json: documents[url] };
      },
      { now: () => 0 },
    );
    await sets.check(source);
    expect(requests).toEqual(['pem', 'pem']);
  });

  it('are cached for at most five hundred sources with two hundred keys each', async () => {
    const key = jwk(rsa);
    const many = { keys: Array.from({ length: 201 }, (_, at) => ({ ...key, kid: `k${at}` })) };
    const { sets, asked: requests, documents } = issuer({ 'https://issuer/keys': many });
    expect(await sets.check(keySet)).toEqual({ issuer: undefined, usableKeys: 200 });
    documents['https://issuer/keys'] = { keys: [key] };
    for (let i = 0; i < 500; i++) await sets.issuer({ ...keySet, ca: `${i}` });
    expect(requests).toHaveLength(501);
    await sets.issuer({ ...keySet, ca: '0' });
    expect(requests).toHaveLength(501);
    await sets.issuer(keySet);
    expect(requests).toHaveLength(502);
  });

  it('need non-empty strings as key ids and algorithms', async () => {
    const keys = [jwk(rsa, { kid: '', alg: '' }), jwk(rsa, { kid: 7, alg: 7 })];
    const { sets } = issuer({ 'https://issuer/keys': { keys } });
    expect(await found(sets, undefined, 'PS256')).toHaveLength(2);
    expect(await found(sets, '')).toEqual([]);
  });

  it('contain keys for signatures unless they say otherwise', async () => {
    const keys = [jwk(rsa, { use: 'sig', key_ops: ['verify'] }), jwk(rsa, { key_ops: 'verify' })];
    const { sets } = issuer({ 'https://issuer/keys': { keys } });
    expect(await found(sets, undefined)).toHaveLength(2);
  });

  it('are accepted from the issuer they were fetched for, with or without a trailing slash', () => {
    expect(foreignIssuer('https://a', 'https://a/')).toBeUndefined();
    expect(foreignIssuer('https://a/', 'https://a')).toBeUndefined();
    expect(foreignIssuer('https://a', 'https://b')).toBe('the discovery document names the issuer "https://b"');
    expect(foreignIssuer('https://a', undefined)).toBe('the discovery document names the issuer undefined');
    expect(foreignIssuer('https://a/b/c', 'https://a/bc')).toMatch(/^the discovery/);
    const url = 'https://a/b/.well-known/openid-configuration';
    expect(discoveryOf('https://a/b/', 'pem')).toEqual({ kind: 'discovery', url, ca: 'pem' });
  });
});

describe('our own signing key', () => {
  it('creates signatures that the published half verifies, and publishes nothing else', async () => {
    const key = await newSigningKey(0);
    const published = publicJwk(key);
    expect(Object.keys(published).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    const token = signJwt({ sub: 'me', iat: 1 }, key);
    const keys = async ({ kid }: { kid: string | undefined }) =>
      kid === key.kid ? [createPublicKey({ key: published, format: 'jwk' })] : [];
    expect(await verifySignature(token, { algorithms: ['RS256'], keys })).toEqual({ sub: 'me', iat: 1 });
  });
});

describe('importPublicKey', () => {
  it('accepts public keys and refuses private ones', () => {
    const pem = ed.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(importPublicKey(pem).asymmetricKeyType).toBe('ed25519');
    const secret = ed.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(() => importPublicKey(secret)).toThrow('a private key was given');
    expect(() => importPublicKey('zz')).toThrow();
  });
});
