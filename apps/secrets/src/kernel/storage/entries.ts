import type { CoherentCache } from './cache';
import type { Database, ObserveStorage } from './database';
import { cacheKey, type EntryRow, openEntry, prefixEnd } from './entry-rows';
import { listNames } from './list-names';
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

/** Entries of the database, cached decrypted; see `CoherentCache` for why no outdated answer stays. */
export class DatabaseEntries implements EntryStore {
  constructor(private readonly options: EntriesOptions) {}

  read(key: EntryKey): Promise<Entry | undefined> {
    const { cache } = this.options;
    return cache.get(cacheKey(key), () => this.load(key)).then((entry) => this.living(entry));
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
    const { database, clock, observe } = this.options;
    const start = performance.now();
    const { rows } = await database.query<EntryRow>(sql.READ_ENTRY, [key.mountId, key.path, clock.now()]);
    observe?.('read', (performance.now() - start) / 1000);
    return rows[0] && this.open(rows[0]);
  }

  private async loadMany(keys: readonly EntryKey[]): Promise<Map<string, Entry>> {
    const { database, clock } = this.options;
    const values = [keys.map((key) => key.mountId), keys.map((key) => key.path), clock.now()];
    const { rows } = await database.query<EntryRow>(sql.READ_ENTRIES, values);
    const entries = await mapInSlices(rows, (row) => this.open(row));
    return new Map(entries.map((entry) => [cacheKey(entry), entry]));
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
