import { randomId } from '@keystead/auth';

/** A random id: a prefix such as `ws`, a dash, and 16 letters of base58. */
export function newId(prefix: string): string {
  return randomId(`${prefix}-`);
}
