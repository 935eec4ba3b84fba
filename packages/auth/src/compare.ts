import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in a time that says nothing about where, or in length, they differ. */
export function equalSecrets(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
