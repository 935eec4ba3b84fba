import type { Notice, WriteSet } from './types';

/** Ends the key of a notice for all entries under a prefix; no path can contain it. */
export const PREFIX_MARK = '\t';

/** Tells other nodes to forget entries. */
export const entryNotices = (keys: Iterable<string>): Notice[] => [...keys].map((key) => ({ topic: 'entry', key }));

/** Tells nodes to forget all entries of a mount. */
export const mountEntriesNotice = (mountId: string): Notice => ({ topic: 'entry', key: `${mountId}/${PREFIX_MARK}` });

/** Everything that other nodes must forget after these entries are written. */
export function noticesOf(sets: readonly WriteSet[], keys: Iterable<string>): Notice[] {
  const notices = entryNotices(keys);
  for (const set of sets) {
    notices.push(...set.notices);
    for (const { mountId, prefix } of set.prefixes) {
      notices.push({ topic: 'entry', key: `${mountId}/${prefix}${PREFIX_MARK}` });
    }
  }
  return notices;
}
