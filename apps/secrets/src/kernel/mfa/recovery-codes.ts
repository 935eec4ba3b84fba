import { randomBytes } from 'node:crypto';
import type { Barrier } from '../storage/types';

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789-'.slice(0, 31);
const form = /^[a-z2-9]{5}-[a-z2-9]{5}-[a-z2-9]{5}$/;

/** Random codes of three groups of five characters, from an alphabet without look-alikes. A code has 74 bits. */
export function makeRecoveryCodes(count: number): string[] {
  return Array.from({ length: count }, () => [group(), group(), group()].join('-'));
}

function group(): string {
  let text = '';
  while (text.length < 5) {
    const byte = randomBytes(1)[0]! & 31;
    // The 32nd value is discarded, so that all characters are equally likely.
    if (byte < alphabet.length) text += alphabet[byte];
  }
  return text;
}

/** Whether a string has the form of a recovery code. */
export function isRecoveryCode(text: string): boolean {
  return form.test(text);
}

/** The stored hash of a recovery code. */
export function recoveryCodeHash(barrier: Pick<Barrier, 'mac'>, methodId: string, code: string): Buffer<ArrayBuffer> {
  return barrier.mac('mfa-recovery-code', `${methodId}/${code}`);
}
