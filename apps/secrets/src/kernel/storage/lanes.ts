import { isConnectionLoss } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import { cacheKey } from './entry-rows';
import type { WriteSet } from './types';
import { isEmpty, standsAlone } from './write-set';

/** How a set is written: alone, or merged with others of its lane. */
export type Lane = 'puts' | 'token' | 'mixed' | 'alone' | 'intents';

/** The lane of a set: the narrowest that has room for all it writes. */
export function laneOf(set: WriteSet): Lane {
  if (standsAlone(set)) return 'alone';
  if (onlyIntents(set)) return 'intents';
  const others = set.leases.length + set.intents.length + set.settled.length + set.notices.length + set.audit.length;
  if (others > 0 || set.deletes.length > 0) return 'mixed';
  if (set.tokens.length === 0 && set.authorities.length <= 1) return 'puts';
  if (set.tokens.length === 1 && set.puts.length === 0 && set.authorities.length === 0) return 'token';
  return 'mixed';
}

/** Sets that write one key share a batch only under the same token: else one might be left out, and the other lost. */
export function claims(owners: Map<string, string>, set: WriteSet): boolean {
  const owner = set.authorities.map((hash) => hash.toString('latin1')).join();
  const keys = [...set.puts, ...set.deletes].map(cacheKey);
  if (keys.some((key) => (owners.get(key) ?? owner) !== owner)) return false;
  for (const key of keys) owners.set(key, owner);
  return true;
}

/** Whatever was being written in a lost connection may have been committed or not. */
export const isLost = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof Refusal && error.kind === 'unavailable');

function onlyIntents(set: WriteSet): boolean {
  return set.intents.length > 0 && isEmpty({ ...set, intents: [] }) && set.authorities.length === 0;
}
