import type { KeyObject } from 'node:crypto';
import { makeCurveKey, makeRsaKey } from '@keystead/auth';
import { refuse } from '../../sdk/refuse';

export type KeyType = 'rsa' | 'ec' | 'ed25519';

const curves: ReadonlyMap<number, string> = new Map([
  [224, 'secp224r1'],
  [256, 'prime256v1'],
  [384, 'secp384r1'],
  [521, 'secp521r1'],
]);
const defaultBits: ReadonlyMap<string, number> = new Map([
  ['rsa', 2048],
  ['ec', 256],
]);
const rsaSizes = [2048, 3072, 4096, 8192];
const hashSizes = [256, 384, 512];

/** Key type and size, and the hash size of RSA signatures. */
export interface KeyRules {
  readonly key_type: string;
  readonly key_bits: number;
  readonly signature_bits: number;
}

/** Fills in defaults. Throws `invalid` for unknown or weak keys. */
export function checkedKeyRules<T extends KeyRules>(rules: T): T {
  const { key_type: type } = rules;
  const key_bits = rules.key_bits || (defaultBits.get(type) ?? 0);
  if (type === 'rsa') {
    if (key_bits < 2048) refuse(`RSA keys < 2048 bits are unsafe and not supported: got ${key_bits}`);
    if (!rsaSizes.includes(key_bits)) refuse(`unsupported bit length for RSA key: ${key_bits}`);
  } else if (type === 'ec') {
    if (!curves.has(key_bits)) refuse(`unsupported bit length for EC key: ${key_bits}`);
  } else if (type !== 'ed25519' && type !== 'any') refuse(`unknown key type ${type}`);
  const signature_bits = type === 'rsa' ? rules.signature_bits || 256 : type === 'ec' ? rules.signature_bits : 0;
  if (type === 'rsa' && !hashSizes.includes(signature_bits)) {
    refuse(`unsupported hash signature algorithm: ${signature_bits}`);
  }
  return { ...rules, key_bits, signature_bits };
}

/** Generates a private key off the main thread, from checked rules. */
export function makeKey({ key_type: type, key_bits: bits }: KeyRules): Promise<KeyObject> {
  if (type === 'rsa') return makeRsaKey(bits);
  return makeCurveKey(type === 'ec' ? curves.get(bits)! : 'ed25519');
}

/** Type and size of a key. Throws `invalid` for unsupported types. */
export function kindOfKey(key: KeyObject): { readonly type: KeyType; readonly bits: number } {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'rsa') return { type, bits: details?.modulusLength ?? 0 };
  if (type === 'ed25519') return { type, bits: 0 };
  const bits = [...curves.keys()].find((size) => curves.get(size) === details?.namedCurve);
  return type === 'ec' && bits !== undefined ? { type, bits } : refuse('unknown private key type');
}

/** Formats a private key: the traditional form of its type, or PKCS#8. */
export function shownKey(key: KeyObject, format: string, keyFormat: string): string {
  const { type } = kindOfKey(key);
  const form = keyFormat === 'pkcs8' || type === 'ed25519' ? 'pkcs8' : type === 'rsa' ? 'pkcs1' : 'sec1';
  if (format === 'der')
    return (key.export({ format: 'der', type: form } as never) as unknown as Buffer).toString('base64');
  return String(key.export({ format: 'pem', type: form } as never)).trim();
}
