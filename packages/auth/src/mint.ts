import { randomFillSync } from 'node:crypto';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** A token: the prefix, then `length` random base62 characters (5.95 bits each). */
export function mintToken(prefix: string, length: number): string {
  return prefix + random(base62, length);
}

/** Random base62 text. */
export function randomBase62(length: number): string {
  return random(base62, length);
}

/** A public id: the prefix, then 16 random base58 characters. */
export function randomId(prefix: string): string {
  return prefix + random(base58, 16);
}

function random(alphabet: string, length: number): string {
  // Bytes above the last multiple of the alphabet's size are discarded, so every character is equally likely.
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    const bytes = randomFillSync(Buffer.allocUnsafe(length + 16));
    for (let i = 0; i < bytes.length && text.length < length; i++) {
      const byte = bytes[i]!;
      if (byte < limit) text += alphabet[byte % alphabet.length];
    }
    bytes.fill(0);
  }
  return text;
}
