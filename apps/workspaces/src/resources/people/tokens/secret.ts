import { mintToken } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';

/** A new token: a short prefix that names its kind, and 64 random letters (380 bits). */
export function newSecret(): string {
  return mintToken(`${mintToken('', 14)}.kswsv1.`, 64);
}

/** The stored form of a token: a keyed hash, useless without the service's key. */
export function hashSecret(keyring: Keyring, secret: string): Buffer {
  return keyring.mac('workspace-token', secret);
}

/** The stored form of a console session's id. */
export function hashConsoleId(keyring: Keyring, id: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyring.mac('workspace-console-session', id));
}
