import type { Soon } from '../../../sdk/soon';
import type { Storage } from '../../../sdk/storage';

/** The stored records of one kind. */
export interface Records<T> {
  find(storage: Storage, id: string): Soon<T | undefined>;
  put(storage: Storage, id: string, value: T): void;
  delete(storage: Storage, id: string): void;
  /** Changes a record, one change at a time. If the change returns the same value or undefined, nothing is written. */
  change<R extends T | undefined>(
    storage: Storage,
    id: string,
    change: (found: T | undefined, tx: Storage) => Promise<R> | R,
  ): Promise<R>;
}

/** Records of one kind; `prefix` ends in `/`. */
export function records<T extends object>(prefix: string): Records<T> {
  const parse = JSON.parse as (text: string) => T;
  const find = (storage: Storage, id: string) => storage.read(prefix + id, parse);
  const put = (storage: Storage, id: string, value: T) => storage.put(prefix + id, JSON.stringify(value));
  return {
    find,
    put,
    delete: (storage, id) => storage.delete(prefix + id),
    change: (storage, id, change) =>
      storage.transaction(prefix + id, async (tx) => {
        const before = await find(tx, id);
        const after = await change(before, tx);
        if (after && after !== before) put(tx, id, after);
        return after;
      }),
  };
}
