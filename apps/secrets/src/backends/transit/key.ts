import { dueIndex } from '../../sdk/due';
import { refuse } from '../../sdk/refuse';
import type { Soon } from '../../sdk/soon';
import type { Storage } from '../../sdk/storage';
import type { KeyType } from './key-type';

/** One version of a key, in base64: raw bytes, an Ed25519 seed, or PKCS#8 for other pairs; public keys are SPKI. */
export interface KeyVersion {
  readonly key?: string;
  readonly publicKey?: string;
  /** For type `hmac`, the key itself. */
  readonly hmacKey: string;
  readonly createdAtMs: number;
  /** For key pairs: the certificate chain, own certificate first, each DER in base64. */
  readonly certificates?: readonly string[];
}

/** A time, with the latest version of the key at that time. */
interface KeyMoment {
  readonly time: string;
  readonly version: number;
}

/** A key with all versions. Fields of requests and responses have the same names as there. */
export interface TransitKey {
  readonly type: KeyType;
  readonly derived: boolean;
  readonly convergent_encryption: boolean;
  readonly exportable: boolean;
  readonly allow_plaintext_backup: boolean;
  readonly auto_rotate_period: number;
  readonly deletion_allowed: boolean;
  readonly soft_deleted: boolean;
  readonly imported_key: boolean;
  readonly imported_key_allow_rotation: boolean;
  readonly key_size: number;
  readonly latest_version: number;
  readonly min_available_version: number;
  readonly min_decryption_version: number;
  /** 0 is the default: only the latest version encrypts. */
  readonly min_encryption_version: number;
  readonly backup_info?: KeyMoment;
  readonly restore_info?: KeyMoment;
  readonly versions: Readonly<Record<string, KeyVersion>>;
}

const prefix = 'key/';
/** Index of keys with automatic rotation. */
export const due = dueIndex('due/');
const parse = JSON.parse as (text: string) => TransitKey;

/** Finds a key by name. */
export const findKey = (storage: Storage, name: string): Soon<TransitKey | undefined> =>
  storage.read(prefix + name, parse);

/** Key names, sorted by bytes. */
export const listKeys = (storage: Storage, page: Parameters<Storage['list']>[1]): Promise<string[]> =>
  storage.list(prefix, page);

/** Like findKey, but throws `invalid` if the key is missing (with `text`) or soft-deleted. */
export async function requireKey(storage: Storage, name: string, text: string): Promise<TransitKey> {
  return usable((await findKey(storage, name)) ?? refuse(text));
}

/** Returns the key; throws `invalid` if it is soft-deleted. */
export const usable = (key: TransitKey): TransitKey =>
  key.soft_deleted ? refuse('refusing to use soft-deleted key') : key;

/**
 * Changes a key, one change at a time on all nodes, so that no change is lost. `change` returns null to delete the key,
 * or the same object to leave it unchanged.
 */
export function changeKey<K extends TransitKey | null>(
  storage: Storage,
  name: string,
  change: (key: TransitKey | undefined) => K,
): Promise<K> {
  return storage.transaction(prefix + name, async (tx) => {
    const before = await findKey(tx, name);
    const after = change(before);
    if (after === before || (!after && !before)) return after;
    const dueBefore = before && dueAt(before);
    const dueAfter = after ? dueAt(after) : undefined;
    due.move(tx, name, dueBefore, dueAfter);
    if (after) tx.put(prefix + name, JSON.stringify(after));
    else tx.delete(prefix + name);
    return after;
  });
}

/** The message that clients expect for a version that is no longer accepted. */
export const tooOld = 'ciphertext or signature version is disallowed by policy (too old)';

/** The numbers of the versions that still decrypt and verify. */
export const acceptedVersions = ({ versions, min_decryption_version: least }: TransitKey): readonly number[] =>
  Object.keys(versions)
    .map(Number)
    .filter((number) => number >= least);

/** Adds a version generated here; after that, no version can be imported. */
export const rotated = (key: TransitKey, newVersion: KeyVersion): TransitKey => ({
  ...withVersion(key, newVersion),
  imported_key: false,
});

/** Adds a version. */
export function withVersion(key: TransitKey, version: KeyVersion): TransitKey {
  const latest_version = key.latest_version + 1;
  return { ...key, latest_version, versions: { ...key.versions, [latest_version]: version } };
}

/** Removes the versions below the minimum available version. */
export function withoutOldVersions(key: TransitKey): TransitKey {
  const available = Object.entries(key.versions).filter(([number]) => Number(number) >= key.min_available_version);
  return { ...key, versions: Object.fromEntries(available) };
}

/** Whether this service may generate versions of the key. */
export const rotates = (key: TransitKey): boolean => !key.imported_key || key.imported_key_allow_rotation;

/** Next automatic rotation in epoch seconds; undefined if it is off. */
export function dueAt(key: TransitKey): number | undefined {
  if (key.auto_rotate_period === 0 || key.soft_deleted || !rotates(key)) return undefined;
  return Math.ceil(key.versions[key.latest_version]!.createdAtMs / 1000) + key.auto_rotate_period;
}
