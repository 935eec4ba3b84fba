import { createECDH, type KeyObject } from 'node:crypto';
import { makeCurveKey, makeRsaKey } from '@keystead/auth';
import { publicDer } from '../../sdk/asn1';
import { pemOf } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { element, idElement, tags } from './der';

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

/** A key that is shown to its caller. */
export interface ShownKey {
  readonly type: KeyType;
  /** As SPKI. */
  readonly publicKey: Buffer;
  /** The DER of the private key. */
  der(form: 'pkcs1' | 'sec1' | 'pkcs8'): Buffer;
}

export const shownKeyOf = (key: KeyObject): ShownKey => ({
  type: kindOfKey(key).type,
  publicKey: publicDer(key),
  der: (form) => key.export({ format: 'der', type: form as 'pkcs8' }),
});

/** Generates a key that is only shown, from checked rules. */
export const makeShownKey = async (rules: KeyRules): Promise<ShownKey> =>
  rules.key_type === 'ec' && rules.key_bits === 256 ? makePoint() : shownKeyOf(await makeKey(rules));

const ecIds = [idElement('1.2.840.10045.2.1'), idElement('1.2.840.10045.3.1.7')] as const;

/**
 * Generates a P-256 key in 50 µs. With Node's key objects, generation would need a thread, and each encoding would take
 * another 50 µs.
 */
function makePoint(): ShownKey {
  const pair = createECDH(curves.get(256)!);
  const point = element(tags.bits, [Buffer.of(0), pair.generateKeys()]);
  const number = pair.getPrivateKey();
  // The number has no leading zeros, so they are added.
  const secret = element(tags.octets, [Buffer.alloc(32 - number.length), number]);
  const algorithm = element(tags.sequence, ecIds);
  const integer = (value: number) => element(tags.integer, [Buffer.of(value)]);
  const withCurve = (curve: readonly Buffer[]) =>
    element(tags.sequence, [integer(1), secret, ...curve, element(tags.second, [point])]);
  return {
    type: 'ec',
    publicKey: element(tags.sequence, [algorithm, point]),
    der: (form) =>
      form === 'pkcs8'
        ? element(tags.sequence, [integer(0), algorithm, element(tags.octets, [withCurve([])])])
        : withCurve([element(tags.first, [ecIds[1]])]),
  };
}

/** Formats a private key: the traditional form of its type, or PKCS#8. */
export function formatKey(key: ShownKey, format: string, keyFormat: string): string {
  const [form, label] =
    keyFormat === 'pkcs8' || key.type === 'ed25519'
      ? (['pkcs8', 'PRIVATE KEY'] as const)
      : key.type === 'rsa'
        ? (['pkcs1', 'RSA PRIVATE KEY'] as const)
        : (['sec1', 'EC PRIVATE KEY'] as const);
  const der = key.der(form);
  return format === 'der' ? der.toString('base64') : pemOf(der, label);
}
