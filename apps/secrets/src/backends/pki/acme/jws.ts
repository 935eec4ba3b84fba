import { createHash, createHmac, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { equalSecrets, isSigned, type JwtAlgorithm, keyFits } from '@keystead/auth';
import { LRUCache } from 'lru-cache';
import { isObject } from '../../../sdk/coerce';
import { AcmeProblem, fail } from './problem';

/** A public key as a JWK with its required members only. */
export type Jwk = Readonly<Record<string, string>>;

/** A parsed JWS; its signature is not yet verified. */
export interface Jws {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Buffer;
  readonly signed: Buffer;
  readonly signature: Buffer;
}

const algorithms: readonly JwtAlgorithm[] = ['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'EdDSA'];
const base64url = /^[\w-]*$/;

/** Parses a flattened JWS. Throws `malformed`. */
export function readJws(value: unknown, what = 'the body'): Jws {
  if (!isObject(value)) return fail('malformed', `${what} is not a JWS in flattened JSON`);
  const { protected: head, payload, signature, ...more } = value;
  const extra = Object.keys(more)[0];
  if (extra !== undefined) fail('malformed', `${what} has ${extra.slice(0, 40)}, which is not allowed`);
  if (![head, payload, signature].every((part) => typeof part === 'string' && base64url.test(part))) {
    fail('malformed', `${what} needs protected, payload and signature in base64url without padding`);
  }
  const header = parseObject(Buffer.from(head as string, 'base64url').toString('utf8'), `the header of ${what}`);
  if (header.crit !== undefined || header.b64 !== undefined) fail('malformed', `the header of ${what} has extensions`);
  return {
    header,
    payload: Buffer.from(payload as string, 'base64url'),
    signed: Buffer.from(`${head}.${payload}`),
    signature: Buffer.from(signature as string, 'base64url'),
  };
}

/** Parses a JSON object. Throws `malformed`. */
export function parseObject(text: string, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {}
  return isObject(value) ? value : fail('malformed', `${what} is not a JSON object`);
}

const parts: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

/** Reads the `jwk` of a message. Throws `badPublicKey` if it is not a key, is too weak, or includes a private key. */
export function readJwk(value: unknown): { readonly jwk: Jwk; readonly key: KeyObject } {
  const bad = (why: string) => fail('badPublicKey', `the key ${why}`);
  if (!isObject(value) || typeof value.kty !== 'string') return bad('is not a JWK');
  const names = Object.hasOwn(parts, value.kty) ? parts[value.kty]! : bad('has an unsupported type');
  if (value.d !== undefined) return bad('contains its private key, which is no longer secret');
  const texts = names.map((name) => [name, value[name]] as const);
  if (!texts.every(([, text]) => typeof text === 'string')) return bad('lacks a part');
  try {
    const key = createPublicKey({ key: Object.fromEntries(texts) as JsonWebKey, format: 'jwk' });
    if (!algorithms.some((algorithm) => keyFits(key, algorithm))) return bad('is too weak, or of an unknown curve');
    // Exported again, so that each key has exactly one form.
    const whole = key.export({ format: 'jwk' }) as Readonly<Record<string, string>>;
    return { jwk: Object.fromEntries(names.map((name) => [name, whole[name]!])), key };
  } catch (error) {
    if (error instanceof AcmeProblem) throw error;
    return bad('cannot be read');
  }
}

/** The keys of accounts that were used last; reading one costs as much as verifying a signature. */
const keys = new LRUCache<string, KeyObject>({ max: 1000 });

/** The public key of a stored JWK. */
export function keyOf(jwk: Jwk): KeyObject {
  const text = JSON.stringify(jwk);
  let key = keys.get(text);
  if (!key) {
    key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    keys.set(text, key);
  }
  return key;
}

/** The JWK thumbprint (RFC 7638). */
export const thumbprintOf = (jwk: Jwk): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.fromEntries(Object.entries(jwk).sort(([a], [b]) => (a < b ? -1 : 1)))))
    .digest('base64url');

/** Throws unless the message is signed with this key by an asymmetric algorithm. */
export function verifyJws({ header, signed, signature }: Jws, key: KeyObject, what = 'the body'): void {
  const algorithm = algorithms.find((supported) => supported === header.alg);
  if (!algorithm) fail('badSignatureAlgorithm', `the algorithm of ${what} must be one of ${algorithms.join(', ')}`);
  if (!keyFits(key, algorithm!) || !isSigned(algorithm!, key, signed, signature)) {
    fail('malformed', `the signature of ${what} was not made with its key`);
  }
}

/** Throws unless the HMAC of the message was made with this shared key. */
export function verifyMac({ header, signed, signature }: Jws, key: Buffer): void {
  const hash = /^HS(256|384|512)$/.exec(String(header.alg))?.[1];
  if (!hash) fail('badSignatureAlgorithm', 'externalAccountBinding must be signed by HS256, HS384 or HS512');
  const own = createHmac(`sha${hash}`, key).update(signed).digest('base64url');
  if (!equalSecrets(own, signature.toString('base64url'))) {
    fail('unauthorized', 'externalAccountBinding is not signed with the key of its id');
  }
}
