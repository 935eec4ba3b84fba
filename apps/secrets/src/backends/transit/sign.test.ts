import { constants, createHash, createPublicKey, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../../../test/start-secrets';
import { hashes } from './hash-name';

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const input = base64('hello');

describe('keys that sign', () => {
  const secrets = startSecrets();
  const write = (path: string, body: object = {}) => secrets.root.write(`transit/${path}`, body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  const publicKeyOf = async (name: string): Promise<string> =>
    (await secrets.root.read(`transit/keys/${name}`).expect(200)).body.data.keys['1'].public_key;

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/transit', { type: 'transit' }).expect(204);
    for (const type of ['ed25519', 'ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521', 'rsa-2048', 'rsa-3072']) {
      await must(`keys/${type}`, { type });
    }
    await must('keys/hmac', { type: 'hmac', key_size: 32 });
    await must('keys/aes');
    await must('keys/derived', { type: 'ed25519', derived: true });
  }, 60_000);

  const bytesOf = (signature: string) => Buffer.from(signature.split(':')[2]!, 'base64');

  describe.each(['ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521'])('%s', (type) => {
    it.each([...hashes])(
      'makes signatures with %s that others verify: of messages and digests, in both formats (E2.1)',
      async (hash_algorithm, { digest }) => {
        const pem = createPublicKey(await publicKeyOf(type));
        const hashed = base64(createHash(digest).update('hello').digest());
        for (const body of [{ input }, { input: hashed, prehashed: true }]) {
          for (const marshaling_algorithm of ['asn1', 'jws']) {
            const scheme = { ...body, hash_algorithm, marshaling_algorithm };
            const { signature } = await must(`sign/${type}`, scheme);
            const dsaEncoding = marshaling_algorithm === 'jws' ? 'ieee-p1363' : 'der';
            const form = marshaling_algorithm === 'jws' ? 'base64url' : 'base64';
            const bytes = Buffer.from(signature.split(':')[2], form);
            expect(bytes.toString(form)).toBe(signature.split(':')[2]);
            expect(verify(digest, Buffer.from('hello'), { key: pem, dsaEncoding }, bytes)).toBe(true);
            expect(await must(`verify/${type}`, { ...scheme, signature })).toEqual({ valid: true });
            expect(await must(`verify/${type}`, { ...scheme, input: base64('other'), signature })).toEqual({
              valid: false,
            });
          }
        }
      },
    );
  });

  describe.each(['rsa-2048', 'rsa-3072'])('%s', (type) => {
    it.each([...hashes])(
      'makes signatures with %s that others verify: of messages and digests, with every padding and salt (E2.2)',
      async (hash_algorithm, { digest, bytes: size }) => {
        const key = createPublicKey(await publicKeyOf(type));
        const hashed = base64(createHash(digest).update('hello').digest());
        const longest = Number(type.slice(4)) / 8 - size - 2;
        const schemes = [
          { signature_algorithm: 'pkcs1v15', padding: constants.RSA_PKCS1_PADDING },
          { salt_length: 'auto', padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: longest },
          { salt_length: 'hash', padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: size },
          { salt_length: '17', padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 17 },
        ];
        for (const body of [{ input }, { input: hashed, prehashed: true }]) {
          for (const { padding, saltLength, ...words } of schemes) {
            const scheme = { ...body, ...words, hash_algorithm };
            const { signature } = await must(`sign/${type}`, scheme);
            expect(verify(digest, Buffer.from('hello'), { key, padding, saltLength }, bytesOf(signature))).toBe(true);
            expect(await must(`verify/${type}`, { ...scheme, signature })).toEqual({ valid: true });
            const other = { ...scheme, input: base64(createHash(digest).update('other').digest()) };
            expect(await must(`verify/${type}`, { ...other, signature })).toEqual({ valid: false });
            const flipped = bytesOf(signature);
            flipped[flipped.length - 1]! ^= 1;
            const changed = `vault:v1:${base64(flipped)}`;
            expect(await must(`verify/${type}`, { ...scheme, signature: changed })).toEqual({ valid: false });
          }
        }
        for (const body of size > 20 ? [{ input }, { input: hashed, prehashed: true }] : []) {
          const { signature } = await must(`sign/${type}`, { ...body, hash_algorithm, salt_length: '18' });
          const wrong = { ...body, hash_algorithm, signature, salt_length: '19' };
          expect(await must(`verify/${type}`, wrong)).toEqual({ valid: false });
        }
        expect(await refused(`sign/${type}`, { input, hash_algorithm, salt_length: '500' })).toBe(
          'requested salt length 500 is invalid',
        );
        const short = { input: base64('short'), hash_algorithm, prehashed: true };
        expect(await refused(`sign/${type}`, short)).toBe('crypto/rsa: input must be hashed message');
      },
    );
  });

  it('makes signatures with ed25519 that others verify; a derived key has a pair for each context (E2.3)', async () => {
    const { signature } = await must('sign/ed25519', { input });
    const raw = Buffer.from(await publicKeyOf('ed25519'), 'base64');
    const pem = (bytes: Buffer) =>
      createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });
    expect(verify(null, Buffer.from('hello'), pem(raw), bytesOf(signature))).toBe(true);
    expect(await must('verify/ed25519', { input, signature })).toEqual({ valid: true });
    const context = base64('c');
    const derived = await must('sign/derived', { input, context });
    expect(
      verify(null, Buffer.from('hello'), pem(Buffer.from(derived.public_key, 'base64')), bytesOf(derived.signature)),
    ).toBe(true);
    const shown = await secrets.root.read(`transit/keys/derived?context=${context}`).expect(200);
    expect(shown.body.data.keys['1'].public_key).toBe(derived.public_key);
    expect(await must('verify/derived', { input, context, signature: derived.signature })).toEqual({ valid: true });
    const other = { input, context: base64('d'), signature: derived.signature };
    expect(await must('verify/derived', other)).toEqual({ valid: false });
    expect(await refused('sign/derived', { input })).toMatch(/^missing 'context'/);
  });

  it('creates and verifies HMACs with every type of key and every hash (E2.4)', async () => {
    for (const name of ['hmac', 'aes', 'rsa-2048']) {
      for (const hash of hashes.keys()) {
        const { hmac } = await must(`hmac/${name}/${hash}`, { input });
        expect(hmac).toMatch(/^vault:v1:/);
        expect(await must(`verify/${name}/${hash}`, { input, hmac })).toEqual({ valid: true });
        expect(await must(`verify/${name}`, { input: base64('x'), hash_algorithm: hash, hmac })).toEqual({
          valid: false,
        });
      }
    }
    const { hmac } = await must('hmac/hmac', { input });
    const items = [
      { input, hmac },
      { input: base64('x'), hmac },
      { input, hmac: 'x', reference: 'r' },
    ];
    expect((await must('verify/hmac', { batch_input: items })).batch_results).toEqual([
      { valid: true, reference: '' },
      { valid: false, reference: '' },
      { valid: false, error: 'invalid HMAC to verify: no prefix', reference: 'r' },
    ]);
  });

  it('answers 200 for a batch of signatures, each with its result or its error (E2.5)', async () => {
    const { batch_results } = await must('sign/ed25519', { batch_input: [{ input, reference: 'a' }, { input: '!!' }] });
    expect(batch_results).toEqual([
      { signature: expect.stringMatching(/^vault:v1:/), key_version: 1, reference: 'a' },
      { key_version: 0, error: 'unable to decode input as base64: illegal base64 data at input byte 0', reference: '' },
    ]);
    const { signature } = batch_results[0];
    const verified = await must('verify/ed25519', {
      batch_input: [
        { input, signature },
        { input: base64('x'), signature },
      ],
    });
    expect(verified.batch_results).toEqual([
      { valid: true, reference: '' },
      { valid: false, reference: '' },
    ]);
    const mixed = [
      { input, signature },
      { input, hmac: 'x' },
    ];
    expect(await refused('verify/ed25519', { batch_input: mixed })).toBe(
      "elements of batch_input must all provide 'signature' or all provide 'hmac'",
    );
  });

  it('hashes as published, and generates random bytes of the requested size (E2.6)', async () => {
    const { sum } = await must('hash/sha2-256', { input: base64('abc') });
    expect(sum).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect((await must('hash', { input: base64('abc'), algorithm: 'sha3-256', format: 'base64' })).sum).toBe(
      Buffer.from('3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532', 'hex').toString('base64'),
    );
    for (const path of ['random', 'random/32', 'random/platform', 'random/all/32']) {
      expect(Buffer.from((await must(path)).random_bytes, 'base64')).toHaveLength(32);
    }
    expect((await must('random/7', { format: 'hex' })).random_bytes).toHaveLength(14);
  });

  it.each([
    ['sign/none', { input }, 'signing key not found'],
    ['verify/none', { input, signature: 'x' }, 'signature verification key not found'],
    ['sign/aes', { input }, 'key type aes256-gcm96 does not support signing'],
    ['sign/ed25519', { input, hash_algorithm: 'md5' }, 'invalid hash algorithm "md5"'],
    ['sign/ed25519/md5', { input }, 'invalid hash algorithm "md5"'],
    ['sign/ed25519', { input, marshaling_algorithm: 'xml' }, 'invalid marshaling type "xml"'],
    ['sign/rsa-2048', { input, salt_length: 'x' }, "salt length neither 'auto', 'hash', nor an int: x"],
    ['sign/rsa-2048', { input, salt_length: '-3' }, 'salt length is invalid: -3'],
    ['sign/rsa-2048', { input, signature_algorithm: 'x' }, 'unsupported rsa signature algorithm x'],
    [
      'sign/rsa-2048',
      { input, hash_algorithm: 'none' },
      'hash_algorithm=none requires both prehashed=true and signature_algorithm=pkcs1v15',
    ],
    ['sign/ed25519', { input, key_version: 2 }, 'requested version for signing is higher than the latest key version'],
    ['verify/ed25519', { input }, "neither a 'signature' nor an 'hmac' were given to verify"],
    ['verify/ed25519', { input, signature: 'x' }, 'invalid signature: no prefix'],
    ['verify/ed25519', { input, signature: 'vault:v1:*' }, 'invalid base64 signature value'],
    ['verify/ecdsa-p256', { input, signature: 'vault:v1:AAAA' }, 'supplied signature is invalid'],
    ['hmac/aes', {}, 'missing input for HMAC'],
    ['hmac/aes', { input, algorithm: 'md5' }, 'unsupported algorithm "md5"'],
    ['hash', { input, algorithm: 'md5' }, 'unsupported algorithm md5'],
    ['hash', { input, format: 'dec' }, 'unsupported encoding format dec; must be "hex" or "base64"'],
    ['random', { bytes: 0 }, "'bytes' cannot be less than 1"],
    ['random', { bytes: 200_000 }, "'bytes' should be less than 131072"],
    ['random/moon', {}, 'unsupported entropy source moon; must be "platform" or "seal", or "all"'],
  ])('refuses %s %j by name (E2.7)', async (path, body, text) => {
    expect(await refused(path, body)).toBe(text);
  });

  it('signs a digest without a known hash unchanged (E2.8)', async () => {
    const scheme = { input, hash_algorithm: 'none', prehashed: true, signature_algorithm: 'pkcs1v15' };
    const { signature } = await must('sign/rsa-2048', scheme);
    expect(await must('verify/rsa-2048', { ...scheme, signature })).toEqual({ valid: true });
    expect(await must('verify/rsa-2048', { ...scheme, input: base64('x'), signature })).toEqual({ valid: false });
  });
});
