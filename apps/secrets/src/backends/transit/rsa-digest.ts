import {
  constants,
  createHash,
  type KeyObject,
  privateEncrypt,
  publicDecrypt,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { Hash } from './hash-name';

// Signatures of digests that the caller computed. The crypto library signs messages only, so the encoding of RFC 8017 is
// done here, and the library does the arithmetic and the blinding.

/** DER headers of digests (RFC 8017, 9.2; for SHA-3 with the identifiers of NIST). */
const identifiers = new Map(
  Object.entries({
    sha1: '3021300906052b0e03021a05000414',
    sha224: '302d300d06096086480165030402040500041c',
    sha256: '3031300d060960864801650304020105000420',
    sha384: '3041300d060960864801650304020205000430',
    sha512: '3051300d060960864801650304020305000440',
    'sha3-224': '302d300d06096086480165030402070500041c',
    'sha3-256': '3031300d060960864801650304020805000420',
    'sha3-384': '3041300d060960864801650304020905000430',
    'sha3-512': '3051300d060960864801650304020a05000440',
  }),
);

/** The content of a PKCS#1 v1.5 signature; without a hash, the unchanged input. */
export const digestInfo = (hash: Hash | undefined, digest: Buffer): Buffer =>
  hash ? Buffer.concat([Buffer.from(identifiers.get(hash.digest)!, 'hex'), digest]) : digest;

export const signDigestInfo = (key: KeyObject, info: Buffer): Buffer =>
  privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, info);

/** Compares the whole encoding, so that nothing can hide in the padding. */
export function verifyDigestInfo(key: KeyObject, info: Buffer, signature: Buffer): boolean {
  const found = rawPublic(key, signature);
  if (!found || info.length > found.length - 11) return false;
  const padding = Buffer.alloc(found.length - info.length - 3, 0xff);
  return timingSafeEqual(found, Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), info]));
}

/** EMSA-PSS (RFC 8017, 9.1). Moduli are whole bytes, so the encoding has the same length, minus one bit. */
export function signPss(key: KeyObject, hash: Hash, digest: Buffer, saltBytes: number): Buffer {
  const length = key.asymmetricKeyDetails!.modulusLength! / 8;
  const salt = randomBytes(saltBytes);
  const sum = pssHash(hash, digest, salt);
  const block = Buffer.alloc(length - hash.bytes - 1);
  block[block.length - saltBytes - 1] = 1;
  salt.copy(block, block.length - saltBytes);
  const encoded = Buffer.concat([masked(hash, sum, block), sum, Buffer.of(0xbc)]);
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, encoded);
}

/** Verifies; accepts any salt length if none is given. */
export function verifyPss(key: KeyObject, hash: Hash, digest: Buffer, signature: Buffer, saltBytes?: number): boolean {
  const encoded = rawPublic(key, signature);
  const blockBytes = (encoded?.length ?? 0) - hash.bytes - 1;
  if (!encoded || blockBytes < 1 || encoded.at(-1) !== 0xbc || encoded[0]! > 0x7f) return false;
  const sum = encoded.subarray(blockBytes, -1);
  const block = masked(hash, sum, encoded.subarray(0, blockBytes));
  const one = block.findIndex((byte) => byte !== 0);
  if (one < 0 || block[one] !== 1) return false;
  const salt = block.subarray(one + 1);
  if (saltBytes !== undefined && salt.length !== saltBytes) return false;
  return timingSafeEqual(sum, pssHash(hash, digest, salt));
}

function rawPublic(key: KeyObject, signature: Buffer): Buffer | undefined {
  if (signature.length !== key.asymmetricKeyDetails!.modulusLength! / 8) return undefined;
  try {
    return publicDecrypt({ key, padding: constants.RSA_NO_PADDING }, signature);
  } catch {
    return undefined;
  }
}

const pssHash = ({ digest: name }: Hash, digest: Buffer, salt: Buffer): Buffer =>
  createHash(name).update(Buffer.alloc(8)).update(digest).update(salt).digest();

/** Applies or removes the mask of a seed (MGF1); the first bit is unused. */
function masked({ digest, bytes }: Hash, seed: Buffer, block: Buffer): Buffer {
  const result = Buffer.from(block);
  const counter = Buffer.alloc(4);
  for (let at = 0; at < block.length; at += bytes) {
    counter.writeUInt32BE(at / bytes);
    const mask = createHash(digest).update(seed).update(counter).digest();
    for (let i = 0; i < bytes && at + i < block.length; i++) result[at + i]! ^= mask[i]!;
  }
  result[0]! &= 0x7f;
  return result;
}
