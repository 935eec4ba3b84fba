import { LRUCache } from 'lru-cache';
import type { Soon } from '../../sdk/soon';
import type { Cache } from './types';

/** A pending load or write. If its key is forgotten in the meantime, the result is not cached. */
export interface Ticket {
  readonly key: string;
  readonly writes: boolean;
  clean: boolean;
}

export interface CacheOptions<V> {
  readonly maxEntries: number;
  /** The maximum number of bytes, as returned by `sizeOf`. */
  readonly maxBytes?: number;
  readonly sizeOf?: (value: V) => number;
  /** False while notices of changes may be missing: then the cache is not used. */
  readonly fresh: () => boolean;
}

/** A cached answer; `null` means known to be absent. */
interface CachedValue<V> {
  readonly value: V | null;
}

// Without options, each look-up would create an object.
const usual = {};

/**
 * A bounded cache that cannot keep an outdated answer: a value is cached only if its key was not forgotten between the
 * start and the end of its load (or write).
 */
export class CoherentCache<V extends object> implements Cache<V> {
  private readonly values: LRUCache<string, CachedValue<V>>;
  private readonly open = new Map<string, Set<Ticket>>();
  private readonly loading = new Map<string, Promise<V | undefined>>();
  private readonly fresh: () => boolean;

  constructor({ maxEntries, maxBytes, sizeOf, fresh }: CacheOptions<V>) {
    this.fresh = fresh;
    // Every entry has at least a minimum size, so that sizes also limit the number of entries. If LRUCache were given a
    // maximum number, it would allocate all places at once.
    const [maxSize, share] = maxBytes === undefined ? [maxEntries, 1] : [maxBytes, Math.ceil(maxBytes / maxEntries)];
    this.values = new LRUCache({
      maxSize,
      // Without this limit, a few long values would evict all others.
      ...(maxBytes !== undefined && { maxEntrySize: maxBytes / 32 }),
      sizeCalculation: ({ value }, key) =>
        maxBytes === undefined ? 1 : Math.max(share, key.length + 64 + (value && sizeOf ? sizeOf(value) : 0)),
    });
  }

  get size(): number {
    return this.values.size;
  }

  peek(key: string): V | null | undefined {
    if (!this.fresh()) return undefined;
    return this.values.get(key, usual)?.value;
  }

  /** The cached value, or the promise of the value while it is loaded. */
  get(key: string, load: () => Promise<V | undefined>): Soon<V | undefined> {
    if (!this.fresh()) return load();
    const cached = this.values.get(key, usual);
    if (cached) return cached.value ?? undefined;
    const running = this.loading.get(key);
    if (running) return running;
    const loaded = this.load(key, load).finally(() => {
      // After a change, a newer load may have replaced this load.
      if (this.loading.get(key) === loaded) this.loading.delete(key);
    });
    this.loading.set(key, loaded);
    return loaded;
  }

  forget(key: string): void {
    this.values.delete(key);
    // Later callers must not get the result of an older load.
    this.loading.delete(key);
    const open = this.open.get(key);
    if (open) for (const ticket of open) ticket.clean = false;
  }

  /** Forgets every key with this prefix. Scans all keys. */
  forgetPrefix(prefix: string): void {
    const keys = new Set([...this.values.keys(), ...this.loading.keys(), ...this.open.keys()]);
    for (const key of keys) if (key.startsWith(prefix)) this.forget(key);
  }

  clear(): void {
    this.values.clear();
    this.loading.clear();
    for (const open of this.open.values()) for (const ticket of open) ticket.clean = false;
  }

  /**
   * Opens a ticket. Of two simultaneous writes of one key, neither is cached, because only the database knows their
   * order.
   */
  begin(key: string, writes: boolean): Ticket {
    const ticket: Ticket = { key, writes, clean: true };
    const open = this.open.get(key);
    if (!open) {
      this.open.set(key, new Set([ticket]));
      return ticket;
    }
    if (writes) {
      for (const other of open) {
        if (!other.writes) continue;
        other.clean = false;
        ticket.clean = false;
      }
    }
    open.add(ticket);
    return ticket;
  }

  /** Closes a ticket with the result: a value, `null` for absence, `undefined` for unknown. */
  settle(ticket: Ticket, value: V | null | undefined): void {
    const open = this.open.get(ticket.key);
    open?.delete(ticket);
    if (open?.size === 0) this.open.delete(ticket.key);
    if (ticket.writes) this.forget(ticket.key);
    if (ticket.clean && value !== undefined && this.fresh()) this.values.set(ticket.key, { value });
  }

  private async load(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const ticket = this.begin(key, false);
    let value: V | null | undefined;
    try {
      value = (await load()) ?? null;
      return value ?? undefined;
    } finally {
      this.settle(ticket, value);
    }
  }
}
