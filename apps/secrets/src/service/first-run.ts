import { closeSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { isRefusal } from '@keystead/refusal';
import type { Seal } from '../kernel/seal/seal';
import type { Initialised, InitialiseRequest } from '../system/sys/seal/initialise';

const SHARES = 5;
const THRESHOLD = 3;
/**
 * The number of bytes that are written first. It exceeds the final content, so that a full disk is noticed before there
 * are keys.
 */
const RESERVED_BYTES = 4096;

/**
 * Initialises a new installation and writes its root token and keys to a new file that only its owner can read. Returns
 * whether it did so; an initialised installation is not changed. If the file cannot be written, throws and initialises
 * nothing.
 */
export async function firstRun(
  seal: Seal,
  initialise: (request: InitialiseRequest) => Promise<Initialised>,
  file: string,
): Promise<boolean> {
  if ((await seal.status()).initialised) return false;
  const descriptor = open(file);
  let fileWritten = false;
  try {
    writeSync(descriptor, ' '.repeat(RESERVED_BYTES), 0);
    fsyncSync(descriptor);
    const initialised = await initialise({ shares: SHARES, threshold: THRESHOLD });
    const text = `${JSON.stringify(fileText(initialised), null, 2)}\n`;
    writeSync(descriptor, text, 0);
    ftruncateSync(descriptor, Buffer.byteLength(text));
    fsyncSync(descriptor);
    fileWritten = true;
  } catch (error) {
    // Another node has initialised the installation in the meantime.
    if (isRefusal(error) && (await seal.status()).initialised) return false;
    throw error;
  } finally {
    closeSync(descriptor);
    if (!fileWritten) rmSync(file, { force: true });
  }
  return true;
}

function open(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`${file} already exists and may contain the keys of another installation: move it away`);
  }
}

function fileText({ shares, recovery, rootToken }: Initialised) {
  const keys = shares.map((share) => Buffer.from(share).toString('base64'));
  return { root_token: rootToken, [recovery ? 'recovery_keys' : 'keys']: keys, threshold: THRESHOLD };
}
