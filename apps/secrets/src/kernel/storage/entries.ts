import type { Cell } from '@keystead/keyring';
import { gather } from '@keystead/postgres';
import type { Soon } from '../../sdk/soon';
import type { CoherentCache } from './cache';
import type { Database, ObserveStorage } from './database';
import { mapInSlices } from './slices';
import * as sql from './statements';
import type { Barrier, Clock, Entry, EntryKey, EntryReader, EntryStore, ListPage, Tx } from './types';

export interface EntriesOptions {
  readonly database: Database;
  readonly barrier: Barrier;
  readonly cache: CoherentCache<Entry>;
  readonly clock: Clock;
  /** Called if a value was sealed with a key that this node does not have yet; then the read is repeated. */
  readonly reloadKeys: () => Promise<boolean>;
  readonly observe?: ObserveStorage;
}

const ALL = 1_000_000_000;

/** Entries of the database, cached in decrypted form. `CoherentCache` ensures that no outdated value remains. */
export class DatabaseEntries implements EntryStore {
  /** Simultaneous reads share a statement. */
  private readonly row = gather<EntryKey, EntryRow>((keys) => this.rows(keys), {
    name: 'entries',
    inFlight: 4,
    most: 16,
  });

  constructor(private readonly options: EntriesOptions) {}

  read(key: EntryKey): Soon<Entry | undefined> {
    const entry = this.options.cache.get(cacheKey(key), () => this.load(key));
    return entry instanceof Promise ? entry.then((loaded) => this.living(loaded)) : this.living(entry);
  }

  async readMany(keys: readonly EntryKey[]): Promise<(Entry | undefined)[]> {
    const { cache } = this.options;
    const found = new Map<string, Entry | undefined>();
    const missing: EntryKey[] = [];
    for (const key of keys) {
      const cached = cache.peek(cacheKey(key));
      if (cached === undefined) missing.push(key);
      else found.set(cacheKey(key), cached ?? undefined);
    }
    if (missing.length > 0) {
      const tickets = missing.map((key) => cache.begin(cacheKey(key), false));
      let loaded: Map<string, Entry> | undefined;
      try {
        loaded = await this.loadMany(missing);
        for (const key of missing) found.set(cacheKey(key), loaded.get(cacheKey(key)));
      } finally {
        for (const ticket of tickets) cache.settle(ticket, loaded ? (loaded.get(ticket.key) ?? null) : undefined);
      }
    }
    return keys.map((key) => this.living(found.get(cacheKey(key))));
  }

  within(tx: Tx): EntryReader {
    const read = async ({ mountId, path }: EntryKey): Promise<Entry | undefined> => {
      await tx.query(sql.HOLD_ENTRY, [mountId, path]);
      const { rows } = await tx.query<EntryRow>(sql.READ_ENTRY, [mountId, path, this.options.clock.now()]);
      return rows[0] && this.open(rows[0]);
    };
    return {
      read,
      async readMany(keys) {
        const entries: (Entry | undefined)[] = [];
        for (const key of keys) entries.push(await read(key));
        return entries;
      },
      list: (mountId, prefix, page) => listNames(tx, { mountId, prefix, nowMs: this.options.clock.now() }, page),
      listDeep: (mountId, prefix, page) => this.pathsIn(tx, mountId, prefix, page),
    };
  }

  async list(mountId: string, prefix: string, page?: ListPage): Promise<string[]> {
    const { database, clock, observe } = this.options;
    const start = performance.now();
    const names = await listNames(database, { mountId, prefix, nowMs: clock.now() }, page);
    observe?.('list', (performance.now() - start) / 1000);
    return names;
  }

  listDeep(mountId: string, prefix: string, page?: ListPage): Promise<string[]> {
    return this.pathsIn(this.options.database, mountId, prefix, page);
  }

  /** The number of a mount's entries, and their stored size in bytes. */
  async weigh(mountId: string): Promise<{ readonly count: number; readonly bytes: number }> {
    const { rows } = await this.options.database.query<{ count: string; bytes: string }>(sql.WEIGH, [mountId]);
    return { count: Number(rows[0]!.count), bytes: Number(rows[0]!.bytes) };
  }

  private async pathsIn(database: Tx, mountId: string, prefix: string, page: ListPage = {}): Promise<string[]> {
    const start = page.after === undefined ? prefix : `${page.after}\u0001`;
    const { rows } = await database.query<{ path: string }>(sql.LIST_DEEP, [
      mountId,
      prefix,
      prefixEnd(prefix),
      start,
      page.limit ?? ALL,
      this.options.clock.now(),
    ]);
    return rows.map((row) => row.path);
  }

  private living(entry: Entry | undefined): Entry | undefined {
    return entry?.expiresAtMs !== undefined && entry.expiresAtMs <= this.options.clock.now() ? undefined : entry;
  }

  private async load(key: EntryKey): Promise<Entry | undefined> {
    const { observe } = this.options;
    const start = performance.now();
    const row = await this.row(key);
    observe?.('read', (performance.now() - start) / 1000);
    return row && this.open(row);
  }

  private async loadMany(keys: readonly EntryKey[]): Promise<Map<string, Entry>> {
    const rows = [...(await this.rows(keys)).values()];
    const entries = await mapInSlices(rows, (row) => this.open(row));
    return new Map(entries.map((entry) => [cacheKey(entry), entry]));
  }

