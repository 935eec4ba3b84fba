import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { WrongSealKey } from './errors';

const KEY_BYTES = 32;
const MAGIC = Buffer.from('KSR1');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const OVERHEAD = MAGIC.length + NONCE_BYTES + TAG_BYTES;

/** Where a seal key may come from; a value takes precedence over a file. */
export interface SealKeySource {
  value?: string;
  file?: string;
  previousValue?: string;
  previousFile?: string;
}

/** The current seal key, and the previous key as long as a keyring may still be wrapped with it. */
export interface SealKeys {
  current: Buffer;
  previous?: Buffer;
}

/**
 * Reads the seal keys. Each has 32 bytes, as 64 hexadecimal digits or in base64. Throws an error of one line that names
 * the source and never shows the key.
 */
export function readSealKeys(source: SealKeySource): SealKeys {
  const current = readOne('seal key', source.value, source.file);
  if (!current) throw new Error('no seal key: set its value or its file');
  const previous = readOne('previous seal key', source.previousValue, source.previousFile);
  return previous ? { current, previous } : { current };
}

/**
 * Writes a random seal key to a file that only its owner can read, and flushes it to disk before the call returns.
 * Refuses to overwrite a file: without a seal key, everything that it encrypted is lost.
 */
export function createSealKeyFile(file: string): Buffer {
  const key = randomBytes(KEY_BYTES);
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeSync(descriptor, `${key.toString('hex')}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  const folder = openSync(path.dirname(path.resolve(file)), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return key;
}

/** Reads 32 bytes written as 64 hexadecimal digits or in base64; `undefined` for anything else. */
export function parseKey(text: string): Buffer | undefined {
  const trimmed = text.trim();
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, 'base64');
  return undefined;
}

/** Encrypts a keyring or another small secret directly with a seal key. */
export function sealWithSealKey(plain: Uint8Array, sealKey: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', sealKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(MAGIC);
  return Buffer.concat([MAGIC, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts with the first seal key that fits. Throws `WrongSealKey`. */
export function openWithSealKey(sealed: Uint8Array, sealKeys: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length >= OVERHEAD && bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    for (const sealKey of sealKeys) {
      const plain = tryOpen(bytes, sealKey);
      if (plain) return plain;
    }
  }
  throw new WrongSealKey(
    'the seal key does not open the stored keyring: use the key it was sealed with, or give it as the previous key',
  );
}

function tryOpen(bytes: Buffer, sealKey: Uint8Array): Buffer | undefined {
  const textAt = MAGIC.length + NONCE_BYTES;
  const end = bytes.length - TAG_BYTES;
  const nonce = bytes.subarray(MAGIC.length, textAt);
  const decipher = createDecipheriv('aes-256-gcm', sealKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(MAGIC);
  decipher.setAuthTag(bytes.subarray(end));
  const plain = decipher.update(bytes.subarray(textAt, end));
  try {
    decipher.final();
    return plain;
  } catch {
    plain.fill(0);
    return undefined;
  }
}

function readOne(name: string, value: string | undefined, file: string | undefined): Buffer | undefined {
  if (value !== undefined && value !== '') return requireKey(value, name);
  if (file === undefined || file === '') return undefined;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`the ${name} file ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      cause: error,
    });
  }
  return requireKey(text, `${name} in ${file}`);
}

function requireKey(text: string, name: string): Buffer {
  const key = parseKey(text);
  if (!key) throw new Error(`the ${name} is not 32 bytes in hexadecimal or base64`);
  return key;
}
