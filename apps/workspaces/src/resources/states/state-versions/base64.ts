import { setImmediate as others } from 'node:timers/promises';
import { LargeText } from '@keystead/jsonapi';
import { z } from 'zod';

/** Bytes in base64, as a request holds them. */
export type Base64 = string | LargeText;

const pattern = '^[A-Za-z0-9+/\\s]*={0,2}\\s*$';
const whole = new RegExp(pattern);
/** A multiple of four characters, so that every run can be decoded by itself. */
const runCharacters = 256 * 1024;

const digits = new Uint8Array(256);
for (const digit of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')) digits[digit] = 1;
const padding = 0x3d;

function isBase64(value: unknown): boolean {
  if (typeof value === 'string') return whole.test(value);
  if (!(value instanceof LargeText)) return false;
  const { bytes } = value;
  let end = bytes.length;
  while (end > bytes.length - 2 && bytes[end - 1] === padding) end--;
  for (let at = 0; at < end; at++) if (digits[bytes[at]!] === 0) return false;
  return true;
}

/** Bytes in base64, in a request. */
export const base64 = z.custom<Base64>(isBase64, 'must be base64').meta({ type: 'string', pattern });

/**
 * The bytes behind base64, run by run, others being served in between. Each run is good until the next one is asked for:
 * a large text is decoded into the same place again and again.
 */
export async function* decoded(text: Base64): AsyncGenerator<Uint8Array> {
  if (typeof text === 'string') {
    yield Buffer.from(text, 'base64');
    return;
  }
  const characters = Buffer.from(text.bytes.buffer, text.bytes.byteOffset, text.bytes.length);
  const run = Buffer.allocUnsafe((runCharacters / 4) * 3);
  for (let at = 0; at < characters.length; at += runCharacters) {
    const length = run.write(characters.toString('latin1', at, at + runCharacters), 'base64');
    yield run.subarray(0, length);
    await others();
  }
}
