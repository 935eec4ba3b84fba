import { constants, type KeyObject, verify } from 'node:crypto';
import { Refusal } from '@keystead/refusal';

/** The signature algorithms that tokens may name: all are asymmetric, so that no public key can be used as a secret. */
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

/** The header of a token. */
export interface SignatureHeader {
  readonly algorithm: JwtAlgorithm;
  readonly kid: string | undefined;
  /** True if none of the known keys made the signature. The issuer may have replaced a key and kept its id. */
  readonly unverified?: boolean;
}

/** Which signatures are accepted. */
export interface SignatureCheck {
  readonly algorithms: readonly JwtAlgorithm[];
  /** The public keys that may have made the signature; none if the issuer has no suitable key. */
  keys(header: SignatureHeader): Promise<readonly KeyObject[]>;
  /** Parses the claims. Set this if their numbers need more precision than a double has. */
  readonly parse?: (text: string) => unknown;
  /** The maximum length of a token in characters; default 65,536. */
  readonly longest?: number;
}

const maxTokenLength = 64 * 1024;
const compact = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Verifies the signature of a JWT and returns its claims. Does not check times, issuer and audience. Throws `denied`
 * with a reason that quotes nothing from the token.
 */
export async function verifySignature(token: string, check: SignatureCheck): Promise<Claims> {
  if (token.length > (check.longest ?? maxTokenLength) || !compact.test(token)) throw denied('malformed jwt');
  const [head = '', body = '', signature = ''] = token.split('.');
  const header = object(head);
  const plain = object(body);
  const { alg, kid } = header;
  if (kid !== undefined && typeof kid !== 'string') throw denied('malformed jwt');
  // The token has a critical extension, and we support no extensions.
  if (header.crit !== undefined) throw denied('malformed jwt: it demands extensions');
  const algorithm = check.algorithms.find((allowed) => allowed === alg);
  if (!algorithm) throw denied('unexpected signature algorithm of jwt');
  const fitting = async (unverified: boolean) =>
    (await check.keys({ algorithm, kid, unverified })).filter((key) => keyFits(key, algorithm));
  const keys = await fitting(false);
  if (keys.length === 0) throw denied('failed to verify signature of jwt: no such key');
  const isSigner = (key: KeyObject) =>
    isSigned(algorithm, key, Buffer.from(`${head}.${body}`), Buffer.from(signature, 'base64url'));
  if (!keys.some(isSigner)) {
    const others = (await fitting(true)).filter((key) => !keys.includes(key));
    if (!others.some(isSigner)) throw denied('failed to verify signature of jwt');
  }
  // Exact parsing costs more than verifying the signature, so it is done only for verified tokens.
  return check.parse ? object(body, check.parse) : plain;
}

const curves: ReadonlyMap<string, string> = new Map(
  Object.entries({ ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' }),
);

/** Whether a public key has the type that an algorithm needs, and is long enough. */
export function keyFits(key: KeyObject, algorithm: JwtAlgorithm): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (key.type !== 'public') return false;
  if (algorithm === 'EdDSA') return type === 'ed25519' || type === 'ed448';
  if (algorithm.startsWith('ES')) return type === 'ec' && details?.namedCurve === curves.get(algorithm);
  return type === 'rsa' && (details?.modulusLength ?? 0) >= 2048;
}

/** Whether the key made the signature. `keyFits` has already matched key and algorithm. */
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
