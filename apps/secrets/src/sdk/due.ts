import type { Collection } from './collection';
import type { Storage } from './storage';

/** Names ordered by due time in seconds, so that the first entry shows whether anything is due. */
export interface DueIndex {
  /** Moves a name; undefined removes its time. */
  move(storage: Storage, name: string, before: number | undefined, after: number | undefined): void;
  /** At most 100 names that are due; if no name is due, the next due time. */
  list(storage: Storage, nowMs: number): Promise<{ names: string[]; nextAtMs?: number }>;
}

/** An index of due names, stored below `prefix`, which ends in `/`; times are epoch seconds. */
export function dueIndex(prefix: string): DueIndex {
  const keyOf = (seconds: number, name: string) => `${prefix}${String(seconds).padStart(12, '0')}/${name}`;
  return {
    move(storage, name, before, after) {
      if (before === after) return;
      if (before !== undefined) storage.delete(keyOf(before, name));
      if (after !== undefined) storage.put(keyOf(after, name), 'true');
    },
    async list(storage, nowMs) {
      const [first] = await storage.list(prefix, { limit: 1 });
      if (first === undefined) return { names: [] };
      const nextAtMs = Number.parseInt(first, 10) * 1000;
      return nextAtMs > nowMs ? { names: [], nextAtMs } : { names: await storage.list(prefix + first, { limit: 100 }) };
    },
  };
}

/** Records with a due time. */
export interface DueRecords<T> {
  /**
   * Changes a record. Changes of one record run one after the other. `change` returns undefined to keep it, or null to
   * remove it. Returns the resulting record.
   */
  change(
    storage: Storage,
    name: string,
    change: (before: T | undefined, tx: Storage) => Awaited<T | null | undefined> | Promise<T | null | undefined>,
  ): Promise<T | undefined>;
  /**
   * Runs `work` for all due names, several at a time, and throws the first failure at the end. Returns the next due
   * time in epoch milliseconds.
   */
  forEach(storage: Storage, nowMs: number, work: (name: string) => Promise<unknown>): Promise<number | undefined>;
}

const atOnce = 8;

/**
 * Maintains the index of records below `prefix`, which ends in `/`. `turnOf` returns the lock key for changes to a
 * record.
 */
export function dueRecords<T>(
  records: Collection<T>,
  prefix: string,
  turnOf: (name: string) => string,
  dueAtMs: (record: T) => number,
): DueRecords<T> {
  const due = dueIndex(prefix);
  const secondOf = (record: T | undefined) => (record === undefined ? undefined : Math.ceil(dueAtMs(record) / 1000));
  return {
    change: (storage, name, change) =>
      storage.transaction(turnOf(name), async (tx) => {
        const before = await records.find(tx, name);
        const after = await change(before, tx);
        if (after === undefined) return before;
        due.move(tx, name, secondOf(before), secondOf(after ?? undefined));
        if (after !== null) records.put(tx, name, after);
        else if (before !== undefined) records.delete(tx, name);
        return after ?? undefined;
      }),
    async forEach(storage, nowMs, work) {
      const failures: unknown[] = [];
      for (;;) {
        const { names, nextAtMs } = await due.list(storage, nowMs);
        if (names.length === 0) {
          if (failures.length > 0) break;
          return nextAtMs;
        }
        const next = async () => {
          for (let name = names.pop(); name !== undefined; name = names.pop()) {
            await work(name).catch((error) => failures.push(error));
          }
        };
        const before = failures.length + names.length;
        await Promise.all(Array.from({ length: atOnce }, next));
        // If all of them failed, the rest is left to a later tick.
        if (failures.length >= before) break;
      }
      throw failures[0];
    },
  };
}
