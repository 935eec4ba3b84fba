import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in a time that does not depend on where they differ or on their lengths. */
export function equalSecrets(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
