import {
  constants,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  privateDecrypt,
  sign,
  verify,
} from 'node:crypto';
import { announced, string } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';
import { decodeBase64 } from './base64';
import type { KeyVersion } from './key';
import { isHmacSize, type KeyType, kindOf } from './key-type';
import { versionOfPair } from './material';

const curveNames = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' };
const leastExponent = 65_537n;

/** Checks the size of a symmetric key. Throws `invalid`. */
export function readSymmetric(type: KeyType, bytes: Buffer): Buffer {
  const kind = kindOf(type);
  const fits = kind.family === 'aead' ? bytes.length === kind.keyBytes : isHmacSize(bytes.length);
  return fits ? bytes : refuse(`invalid key size ${bytes.length} bytes for key type ${type}`);
}

/**
 * Checks a key pair or public key. Throws `invalid` if it is weak, of another type, or its two keys do not match.
 */
export function checkPair(type: KeyType, key: KeyObject): KeyObject {
  const kind = kindOf(type);
  const { modulusLength, publicExponent, namedCurve } = key.asymmetricKeyDetails ?? {};
  const fits =
    kind.family === 'rsa'
      ? key.asymmetricKeyType === 'rsa' && modulusLength === kind.bits
      : kind.family === 'ecdsa'
        ? namedCurve === curveNames[kind.curve]
        : key.asymmetricKeyType === kind.family;
  if (!fits) refuse(`the key is not of type ${type}`);
  if (kind.family === 'rsa' && (publicExponent ?? 0n) < leastExponent) {
    refuse(`the public exponent of an RSA key must be ${leastExponent} or more`);
  }
  if (key.type === 'private' && !belongTogether(key)) refuse('the private key does not belong to its public key');
  return key;
}

function belongTogether(key: KeyObject): boolean {
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  const text = Buffer.from('a message to compare both halves of a key pair');
  try {
    return verify(hash, text, createPublicKey(key as never), sign(hash, text, key));
  } catch {
    return false;
  }
}

const wrappedBytes = 512;
const hashNames = ['SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'];

/** The field that names the hash of RSA-OAEP. */
export const hashFunction = announced(string(), { default: 'SHA256', enum: hashNames })
  .optional()
  .describe('Hash algorithm of RSA-OAEP.');

/** The hash of RSA-OAEP as the crypto library names it. */
export function oaepHash(name: string): string {
  return hashNames.includes(name.toUpperCase()) ? name.toLowerCase() : refuse(`unknown hash function: ${name}`);
}

/** AES key wrap with padding, and its initial value, by RFC 5649. */
export const wrapCipher = 'id-aes256-wrap-pad';
export const wrapStart = Buffer.from('a65959a6', 'hex');

/**
 * Unwraps a key. All failures have the same message, because different messages would let callers guess parts of the
 * key.
 */
function unwrap(text: string, hashName: string, wrappingKey: KeyObject): Buffer {
  const hash = oaepHash(hashName);
  const bytes = decodeBase64(text);
  if (bytes.length <= wrappedBytes) refuse('provided ciphertext is too short');
  try {
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    const key = privateDecrypt({ key: wrappingKey, padding, oaepHash: hash }, bytes.subarray(0, wrappedBytes));
    const decipher = createDecipheriv(wrapCipher, key, wrapStart);
    return Buffer.concat([decipher.update(bytes.subarray(wrappedBytes)), decipher.final()]);
  } catch {
    return refuse('the wrapped key cannot be decrypted: wrap it with the key from the wrapping_key endpoint');
  }
}

/** Key material of an import: a wrapped key, or a plaintext public key. */
export interface Brought {
  readonly ciphertext?: string;
  readonly public_key?: string;
  readonly hash_function?: string;
}

/** Reads the key material of an import for this key type. */
export function readImported(
  type: KeyType,
  input: Brought,
  wrappingKey: KeyObject,
): Pick<KeyVersion, 'key' | 'publicKey'> {
  const kind = kindOf(type);
  const isPair = kind.family !== 'aead' && kind.family !== 'hmac';
  const { ciphertext, public_key, hash_function = 'SHA256' } = input;
  if (ciphertext === undefined) {
    if (!isPair) refuse('provided type does not support public_key import');
    return versionOfPair(checkPair(type, readPublic(public_key ?? '')));
  }
  if (public_key) {
    refuse('only one of the following fields, ciphertext and public_key, can be set');
  }
  const bytes = unwrap(ciphertext, hash_function, wrappingKey);
  if (!isPair) return { key: readSymmetric(type, bytes).toString('base64') };
  return versionOfPair(checkPair(type, readPrivate(bytes)));
}

/** Parses a PEM public key. */
export function readPublic(pem: string): KeyObject {
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) refuse('error parsing public key: not in PEM format');
  try {
    return createPublicKey(pem);
  } catch {
    return refuse('error parsing public key: it must be a PEM block of a public key');
  }
}

function readPrivate(der: Buffer): KeyObject {
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    return refuse('error parsing asymmetric key: it must be PKCS#8 in DER');
  }
}
