import { randomId } from '@keystead/auth';

/** A random id: a prefix such as `ws`, a dash, and 16 letters of base58. */
export function newId(prefix: string): string {
  return randomId(`${prefix}-`);
}

/** Whether text has the form of an id with this prefix, in any case. No one may choose such text as a name. */
export function isIdOf(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}-[1-9A-Za-z]{16}$`, 'i').test(text);
}
