import type { Storage } from './storage';

/** Names ordered by their due time in seconds: the first entry shows whether anything is due. */
export interface DueIndex {
  /** Moves a name; undefined removes its time. */
  move(storage: Storage, name: string, before: number | undefined, after: number | undefined): void;
  /** Some names that are due; at most 100. */
  list(storage: Storage, nowMs: number): Promise<string[]>;
}

/** Stores them below `prefix`, which ends in `/`; times are epoch seconds. */
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
      if (first === undefined || Number.parseInt(first, 10) * 1000 > nowMs) return [];
      return storage.list(prefix + first, { limit: 100 });
    },
  };
}
