import { createHash } from 'node:crypto';
import { z } from 'zod';
import { collection } from '../../sdk/collection';
import type { Storage } from '../../sdk/storage';

/** A passkey of a user. */
export interface UserPasskey {
  readonly id: string;
  readonly name: string;
  readonly credentialId: string;
  /** COSE key in base64. */
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
  /** The creation time of the newest challenge that the passkey answered. */
  readonly askedAtMs: number;
  readonly createdAtMs: number;
  readonly usedAtMs?: number;
}

/** The passkeys of a user, by the user's name. */
export const passkeysOf = collection('passkeys/of/', z.custom<readonly UserPasskey[]>());
/** Names of users, by the hash of a credential id. */
export const holders = collection('passkeys/holder/', z.object({ username: z.string() }));
/** The key of a credential in `holders`. */
export const holderOf = (credentialId: string): string => createHash('sha256').update(credentialId).digest('hex');

/**
 * Changes a user and their new passkeys on one node at a time. Otherwise one node could register a passkey while
 * another deletes the user, and the passkey would belong to a later user with the same name.
 */
export const inTurnOf = <T>(storage: Storage, username: string, run: (tx: Storage) => Promise<T>): Promise<T> =>
  storage.transaction(`user/${username}`, run, true);

/** Deletes the passkeys of a user who is deleted. */
export async function deletePasskeys(storage: Storage, username: string): Promise<void> {
  for (const { credentialId } of (await passkeysOf.find(storage, username)) ?? [])
    holders.delete(storage, holderOf(credentialId));
  passkeysOf.delete(storage, username);
}
