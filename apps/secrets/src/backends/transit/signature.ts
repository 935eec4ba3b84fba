import { constants, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { refuse } from '../../sdk/refuse';
import { signWithRsa } from '../../sdk/rsa-turns';
import { decodeField } from './base64';
import { compactOfDer, derOfCompact, signDigest, verifyDigest } from './ecdsa-digest';
import { type Hash, hashes } from './hash-name';
import type { TransitKey } from './key';
import { type KeyKind, kindOf } from './key-type';
import { ed25519Key, type Material, materialOf, rawPublicKey, requireContext } from './material';
import { digestInfo, signDigestInfo, signPss, verifyDigestInfo, verifyPss } from './rsa-digest';
import { checkVersion, parseVersionText, versionFor, versionText } from './version-text';

/** The checked signature options of a request. */
export interface Scheme {
  /** Undefined if the input is signed as a digest of an unknown hash. */
  readonly hash: Hash | undefined;
  readonly prehashed: boolean;
  readonly marshaling: 'asn1' | 'jws';
  readonly padding: 'pss' | 'pkcs1v15';
  /** In bytes. `auto` signs with the maximum length and verifies any length. */
  readonly salt: number | 'auto' | 'hash';
}

/** Signature fields of requests. */
interface SchemeWords {
  readonly hash_algorithm: string;
  readonly marshaling_algorithm: string;
  readonly signature_algorithm: string;
  readonly salt_length: string;
  readonly prehashed: boolean;
}

/** Parses a scheme. Throws `invalid` for the first unknown value. */
export function parseScheme(words: SchemeWords): Scheme {
  const hash = hashes.get(words.hash_algorithm);
  if (!hash && words.hash_algorithm !== 'none') {
    refuse(`invalid hash algorithm ${JSON.stringify(words.hash_algorithm)}`);
  }
  const marshaling = words.marshaling_algorithm;
  if (marshaling !== 'asn1' && marshaling !== 'jws') refuse(`invalid marshaling type ${JSON.stringify(marshaling)}`);
  const salt = parseSalt(words.salt_length);
  const padding = words.signature_algorithm || 'pss';
  if (padding !== 'pss' && padding !== 'pkcs1v15') refuse(`unsupported rsa signature algorithm ${padding}`);
  return { hash, marshaling, salt, padding, prehashed: words.prehashed };
}

/** Throws `invalid` if there is no hash, unless the other options allow this. */
export function checkUnhashed({ hash, prehashed, padding }: Scheme): void {
  if (hash || (prehashed && padding === 'pkcs1v15')) return;
  refuse('hash_algorithm=none requires both prehashed=true and signature_algorithm=pkcs1v15');
}

function parseSalt(text: string): Scheme['salt'] {
  const word = text.toLowerCase();
  if (word === 'auto' || word === 'hash') return word;
  if (!/^[+-]?\d+$/.test(word)) refuse(`salt length neither 'auto', 'hash', nor an int: ${text}`);
  const bytes = Number(word);
  if (bytes < -1) refuse(`salt length is invalid: ${bytes}`);
  return bytes === 0 ? 'auto' : bytes === -1 ? 'hash' : bytes;
}

const verifyLater = promisify(verify);

/** Signs with the latest version, or the requested one. Returns the public key of a derived key. */
export async function signInput(
  key: TransitKey,
  input: Buffer,
  context: Buffer,
  scheme: Scheme,
  requestedVersion: number,
) {
  const key_version = versionFor(key, requestedVersion, 'signing');
  const material = materialOf(key, key_version);
  const kind = kindOf(key.type);
  let signature: Buffer;
  let publicKey: string | undefined;
  if (kind.family === 'ed25519' && key.derived) {
    const own = ed25519Key(material.derive(requireContext(context), 32));
    signature = sign(null, input, own);
    publicKey = rawPublicKey(own).toString('base64');
  } else {
    const own = material.privateKey ?? refuse('requested version for signing does not contain a private part');
    signature = await signedBy(kind, own, input, scheme);
  }
  const text = signature.toString(scheme.marshaling === 'jws' ? 'base64url' : 'base64');
  return { signature: versionText(key_version, text), key_version, ...(publicKey && { public_key: publicKey }) };
}

function signedBy(kind: KeyKind, key: KeyObject, input: Buffer, scheme: Scheme): Buffer | Promise<Buffer> {
  const { hash, prehashed } = scheme;
  if (kind.family === 'ed25519') return sign(null, input, key);
  if (kind.family === 'ecdsa') {
    if (!prehashed && hash && scheme.marshaling === 'asn1') return sign(hash.digest, input, key);
    const compact =
      prehashed || !hash
        ? signDigest(kind.curve, key, input)
        : sign(hash.digest, input, { key, dsaEncoding: 'ieee-p1363' });
    return scheme.marshaling === 'jws' ? compact : derOfCompact(kind.curve, compact);
  }
  if (kind.family !== 'rsa') return refuse('message signing not supported for this key type');
  checkDigest(scheme, input);
  if (scheme.padding === 'pkcs1v15') {
    if (!prehashed && hash) return signWithRsa(hash.digest, input, key);
    const info = digestInfo(hash, input);
    if (info.length > kind.bits / 8 - 11) refuse('crypto/rsa: message too long for RSA key size');
    return signDigestInfo(key, info);
  }
  const saltLength = saltBytes(kind.bits, hash!, scheme.salt) ?? longestSalt(kind.bits, hash!);
  return prehashed
    ? signPss(key, hash!, input, saltLength)
    : signWithRsa(hash!.digest, input, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
}

function checkDigest({ hash, prehashed }: Scheme, input: Buffer): void {
  if (prehashed && hash && input.length !== hash.bytes) refuse('crypto/rsa: input must be hashed message');
}

const longestSalt = (bits: number, { bytes }: Hash): number => bits / 8 - bytes - 2;

/** The salt length; undefined if any length is accepted. */
function saltBytes(bits: number, hash: Hash, salt: Scheme['salt']): number | undefined {
  if (salt === 'auto') return undefined;
  if (salt === 'hash') return hash.bytes;
  if (salt > longestSalt(bits, hash)) refuse(`requested salt length ${salt} is invalid`);
  return salt;
}

/** Whether any accepted version of the key made the signature. */
export async function verifyInput(
  key: TransitKey,
  input: Buffer,
  context: Buffer,
  scheme: Scheme,
  text: string,
): Promise<boolean> {
  const { version, payload } = parseVersionText(text, 'signature');
  checkVersion(key, version, 'signature');
  const signature = signatureBytes(payload, scheme.marshaling);
  const material = materialOf(key, version);
  const kind = kindOf(key.type);
  if (kind.family === 'ed25519') return verify(null, input, ed25519Public(key, material, context), signature);
  const { publicKey } = material;
  const { hash, prehashed } = scheme;
  if (kind.family === 'ecdsa') {
    const compact = scheme.marshaling === 'jws' ? signature : compactOfDer(kind.curve, signature);
    if (compact.length !== 2 * kind.fieldBytes) return false;
    return prehashed || !hash
      ? verifyDigest(kind.curve, publicKey, input, compact)
      : verify(hash.digest, input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, compact);
  }
  if (kind.family !== 'rsa') return false;
  if (prehashed && hash && input.length !== hash.bytes) return false;
  if (scheme.padding === 'pkcs1v15') {
    if (prehashed || !hash) return verifyDigestInfo(publicKey, digestInfo(hash, input), signature);
    return verifyLater(hash.digest, input, publicKey, signature);
  }
  const salt = saltBytes(kind.bits, hash!, scheme.salt);
  if (prehashed) return verifyPss(publicKey, hash!, input, signature, salt);
  const saltLength = salt ?? constants.RSA_PSS_SALTLEN_AUTO;
  const keyed = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
  return verifyLater(hash!.digest, input, keyed, signature);
}

function ed25519Public(key: TransitKey, material: Material, context: Buffer): KeyObject {
  if (!key.derived) return material.publicKey;
  return ed25519Key(material.derive(requireContext(context), 32));
}

function signatureBytes(payload: string, marshaling: Scheme['marshaling']): Buffer {
  const problem = 'invalid base64 signature value';
  if (marshaling === 'asn1') return decodeField(payload, problem);
  const bytes = Buffer.from(payload, 'base64url');
  return bytes.toString('base64url') === payload ? bytes : refuse(problem);
}
