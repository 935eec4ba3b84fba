import { constants, type KeyObject, verify } from 'node:crypto';

/** How an algorithm signs. */
interface Scheme {
  /** Null if the algorithm itself determines the hash. */
  readonly hash: string | null;
  readonly isPss?: true;
}

const pss = '1.2.840.113549.1.1.10';
/**
 * Algorithms by object identifier. RSA-PSS is followed by a slash and the identifier of its hash. SHA-1 and older
 * hashes are missing, because their signatures can be forged.
 */
const schemes: ReadonlyMap<string, Scheme> = new Map<string, Scheme>([
  ['1.2.840.113549.1.1.11', { hash: 'sha256' }],
  ['1.2.840.113549.1.1.12', { hash: 'sha384' }],
  ['1.2.840.113549.1.1.13', { hash: 'sha512' }],
  [`${pss}/2.16.840.1.101.3.4.2.1`, { hash: 'sha256', isPss: true }],
  [`${pss}/2.16.840.1.101.3.4.2.2`, { hash: 'sha384', isPss: true }],
  [`${pss}/2.16.840.1.101.3.4.2.3`, { hash: 'sha512', isPss: true }],
  ['1.2.840.10045.4.3.2', { hash: 'sha256' }],
  ['1.2.840.10045.4.3.3', { hash: 'sha384' }],
  ['1.2.840.10045.4.3.4', { hash: 'sha512' }],
  ['1.3.101.112', { hash: null }],
  ['1.3.101.113', { hash: null }],
]);
const curves: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** Whether signatures of an algorithm cannot be forged, see `algorithmOf`. */
export const isStrongAlgorithm = (algorithm: string): boolean => schemes.has(algorithm);

/** Whether signatures of a key cannot be forged. */
export function isStrongKey({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'rsa' || type === 'rsa-pss') return (details?.modulusLength ?? 0) >= 2048;
  if (type === 'ec') return curves.has(details?.namedCurve ?? '');
  return type === 'ed25519' || type === 'ed448';
}

/** A signed object: a CRL or an OCSP response. */
export interface Signed {
  readonly content: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

/** Whether a key has signed the object, with an algorithm and a key that resist forgery. */
export function isSignedBy({ content, algorithm, signature }: Signed, key: KeyObject): boolean {
  const scheme = schemes.get(algorithm);
  if (scheme === undefined || !isStrongKey(key)) return false;
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  try {
    return verify(scheme.hash, content, scheme.isPss ? { key, padding } : key, signature);
  } catch {
    return false;
  }
}
