import type { Cell } from '@keystead/keyring';
import type { Barrier, Entry, EntryKey } from './types';

/** A row of the entry table with its witness. */
export interface EntryRow {
  mount_id: string;
  path: string;
  revision: number;
  sealed: Buffer;
  expires_at_ms: string | null;
  stamp: Buffer | null;
}

/** Bytes at the end of a sealed value that its witness repeats. */
const STAMP_BYTES = 16;

/** The database was changed by hand: a value is not at its place, or is not the newest. */
class TamperedEntry extends Error {
  override readonly name = 'TamperedEntry';
  constructor(key: EntryKey, reason: string, cause?: unknown) {
    super(`stored entry ${key.mountId}/${key.path} ${reason}`, { cause });
  }
}

export const cacheKey = (key: EntryKey): string => `${key.mountId}/${key.path}`;

/** The cell of an entry's value; binds it to its row. */
export const entryCell = (key: EntryKey): Cell => ({ table: 'entry', row: cacheKey(key), column: 'sealed' });

/** The first text after all those with a prefix; null if there is no such text. */
export function prefixEnd(prefix: string): string | null {
  for (let end = prefix.length; end > 0; end--) {
    const code = prefix.charCodeAt(end - 1);
    // Surrogates and the last code unit have no character as successor.
    if (code < 0xd7ff) return prefix.slice(0, end - 1) + String.fromCharCode(code + 1);
  }
  return null;
}

/** Decrypts a row. Throws `TamperedEntry` if the row was swapped, altered, or replaced by an older one. */
export function openEntry(barrier: Barrier, row: EntryRow): Entry {
  const key = { mountId: row.mount_id, path: row.path };
  const stamp = row.sealed.subarray(row.sealed.length - STAMP_BYTES);
  const rewritten = row.revision > 1;
  if (rewritten !== (row.stamp !== null) || (row.stamp && !row.stamp.equals(stamp))) {
    throw new TamperedEntry(key, 'is not the version that was written last');
  }
  let value: Buffer;
  try {
    value = barrier.open(row.sealed, entryCell(key));
  } catch (error) {
    if (barrier.sealed) throw error;
    throw new TamperedEntry(key, 'cannot be decrypted where it lies', error);
  }
  const entry: Entry = { ...key, value, revision: row.revision };
  return row.expires_at_ms === null ? entry : { ...entry, expiresAtMs: Number(row.expires_at_ms) };
}
