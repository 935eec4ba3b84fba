import { isConnectionLoss } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import { cacheKey } from './entry-rows';
import type { EntryDelete, EntryPut, WriteSet } from './types';
import { isEmpty, needsTransaction } from './write-set';

/** How a set is written: in its own transaction, or merged with others of its lane. */
export type Lane = 'puts' | 'token' | 'mixed' | 'own' | 'intents';

/** The lane of a set: the narrowest that fits everything it writes. */
export function laneOf(set: WriteSet): Lane {
  if (needsTransaction(set)) return 'own';
  if (onlyIntents(set)) return 'intents';
  const others = set.leases.length + set.intents.length + set.settled.length + set.notices.length + set.audit.length;
  if (others > 0 || set.deletes.length > 0 || set.puts.some(isChecked)) return 'mixed';
  if (set.tokens.length === 0 && set.authorities.length <= 1) return 'puts';
  if (set.tokens.length === 1 && set.puts.length === 0 && set.authorities.length === 0) return 'token';
  return 'mixed';
}

/**
 * Sets that write one key share a batch only under the same token: otherwise one might be left out, and the other lost.
 * A condition on the key would not see the write of another set in the batch.
 */
export function claims(owners: Map<string, string>, set: WriteSet): boolean {
  const owner = set.authorities.map((hash) => hash.toString('latin1')).join();
  const writes = [...set.puts, ...set.deletes];
  if (
    writes.some((write) => owners.has(cacheKey(write)) && (isChecked(write) || owners.get(cacheKey(write)) !== owner))
  ) {
    return false;
  }
  for (const write of writes) owners.set(cacheKey(write), isChecked(write) ? CHECKED : owner);
  return true;
}

const isChecked = ({ require }: EntryPut | EntryDelete): boolean => require !== undefined;
/** Not a real owner: the second caller for such a key waits for the next batch. */
const CHECKED = 'checked';

/** After a lost connection a write may or may not have been committed. */
export const isLost = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof Refusal && error.kind === 'unavailable');

function onlyIntents(set: WriteSet): boolean {
  return set.intents.length > 0 && isEmpty({ ...set, intents: [] }) && set.authorities.length === 0;
}
