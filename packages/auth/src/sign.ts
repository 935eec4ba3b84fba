import { createPrivateKey, createPublicKey, generateKeyPair, type JsonWebKey, randomUUID, sign } from 'node:crypto';
import { promisify } from 'node:util';

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

/** A signed token with these claims. */
export function signJwt(claims: Readonly<Record<string, unknown>>, { kid, privatePem }: SigningKey): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ typ: 'JWT', alg: 'RS256', kid })}.${part(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), createPrivateKey(privatePem)).toString('base64url')}`;
}
