import { LRUCache } from 'lru-cache';
import type { Cache } from './types';

/** Something about to become known: a load or a write under way. What is forgotten meanwhile is not remembered. */
export interface Ticket {
  readonly key: string;
  readonly writes: boolean;
  clean: boolean;
}

export interface CacheOptions<V> {
  readonly maxEntries: number;
  /** Bytes at most, as told by `sizeOf`. */
  readonly maxBytes?: number;
  readonly sizeOf?: (value: V) => number;
  /** False while changes elsewhere may go unheard: then nothing is answered from memory. */
  readonly fresh: () => boolean;
}

/** A remembered answer; `null` is remembered absence. */
interface CachedValue<V> {
  readonly value: V | null;
}

/**
 * A bounded cache that cannot keep an outdated answer: a value is remembered only if its key was not forgotten between
 * the beginning and the end of its load (or write).
 */
export class CoherentCache<V extends object> implements Cache<V> {
  private readonly kept: LRUCache<string, CachedValue<V>>;
  private readonly open = new Map<string, Set<Ticket>>();
  private readonly loading = new Map<string, Promise<V | undefined>>();
  private readonly fresh: () => boolean;

  constructor({ maxEntries, maxBytes, sizeOf, fresh }: CacheOptions<V>) {
    this.fresh = fresh;
    // Every entry counts for its share at least, so that sizes bound the number too: a cache told that number allocates all its
    // places when it is made.
    const [maxSize, share] = maxBytes === undefined ? [maxEntries, 1] : [maxBytes, Math.ceil(maxBytes / maxEntries)];
    this.kept = new LRUCache({
      maxSize,
      sizeCalculation: ({ value }, key) =>
        maxBytes === undefined ? 1 : Math.max(share, key.length + 64 + (value && sizeOf ? sizeOf(value) : 0)),
    });
  }

  get size(): number {
    return this.kept.size;
  }

  peek(key: string): V | null | undefined {
    if (!this.fresh()) return undefined;
    return this.kept.get(key)?.value;
  }

  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    if (!this.fresh()) return load();
    const kept = this.kept.get(key);
    if (kept) return Promise.resolve(kept.value ?? undefined);
    const running = this.loading.get(key);
    if (running) return running;
    const loaded = this.load(key, load).finally(() => {
      // A newer load may have taken the place after a change.
      if (this.loading.get(key) === loaded) this.loading.delete(key);
    });
    this.loading.set(key, loaded);
    return loaded;
  }

  forget(key: string): void {
    this.kept.delete(key);
    // Callers from now on must not get the result of an older load.
    this.loading.delete(key);
    const open = this.open.get(key);
    if (open) for (const ticket of open) ticket.clean = false;
  }

  /** Forgets every key that begins so. Costs a walk over all keys. */
  forgetPrefix(prefix: string): void {
    const keys = new Set([...this.kept.keys(), ...this.loading.keys(), ...this.open.keys()]);
    for (const key of keys) if (key.startsWith(prefix)) this.forget(key);
  }

  clear(): void {
    this.kept.clear();
    this.loading.clear();
    for (const open of this.open.values()) for (const ticket of open) ticket.clean = false;
  }

  /** Opens a ticket. Two writes of one key at the same time leave neither remembered: their order is the database's. */
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

  /** Closes a ticket with what is now true: a value, `null` for absence, `undefined` for not known. */
  settle(ticket: Ticket, value: V | null | undefined): void {
    const open = this.open.get(ticket.key);
    open?.delete(ticket);
    if (open?.size === 0) this.open.delete(ticket.key);
    if (ticket.writes) this.forget(ticket.key);
    if (ticket.clean && value !== undefined && this.fresh()) this.kept.set(ticket.key, { value });
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
