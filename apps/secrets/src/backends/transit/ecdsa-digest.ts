import type { KeyObject } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import { refuse } from '../../sdk/refuse';

// The crypto library always hashes before ECDSA. A reviewed library signs digests that the caller computed.

const curves = { 'P-256': p256, 'P-384': p384, 'P-521': p521 };

type Curve = keyof typeof curves;

const jwkBytes = (text: string | undefined): Buffer => Buffer.from(text!, 'base64url');

/** Signs a digest of any length; returns r followed by s. */
export function signDigest(curve: Curve, key: KeyObject, digest: Buffer): Buffer {
  const secret = jwkBytes(key.export({ format: 'jwk' }).d);
  const signature = curves[curve].sign(digest, secret, { prehash: false, lowS: false, extraEntropy: true });
  return Buffer.from(signature.toBytes('compact'));
}

/** Verifies a signature of r followed by s. */
export function verifyDigest(curve: Curve, key: KeyObject, digest: Buffer, compact: Buffer): boolean {
  const { x, y } = key.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.of(4), jwkBytes(x), jwkBytes(y)]);
  try {
    return curves[curve].verify(compact, digest, point, { prehash: false, lowS: false, format: 'compact' });
  } catch {
    return false;
  }
}

export const derOfCompact = (curve: Curve, compact: Buffer): Buffer =>
  Buffer.from(curves[curve].Signature.fromBytes(compact, 'compact').toBytes('der'));

/** Converts a DER signature to r followed by s. Throws `invalid`. */
export function compactOfDer(curve: Curve, der: Buffer): Buffer {
  try {
    return Buffer.from(curves[curve].Signature.fromBytes(der, 'der').toBytes('compact'));
  } catch {
    return refuse('supplied signature is invalid');
  }
}
