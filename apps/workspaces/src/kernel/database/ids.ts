import { randomId } from '@keystead/auth';

/** A random id: a prefix such as `ws`, a dash, and 16 letters of base58. */
export function newId(prefix: string): string {
  return randomId(`${prefix}-`);
}

/** Text with the form of an id of this prefix, in any case: never a name that someone may choose for themselves. */
export function isIdOf(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}-[1-9A-Za-z]{16}$`, 'i').test(text);
}
