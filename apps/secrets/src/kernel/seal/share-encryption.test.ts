import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { generateKey } from 'openpgp';
import { encryptShare, readShareKeys } from './share-encryption';

const refusal = (message: string) => ({ kind: 'invalid', message: expect.stringContaining(message) });

/** A number of this many bytes in OpenPGP format. */
function number(bytes: number): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(bytes * 8);
  return Buffer.concat([head, Buffer.alloc(bytes, 0xa5)]);
}

function packet(tag: number, body: Buffer): Buffer {
  const head = Buffer.alloc(6);
  head[0] = 0xc0 | tag;
  head[1] = 255;
  head.writeUInt32BE(body.length, 2);
  return Buffer.concat([head, body]);
}

/**
 * A key of any algorithm that consists of numbers. Its certification looks valid until the modular exponentiation is
 * done.
 */
function costly(algorithm: number, numbers: readonly number[], signature: readonly number[]): string {
  const body = Buffer.concat([Buffer.from([4, 0x60, 0, 0, 0, algorithm]), ...numbers.map(number)]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(body.length);
  const hashedKey = Buffer.concat([Buffer.from([0x99]), length, body]);
  const user = Buffer.from('A User');
  const head = Buffer.from([4, 0x13, algorithm, 8, 0, 9, 5, 2, 0x60, 0, 0, 1, 2, 27, 0x0f]);
  const digest = createHash('sha256')
    .update(hashedKey)
    .update(Buffer.from([0xb4, 0, 0, 0, user.length]))
    .update(user)
    .update(head)
    .update(Buffer.from([4, 0xff, 0, 0, 0, head.length]))
    .digest();
  const issuer = Buffer.from([0, 10, 9, 16, ...createHash('sha1').update(hashedKey).digest().subarray(12)]);
  const certification = Buffer.concat([head, issuer, digest.subarray(0, 2), ...signature.map(number)]);
  return Buffer.concat([packet(6, body), packet(13, user), packet(2, certification)]).toString('base64');
}

describe('keys that shares are encrypted to', () => {
  const createKey = async (options: object) => {
    const { publicKey } = await generateKey({ userIDs: [{ name: 'holder' }], format: 'binary', ...options });
    return Buffer.from(publicKey as Uint8Array).toString('base64');
  };

  it.each([[{ type: 'curve25519' }], [{ type: 'ecc', curve: 'nistP256' }], [{ type: 'rsa', rsaBits: 2048 }]])(
    'may be %j',
    async (options) => {
      const [key] = await readShareKeys([await createKey(options)], 'x');
      expect((await encryptShare(Buffer.from('share'), key!)).length).toBeGreaterThan(50);
    },
  );

  // Verifying the self-signatures of such a key would take seconds to hours and block all other requests.
  it.each([
    ['numbers for DSA', costly(17, [2048, 2047, 2046, 2046], [2040, 2040]), 'dsa keys are not supported'],
    ['numbers for ElGamal', costly(16, [2048, 2047, 2046], [2040, 2040]), 'elgamal keys are not supported'],
    ['a modulus for RSA', costly(1, [8000, 3], [7999]), 'keys of more than 8192 bits are not supported'],
    ['an exponent for RSA', costly(1, [256, 255], [255]), 'keys of more than 8192 bits are not supported'],
  ])('are refused before verification with too large %s', async (_what, key, message) => {
    await expect(readShareKeys([key], 'x')).rejects.toMatchObject(refusal(message));
  });

  it('are refused with hundreds of self-signatures', async () => {
    const userIDs = Array.from({ length: 65 }, (_, n) => ({ name: `holder ${n}` }));
    const key = await createKey({ type: 'curve25519', userIDs });
    await expect(readShareKeys([key], 'x')).rejects.toMatchObject(refusal('more than 64 self-signatures'));
  });
});
