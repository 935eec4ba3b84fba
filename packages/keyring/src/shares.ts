import { timingSafeEqual } from 'node:crypto';
import { combine, split } from 'shamir-secret-sharing';

/** The maximum number of shares a key can be split into, and the highest threshold. */
export const shareBounds = { minimum: 1, maximum: 255 } as const;

/**
 * Splits a key so that any `threshold` of its shares restore it and fewer reveal nothing. A share is one byte longer
 * than the key: its last byte is the point at which the polynomial was evaluated. A single share is the key itself.
 */
export async function splitKey(key: Uint8Array, shares: number, threshold: number): Promise<Buffer[]> {
  if (shares === 1 && threshold === 1) return [Buffer.from(key)];
  return (await split(Uint8Array.from(key), shares, threshold)).map((share) => Buffer.from(share));
}

/**
 * Combines shares. Too few shares, or shares of different keys, result in a wrong key without an error, so check the
 * result. Throws if shares differ in length or a share is given twice.
 */
export async function combineShares(shares: readonly Uint8Array[]): Promise<Buffer> {
  if (shares.length === 1) return Buffer.from(shares[0]!);
  return Buffer.from(await combine(shares.map((share) => Uint8Array.from(share))));
}

/** Compares two secrets in a time that depends only on their lengths. */
export function sameSecret(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