  private async rows(keys: readonly EntryKey[]): Promise<Map<EntryKey, EntryRow>> {
    const { database, clock } = this.options;
    const values = [keys.map((key) => key.mountId), keys.map((key) => key.path), clock.now()];
    const { rows } = await database.query<EntryRow>(sql.READ_ENTRIES, values);
    const byPlace = new Map(rows.map((row) => [`${row.mount_id}/${row.path}`, row]));
    return new Map(
      keys.flatMap((key) => {
        const row = byPlace.get(cacheKey(key));
        return row ? [[key, row] as const] : [];
      }),
    );
  }

  private async open(row: EntryRow): Promise<Entry> {
    const { barrier, reloadKeys } = this.options;
    try {
      return openEntry(barrier, row);
    } catch (error) {
      if (barrier.sealed || !(await reloadKeys())) throw error;
      return openEntry(barrier, row);
    }
  }
}

/** A row of the entry table with its witness. */
export interface EntryRow {
  mount_id: string;
  path: string;
  revision: number;
  sealed: Buffer;
  expires_at_ms: string | null;
  stamp: Buffer | null;
}

/** The number of bytes at the end of a sealed value that are also stored in its witness. */
const STAMP_BYTES = 16;

/** The database was changed by hand: a value is in the wrong row, or is not the newest value. */
class TamperedEntry extends Error {
  override readonly name = 'TamperedEntry';
  constructor(key: EntryKey, reason: string, cause?: unknown) {
    super(`stored entry ${key.mountId}/${key.path} ${reason}`, { cause });
  }
}

/** The name of an entry in caches and change notices. */
export const cacheKey = (key: EntryKey): string => `${key.mountId}/${key.path}`;

/** The cell of an entry's value; binds it to its row. */
export const entryCell = (key: EntryKey): Cell => ({ table: 'entry', row: cacheKey(key), column: 'sealed' });

/** The first string after all strings with a prefix; null if there is none. */
export function prefixEnd(prefix: string): string | null {
  for (let end = prefix.length; end > 0; end--) {
    const code = prefix.charCodeAt(end - 1);
    // Surrogates and the last code unit have no character as successor.
    if (code < 0xd7ff) return prefix.slice(0, end - 1) + String.fromCharCode(code + 1);
  }
  return null;
}

/** Decrypts a row. Throws `TamperedEntry` if the row was swapped, altered, or replaced by an older one. */
function openEntry(barrier: Barrier, row: EntryRow): Entry {
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
    throw new TamperedEntry(key, 'cannot be decrypted in this row', error);
  }
  const entry: Entry = { ...key, value, memo: undefined, revision: row.revision };
  return row.expires_at_ms === null ? entry : { ...entry, expiresAtMs: Number(row.expires_at_ms) };
}

/** The folder to list. */
interface Folder {
  readonly mountId: string;
  readonly prefix: string;
  readonly nowMs: number;
}

/** The number of rows that are read the first time, and each further time. */
const FIRST_ROWS = 1000;
const ROWS = 5000;
/**
 * The number of folders that are read at a time if they contain too many rows to read all of them.
 */
const SKIPPED = 100;
/** Rows are read as long as at least one row in this number yields a new name. */
const WORTH = 8;

/**
 * Names directly under a folder, sorted bytewise: entries, and folders with a slash, without duplicates.
 *
 * Reading rows in order costs a millisecond per thousand rows. Skipping a folder costs twenty times that for each name,
 * regardless of the number of rows in between. So rows are read as long as they yield names; otherwise folders are
 * skipped.
 */
async function listNames(database: Tx, folder: Folder, page: ListPage = {}): Promise<string[]> {
  const { mountId, prefix, nowMs } = folder;
  const limit = page.limit ?? Number.POSITIVE_INFINITY;
  const names: string[] = [];
  let start = page.after === undefined ? '' : behind(page.after);
  let rowsAtOnce = FIRST_ROWS;
  const values = (count: number) => [mountId, prefix, prefixEnd(prefix), prefix + start, count, nowMs];
  while (names.length < limit) {
    const pageSize = Math.min(limit - names.length, rowsAtOnce);
    const { rows } = await database.query<{ rest: string }>(sql.LIST_RANGE, values(pageSize));
    const before = names.length;
    for (const { rest } of rows) {
      const slash = rest.indexOf('/');
      const name = slash < 0 ? rest : rest.slice(0, slash + 1);
      if (name !== names.at(-1)) names.push(name);
    }
    if (rows.length < pageSize) break;
    start = behind(names.at(-1)!);
    rowsAtOnce = ROWS;
    if ((names.length - before) * WORTH >= rows.length) continue;
    const count = Math.min(limit - names.length, SKIPPED);
    if (count <= 0) break;
    const skipped = await database.query<{ name: string }>(sql.LIST_ENTRIES, values(count));
    for (const { name } of skipped.rows) names.push(name);
    if (skipped.rows.length < count) break;
    start = behind(names.at(-1)!);
  }
  return names;
}

/**
 * The position at which a listing continues after a name: after the content of a folder, or directly after an entry.
 */
const behind = (name: string): string => (name.endsWith('/') ? `${name.slice(0, -1)}0` : `${name}\u0001`);
