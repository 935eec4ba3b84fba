import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { makeCurveKey, makeRsaKey } from './key-pair';

/** The algorithms that keys of this service can sign with. */
export const signingAlgorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** A key that signs tokens, in a form that can be stored; `privatePem` is a secret. */
export interface SigningKey {
  readonly kid: string;
  readonly privatePem: string;
  /** Epoch milliseconds. */
  readonly createdAtMs: number;
  /** RS256 if absent. */
  readonly algorithm?: SigningAlgorithm;
}

const bits = 2048;
const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const;

/** Generates a key. The default algorithm is RS256, which every verifier of identity tokens supports. */
export async function newSigningKey(nowMs: number, algorithm?: SigningAlgorithm): Promise<SigningKey> {
  const privateKey = await makeKey(algorithm ?? 'RS256');
  const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { kid: randomUUID(), privatePem, createdAtMs: nowMs, ...(algorithm && { algorithm }) };
}

/** The public half of a key, as published in a key set. */
export function publicJwk({ kid, privatePem, algorithm = 'RS256' }: SigningKey): JsonWebKey & { kid: string } {
  return { ...createPublicKey(privatePem).export({ format: 'jwk' }), kid, use: 'sig', alg: algorithm };
}

/** A signed token with exactly these claims: time claims are up to the caller. */
export function signJwt(
  claims: Readonly<Record<string, unknown>> & { readonly iat: number },
  { kid, privatePem, algorithm = 'RS256' }: Pick<SigningKey, 'privatePem' | 'algorithm'> & { readonly kid?: string },
): string {
  const key = parsed(privatePem);
  const text = `${encoded({ alg: algorithm, typ: 'JWT', kid })}.${encoded(claims)}`;
  const digest = digestOf(algorithm);
  return `${text}.${sign(digest ?? null, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const parsedKeys = new LRUCache<string, KeyObject>({ max: 64, ttl: 60_000, ttlAutopurge: true });

/** A parsed key, cached for a minute, because parsing costs up to thirty times as much as signing. */
function parsed(privatePem: string): KeyObject {
  const parsedBefore = parsedKeys.get(privatePem);
  if (parsedBefore) return parsedBefore;
  const key = createPrivateKey(privatePem);
  parsedKeys.set(privatePem, key);
  return key;
}

/** The digest that an algorithm signs; undefined if it signs the content itself. */
export function digestOf(algorithm: SigningAlgorithm): string | undefined {
  return algorithm === 'EdDSA' ? undefined : `sha${algorithm.slice(2)}`;
}

function makeKey(algorithm: SigningAlgorithm): Promise<KeyObject> {
  if (algorithm === 'EdDSA') return makeCurveKey('ed25519');
  if (algorithm.startsWith('RS')) return makeRsaKey(bits);
  return makeCurveKey(curves[algorithm as keyof typeof curves]);
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
