import { dueIndex } from '../../sdk/due';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import type { KeyType } from './key-type';

/** One version of a key. Keys are base64: raw bytes, of ed25519 the seed, of other pairs PKCS#8; public ones SPKI. */
export interface KeyVersion {
  readonly key?: string;
  readonly publicKey?: string;
  /** Of type hmac the key itself. */
  readonly hmacKey: string;
  readonly createdAtMs: number;
  /** Of a pair: DER as base64, its certificate first. */
  readonly certificates?: readonly string[];
}

/** A moment that a key remembers, with its newest version then. */
interface KeyMoment {
  readonly time: string;
  readonly version: number;
}

/** A key with all of its versions; fields that requests and answers know have their names there. */
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
  /** 0: the newest only by default. */
  readonly min_encryption_version: number;
  readonly backup_info?: KeyMoment;
  readonly restore_info?: KeyMoment;
  readonly versions: Readonly<Record<string, KeyVersion>>;
}

const prefix = 'key/';
/** Of keys that are rotated by the clock. */
export const due = dueIndex('due/');
const parse = JSON.parse as (text: string) => TransitKey;

/** The key of a name, if there is one. */
export const findKey = (storage: Storage, name: string): Promise<TransitKey | undefined> =>
  storage.read(prefix + name, parse);

/** The names of keys, bytewise sorted. */
export const listKeys = (storage: Storage, page: Parameters<Storage['list']>[1]): Promise<string[]> =>
  storage.list(prefix, page);

/** As findKey; throws `invalid` with `text` when absent, and when the key was deleted softly. */
export async function requireKey(storage: Storage, name: string, text: string): Promise<TransitKey> {
  return usable((await findKey(storage, name)) ?? refuse(text));
}

/** The same key; throws `invalid` when it was deleted softly. */
export const usable = (key: TransitKey): TransitKey =>
  key.soft_deleted ? refuse('refusing to use soft-deleted key') : key;

/**
 * Decides about a key when it is its turn, and stores what `change` makes of it; null deletes it, and the same key is left
 * as it is. Nothing is lost of changes at the same moment, on any node.
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

/** What clients know of a version that is no longer accepted. */
export const tooOld = 'ciphertext or signature version is disallowed by policy (too old)';

/** The numbers of the versions that still decrypt and verify. */
export const acceptedVersions = ({ versions, min_decryption_version: least }: TransitKey): readonly number[] =>
  Object.keys(versions)
    .map(Number)
    .filter((number) => number >= least);

/** The key with a version that was made here; from then on no more can be imported. */
export const rotated = (key: TransitKey, made: KeyVersion): TransitKey => ({
  ...withVersion(key, made),
  imported_key: false,
});

/** The key with one more version. */
export function withVersion(key: TransitKey, version: KeyVersion): TransitKey {
  const latest_version = key.latest_version + 1;
  return { ...key, latest_version, versions: { ...key.versions, [latest_version]: version } };
}

/** The key without the versions below the least available one. */
export function withoutOldVersions(key: TransitKey): TransitKey {
  const kept = Object.entries(key.versions).filter(([number]) => Number(number) >= key.min_available_version);
  return { ...key, versions: Object.fromEntries(kept) };
}

/** Whether this service may make versions of the key. */
export const rotates = (key: TransitKey): boolean => !key.imported_key || key.imported_key_allow_rotation;

/** When the key is rotated by the clock, epoch seconds; undefined if it is not. */
export function dueAt(key: TransitKey): number | undefined {
  if (key.auto_rotate_period === 0 || key.soft_deleted || !rotates(key)) return undefined;
  return Math.ceil(key.versions[key.latest_version]!.createdAtMs / 1000) + key.auto_rotate_period;
}
