import { Refusal } from '@keystead/refusal';
import type { Collection } from '../../../sdk/collection';
import type { Storage } from '../../../sdk/storage';

/**
 * Changes the identity provider settings of a namespace, one change at a time on all nodes: no setting may be removed
 * while another starts to refer to it.
 */
export function settle<T>(storage: Storage, decide: (tx: Storage) => Promise<T>): Promise<T> {
  return storage.transaction('oidc/settings', decide);
}

/** All records of a kind with their names, sorted by name. */
export async function allOf<T>(storage: Storage, kind: Collection<T>): Promise<[string, T][]> {
  const names = await kind.list(storage);
  const found = await Promise.all(names.map((name) => kind.find(storage, name)));
  return names.flatMap((name, i): [string, T][] => (found[i] === undefined ? [] : [[name, found[i]]]));
}

/** Refuses to remove an object to which other objects refer. */
export function requireUnused(what: string, name: string, who: string, users: readonly string[]): void {
  if (users.length === 0) return;
  refuse(
    `unable to delete ${what} ${JSON.stringify(name)} because it is currently referenced by these ${who}: ${users.join(', ')}`,
  );
}

/** The names without duplicates, in the order of their first appearance. */
export const distinct = (list: readonly string[]): string[] => [...new Set(list)];

/** The names including `name`, sorted as in listings. */
export const withName = (names: readonly string[], name: string): string[] =>
  names.includes(name) ? [...names] : [...names, name].sort();

/** Throws `invalid`. */
export function refuse(text: string): never {
  throw new Refusal('invalid', text);
}
