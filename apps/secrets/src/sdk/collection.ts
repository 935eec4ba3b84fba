import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import type { Page, Storage } from './storage';

/** Typed records under a storage prefix, one per name. */
export interface Collection<T> {
  find(storage: Storage, name: string): Promise<T | undefined>;
  /** As find; throws `invalid` (400) with `text` when absent, because the caller named something that must exist. */
  require(storage: Storage, name: string, text?: string): Promise<T>;
  put(storage: Storage, name: string, value: T): void;
  delete(storage: Storage, name: string): void;
  list(storage: Storage, page?: Page): Promise<string[]>;
}

/** One typed record under a fixed storage key. */
export interface Single<T> {
  find(storage: Storage): Promise<T | undefined>;
  /** As find; throws `invalid` (400) with `text` when absent. */
  require(storage: Storage, text?: string): Promise<T>;
  put(storage: Storage, value: T): void;
  delete(storage: Storage): void;
}

/**
 * Records under `prefix` (which ends in `/`), in the shape of `schema`. The schema documents the shape; stored records
 * were checked when they were written and are not parsed again.
 */
export function collection<S extends z.ZodType>(prefix: string, _schema: S): Collection<z.output<S>> {
  type T = z.output<S>;
  const find = async (storage: Storage, name: string): Promise<T | undefined> => {
    const text = await storage.get(prefix + name);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  };
  return {
    find,
    async require(storage, name, text) {
      const found = await find(storage, name);
      if (found === undefined) throw new Refusal('invalid', text ?? `${prefix}${name} does not exist`);
      return found;
    },
    put: (storage, name, value) => storage.put(prefix + name, JSON.stringify(value)),
    delete: (storage, name) => storage.delete(prefix + name),
    list: (storage, page) => storage.list(prefix, page),
  };
}

/** One record under `key`, in the shape of `schema`. */
export function single<S extends z.ZodType>(key: string, _schema: S): Single<z.output<S>> {
  type T = z.output<S>;
  const find = async (storage: Storage): Promise<T | undefined> => {
    const text = await storage.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  };
  return {
    find,
    async require(storage, text) {
      const found = await find(storage);
      if (found === undefined) throw new Refusal('invalid', text ?? `${key} is not configured`);
      return found;
    },
    put: (storage, value) => storage.put(key, JSON.stringify(value)),
    delete: (storage) => storage.delete(key),
  };
}
