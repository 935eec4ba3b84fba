import { randomUUID } from 'node:crypto';
import { jsonText, parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import type { Soon } from './soon';
import type { Page, Storage } from './storage';

/** Typed records under a storage prefix, one per name. */
export interface Collection<T> {
  find(storage: Storage, name: string): Soon<T | undefined>;
  /**
   * Like find, but throws `invalid` (400) with `text` if absent, because the caller named something that must exist.
   */
  require(storage: Storage, name: string, text?: string): Promise<T>;
  put(storage: Storage, name: string, value: T): void;
  delete(storage: Storage, name: string): void;
  list(storage: Storage, page?: Page): Promise<string[]>;
}

/** One typed record under a fixed storage key. */
export interface Single<T> {
  find(storage: Storage): Soon<T | undefined>;
  /** Like find, but throws `invalid` (400) with `text` if absent. */
  require(storage: Storage, text?: string): Promise<T>;
  put(storage: Storage, value: T): void;
  delete(storage: Storage): void;
}

/** How a mount reaches an outside system; `find` returns it without its generation. */
export interface MountConfiguration<T> extends Single<T> {
  /**
   * The current configuration, if any, and its generation. For a deleted configuration: the generation of the deletion.
   */
  inForce(storage: Storage): Promise<{ readonly value: T | undefined; readonly generation: string }>;
  /** `generation` is set if this write already used a generation with the outside system; see `newGeneration`. */
  put(storage: Storage, value: T, generation?: string): void;
}

/** The records of some names, without those that have been deleted since. */
export async function stillThere<T>(
  names: readonly string[],
  find: (name: string) => Soon<T | undefined>,
): Promise<(readonly [string, T])[]> {
  const found = await Promise.all(names.map(find));
  return names.flatMap((name, i) => (found[i] === undefined ? [] : [[name, found[i]] as const]));
}

/** A unique name for the result of a write. */
export const newGeneration = (): string => randomUUID();

/**
 * Records under `prefix` (which ends in `/`), with the type of `schema`. Stored records were checked when they were
 * written and are not parsed again.
 */
export function collection<S extends z.ZodType>(prefix: string, _schema: S): Collection<z.output<S>> {
  type T = z.output<S>;
  const find = (storage: Storage, name: string) => storage.read(prefix + name, parseExact as (text: string) => T);
  return {
    find,
    async require(storage, name, text) {
      const found = await find(storage, name);
      if (found === undefined) throw new Refusal('invalid', text ?? `${prefix}${name} does not exist`);
      return found;
    },
    put: (storage, name, value) => storage.put(prefix + name, jsonText(value)),
    delete: (storage, name) => storage.delete(prefix + name),
    list: (storage, page) => storage.list(prefix, page),
  };
}

/** One record under `key`, with the type of `schema`. */
export function single<S extends z.ZodType>(key: string, _schema: S): Single<z.output<S>> {
  type T = z.output<S>;
  const find = (storage: Storage) => storage.read(key, parseExact as (text: string) => T);
  return {
    find,
    async require(storage, text) {
      const found = await find(storage);
      if (found === undefined) throw new Refusal('invalid', text ?? `${key} is not configured`);
      return found;
    },
    put: (storage, value) => storage.put(key, jsonText(value)),
    delete: (storage) => storage.delete(key),
  };
}

/**
 * How a mount reaches an outside system, under `key`. Every write and deletion creates a new generation. Nodes cache
 * facts about the system by generation, so no node uses them for a later configuration, even if it is equal. Decision
 * 0186.
 */
export function configuration<S extends z.ZodType<object>>(key: string, schema: S): MountConfiguration<z.output<S>> {
  type T = z.output<S>;
  const record = single(key, schema);
  const afterDeletion = `${key}/generation`;
  const inForce = async (storage: Storage) => {
    const stored = (await record.find(storage)) as (T & { generation?: string }) | undefined;
    if (stored === undefined) {
      const text = await storage.get(afterDeletion);
      return { value: undefined, generation: text === undefined ? '' : (JSON.parse(text) as string) };
    }
    // Records of earlier versions have no generation.
    const { generation = '', ...value } = stored;
    return { value: value as unknown as T, generation };
  };
  const find = async (storage: Storage) => (await inForce(storage)).value;
  return {
    find,
    inForce,
    async require(storage, text) {
      await record.require(storage, text);
      return (await find(storage))!;
    },
    put: (storage, value, generation = newGeneration()) => record.put(storage, { ...value, generation }),
    delete(storage) {
      record.delete(storage);
      storage.put(afterDeletion, JSON.stringify(newGeneration()));
    },
  };
}
