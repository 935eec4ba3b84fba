import { constants, type KeyObject, verify } from 'node:crypto';
import { Refusal } from '@keystead/refusal';

/** The signature algorithms that tokens may carry: all of them have a public key, so that none can be confused with it. */
export const jwtAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
] as const;
export type JwtAlgorithm = (typeof jwtAlgorithms)[number];

/** Claims of a token whose signature was verified. */
export type Claims = Readonly<Record<string, unknown>>;

/** What a token says about its signature. */
export interface SignatureHeader {
  readonly algorithm: JwtAlgorithm;
  readonly kid: string | undefined;
  /** None of the keys given before made the signature: the issuer may have replaced one under its old id. */
  readonly unverified?: boolean;
}

/** Whose signatures count. */
export interface SignatureCheck {
  readonly algorithms: readonly JwtAlgorithm[];
  /** The public keys that may have made the signature; none if the issuer has none that fits. */
  keys(header: SignatureHeader): Promise<readonly KeyObject[]>;
  /** Reads the claims, where a double for every number is not enough. */
  readonly parse?: (text: string) => unknown;
  /** How many characters a token may have; 65,536 unless said. */
  readonly longest?: number;
}

const maxTokenLength = 64 * 1024;
const compact = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Verifies the signature of a JWT and answers its claims; times, issuer and audience are still to be checked.
 * Throws `denied` with a reason that repeats nothing of the token.
 */
export async function verifySignature(token: string, check: SignatureCheck): Promise<Claims> {
  if (token.length > (check.longest ?? maxTokenLength) || !compact.test(token)) throw denied('malformed jwt');
  const [head = '', body = '', signature = ''] = token.split('.');
  const header = object(head);
  const plain = object(body);
  const { alg, kid } = header;
  if (kid !== undefined && typeof kid !== 'string') throw denied('malformed jwt');
  // An extension that must be understood, and we understand none.
  if (header.crit !== undefined) throw denied('malformed jwt: it demands extensions');
  const algorithm = check.algorithms.find((known) => known === alg);
  if (!algorithm) throw denied('unexpected signature algorithm of jwt');
  const fitting = async (unverified: boolean) =>
    (await check.keys({ algorithm, kid, unverified })).filter((key) => keyFits(key, algorithm));
  const keys = await fitting(false);
  if (keys.length === 0) throw denied('failed to verify signature of jwt: no such key');
  const made = (key: KeyObject) =>
    isSigned(algorithm, key, Buffer.from(`${head}.${body}`), Buffer.from(signature, 'base64url'));
  if (!keys.some(made)) {
    const others = (await fitting(true)).filter((key) => !keys.includes(key));
    if (!others.some(made)) throw denied('failed to verify signature of jwt');
  }
  // Reading them exactly costs more than the signature, so strangers' claims are not.
  return check.parse ? object(body, check.parse) : plain;
}

const curves: ReadonlyMap<string, string> = new Map(
  Object.entries({ ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' }),
);

/** Whether a public key is of the kind an algorithm signs with, and long enough. */
export function keyFits(key: KeyObject, algorithm: JwtAlgorithm): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (key.type !== 'public') return false;
  if (algorithm === 'EdDSA') return type === 'ed25519' || type === 'ed448';
  if (algorithm.startsWith('ES')) return type === 'ec' && details?.namedCurve === curves.get(algorithm);
  return type === 'rsa' && (details?.modulusLength ?? 0) >= 2048;
}

/** Whether a key has signed it by an algorithm that `keyFits` lets it have. */
export function isSigned(algorithm: JwtAlgorithm, key: KeyObject, content: Buffer, signature: Buffer): boolean {
  try {
    const hash = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(2)}`;
    if (algorithm.startsWith('ES')) return verify(hash, content, { key, dsaEncoding: 'ieee-p1363' }, signature);
    if (!algorithm.startsWith('PS')) return verify(hash, content, key, signature);
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    return verify(hash, content, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }, signature);
  } catch {
    return false;
  }
}

function object(part: string, parse: (text: string) => unknown = JSON.parse): Record<string, unknown> {
  try {
    const value = parse(Buffer.from(part, 'base64url').toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {}
  throw denied('malformed jwt');
}

function denied(reason: string): Refusal {
  return new Refusal('denied', reason);
}
