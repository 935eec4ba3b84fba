import { mintToken } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';

/** A new token: a short part that says where it comes from, and 64 random letters (380 bits). */
export function newSecret(): string {
  return mintToken(`${mintToken('', 14)}.kswsv1.`, 64);
}

/** What is kept of a token: a keyed hash, worthless without the service's key. */
export function hashSecret(keyring: Keyring, secret: string): Buffer {
  return keyring.mac('workspace-token', secret);
}

/** What is kept of the id of a console session. */
export function hashConsoleId(keyring: Keyring, id: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyring.mac('workspace-console-session', id));
}
