import { setImmediate as others } from 'node:timers/promises';
import type { ExactNumber } from '@keystead/envelope';
import { document, LargeText, one, requiredOne, writeOnly } from '@keystead/jsonapi';
import { z } from 'zod';
import { serialIn } from './scanner/parse-state';

/** Bytes in base64, as a request contains them. */
export type Base64 = string | LargeText;

const pattern = '^[A-Za-z0-9+/\\s]*={0,2}\\s*$';
const whole = new RegExp(pattern);
/** The length of a run. It is a multiple of four characters, so that every run can be decoded separately. */
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
const base64 = z.custom<Base64>(isBase64, 'must be base64').meta({ type: 'string', pattern });

/**
 * Decodes base64 piece by piece, so that other requests run in between. Each piece is valid until the next one is
 * requested, because all pieces are decoded into the same buffer.
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

/** The maximum size of an inline state before base64. Larger states are sent to the upload URL. */
export const inlineLimitBytes = 16 * 1024 * 1024;

/**
 * The limit of the body. It is sufficient for the largest inline state in base64, with its JSON form and outputs if
 * they are small in comparison.
 */
export const largeBody = {
  bytes: 24 * 1024 * 1024,
  instead: 'omit state and json-state, and use hosted-state-upload-url and hosted-json-state-upload-url',
};

const content = writeOnly(base64);

const md5 = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/, 'must be an MD5 hash in hexadecimal digits')
  .transform((text) => text.toLowerCase());

/** A serial in a request or an answer, which keeps all digits. */
export const serialNumber = z
  .custom<number | ExactNumber>((value) => serialIn(value) !== undefined, 'must be a whole number of at most 63 bits')
  .meta({ type: 'integer', minimum: 0 });

/** A new state version, with its content or for a later upload. */
export const CreateStateVersion = document('state-versions', {
  attributes: {
    serial: serialNumber.transform((value) => serialIn(value)!),
    md5,
    lineage: z.string().max(255).nullish(),
    force: writeOnly(z.boolean()).nullish(),
    state: content.nullish(),
    'json-state': content.nullish(),
    'json-state-outputs': content.nullish(),
    intermediate: z.boolean().nullish(),
  },
  relationships: { run: one('runs') },
});

/** A return to an earlier state version. */
export const Rollback = document('state-versions', {
  relationships: { 'rollback-state-version': requiredOne('state-versions') },
});
