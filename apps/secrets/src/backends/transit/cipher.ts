import { createHmac, createSecretKey, type KeyObject, webcrypto } from 'node:crypto';
import { isRefusal, Refusal } from '@keystead/refusal';
import { publicRandom } from '../../sdk/public-random';
import { refuse } from '../../sdk/refuse';
import { rsaTurns } from '../../sdk/rsa-turns';
import { open, seal } from './aead';
import { decodeBase64, decodeField } from './base64';
import type { TransitKey } from './key';
import { encrypts, type KeyKind, kindOf } from './key-type';
import { type Material, materialOf, requireContext } from './material';
import { checkVersion, parseVersionText, versionFor, versionText } from './version-text';

/** Context and associated data: decryption needs the same values. */
export interface Bound {
  readonly context: Buffer;
  readonly associated: Buffer;
}

/** Throws `invalid` if keys of this type do not encrypt. */
export function checkEncrypts({ type }: TransitKey, what: 'encryption' | 'decryption'): void {
  if (!encrypts(type)) refuse(`message ${what} not supported for key type ${type}`);
}

/** Encrypts with the latest version, or the requested one. */
export async function encrypt(key: TransitKey, plaintext: Buffer, bound: Bound, requestedVersion: number) {
  checkEncrypts(key, 'encryption');
  const key_version = versionFor(key, requestedVersion, 'encryption');
  const material = materialOf(key, key_version);
  const kind = kindOf(key.type);
  const payload =
    kind.family === 'aead' ? sealed(key, kind, material, plaintext, bound) : rsa(kind, material, plaintext);
  const bytes = payload instanceof Promise ? await payload : payload;
  return { ciphertext: versionText(key_version, bytes.toString('base64')), key_version };
}

/** Decrypts with the version that encrypted, if it is still accepted. */
export async function decrypt(key: TransitKey, ciphertext: string, bound: Bound): Promise<Buffer> {
  checkEncrypts(key, 'decryption');
  const parsed = parseVersionText(ciphertext, 'ciphertext');
  const version = parsed.version === 0 ? 1 : parsed.version;
  checkVersion(key, version, 'ciphertext');
  const kind = kindOf(key.type);
  if (key.derived) requireContext(bound.context);
  const bytes = decodeField(parsed.payload, 'invalid ciphertext: could not decode base64');
  const material = materialOf(key, version);
  if (kind.family === 'aead')
    return open(kind, keysFor(key, kind, material, bound.context)[0], bytes, bound.associated);
  const { decrypt: own } = await material.oaepKeys();
  if (!own) refuse('requested version for decryption does not contain a private part');
  try {
    return Buffer.from(await rsaTurns.run(() => webcrypto.subtle.decrypt('RSA-OAEP', own, bytes)));
  } catch (error) {
    if (isRefusal(error)) throw error;
    return refuse('failed to RSA decrypt the ciphertext: crypto/rsa: decryption error');
  }
}

type Aead = Extract<KeyKind, { family: 'aead' }>;

function sealed(key: TransitKey, kind: Aead, material: Material, plaintext: Buffer, bound: Bound): Buffer {
  const [cipherKey, nonceKey] = keysFor(key, kind, material, bound.context);
  return seal(kind, cipherKey, nonceFor(kind, nonceKey, plaintext, bound.associated), plaintext, bound.associated);
}

/** The cipher key, and for a convergent key also its nonce key. */
function keysFor(key: TransitKey, kind: Aead, material: Material, context: Buffer): [KeyObject, KeyObject?] {
  if (!key.derived) return [material.cipherKey];
  const both = material.derive(requireContext(context), kind.keyBytes + (key.convergent_encryption ? 32 : 0));
  const cipherKey = createSecretKey(both.subarray(0, kind.keyBytes));
  return key.convergent_encryption ? [cipherKey, createSecretKey(both.subarray(kind.keyBytes))] : [cipherKey];
}

/**
 * A convergent nonce depends on everything it encrypts or authenticates: reusing a nonce with different
 * associated data would reveal the authentication key.
 */
function nonceFor(
  { nonceBytes }: Aead,
  nonceKey: KeyObject | undefined,
  plaintext: Buffer,
  associated: Buffer,
): Buffer {
  if (!nonceKey) return publicRandom(nonceBytes);
  const keyOfAssociated = () => createSecretKey(createHmac('sha256', nonceKey).update(associated).digest());
  const key = associated.length === 0 ? nonceKey : keyOfAssociated();
  return createHmac('sha256', key).update(plaintext).digest().subarray(0, nonceBytes);
}

async function rsa(kind: KeyKind, material: Material, plaintext: Buffer): Promise<Buffer> {
  // OAEP with SHA-256 adds two hashes and two bytes.
  if (kind.family === 'rsa' && plaintext.length > kind.bits / 8 - 66) {
    refuse('failed to RSA encrypt the plaintext: crypto/rsa: message too long for RSA key size');
  }
  const keys = await material.oaepKeys();
  return Buffer.from(await webcrypto.subtle.encrypt('RSA-OAEP', keys.encrypt, plaintext));
}

const unreadAssociated = 'unable to get associated_data/additional_data from factory[0]';

/** The context and associated data of an item; `where` names the item in messages. */
export function boundOf(
  { type }: TransitKey,
  item: { readonly context?: string; readonly associated_data?: string },
  where: string,
): Bound {
  const associated = item.associated_data ?? '';
  if (associated !== '' && kindOf(type).family !== 'aead') {
    throw new Refusal('invalid', `'${where}associated_data' provided for non-AEAD cipher suite ${type}`);
  }
  return {
    context: decodeBase64(item.context ?? ''),
    associated: decodeField(associated, (reason) => `${unreadAssociated}: ${reason}`),
  };
}
