import { createPublicKey, generateKeyPair, type JsonWebKey, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import jwt from 'jsonwebtoken';

/** A key that signs tokens, in a form that can be stored; `privatePem` is a secret. */
export interface SigningKey {
  readonly kid: string;
  readonly privatePem: string;
  /** Epoch milliseconds. */
  readonly createdAtMs: number;
}

const bits = 2048;

/** Makes a key for RS256, which everybody understands who checks identity tokens. */
export async function newSigningKey(nowMs: number): Promise<SigningKey> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: bits });
  const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { kid: randomUUID(), privatePem, createdAtMs: nowMs };
}

/** The public half of a key, as it stands in a key set. */
export function publicJwk({ kid, privatePem }: SigningKey): JsonWebKey & { kid: string } {
  return { ...createPublicKey(privatePem).export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' };
}

/** A signed token with these claims, as they are: `iat` is the caller's, since the library would take this machine's clock. */
export function signJwt(
  claims: Readonly<Record<string, unknown>> & { readonly iat: number },
  { kid, privatePem }: SigningKey,
): string {
  return jwt.sign(claims, privatePem, { algorithm: 'RS256', keyid: kid });
}
