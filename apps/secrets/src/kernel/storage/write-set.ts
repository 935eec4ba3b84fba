import type { EntryDelete, EntryKey, EntryPut, PrefixDelete, WriteSet } from './types';

/** An empty write set, to be filled in place. */
export function newWriteSet(): WriteSet {
  return {
    puts: [],
    deletes: [],
    prefixes: [],
    tokens: [],
    leases: [],
    intents: [],
    settled: [],
    opened: [],
    notices: [],
    audit: [],
    run: [],
    authorities: [],
  };
}

/** Adds a write, replacing the set's earlier changes of the entry. */
export function addPut(set: WriteSet, put: EntryPut): void {
  dropEntry(set, ({ mountId, path }) => mountId === put.mountId && path === put.path);
  set.puts.push(put);
}

/** Adds a removal, replacing the set's earlier changes of the entry. */
export function addDelete(set: WriteSet, deletion: EntryDelete): void {
  dropEntry(set, ({ mountId, path }) => mountId === deletion.mountId && path === deletion.path);
  set.deletes.push(deletion);
}

/** Adds the removal of a prefix, replacing the set's earlier writes below it. */
export function addPrefixDelete(set: WriteSet, deletion: PrefixDelete): void {
  dropEntry(set, ({ mountId, path }) => mountId === deletion.mountId && path.startsWith(deletion.prefix));
  set.prefixes.push(deletion);
}

/** Adds everything from another set, after this one's changes. */
export function joinSet(set: WriteSet, later: WriteSet): void {
  for (const prefix of later.prefixes) addPrefixDelete(set, prefix);
  for (const put of later.puts) addPut(set, put);
  for (const deletion of later.deletes) addDelete(set, deletion);
  const lists = ['tokens', 'leases', 'intents', 'settled', 'opened', 'notices', 'audit', 'run', 'authorities'] as const;
  for (const list of lists) (set[list] as unknown[]).push(...later[list]);
}

function dropEntry(set: WriteSet, dropped: (key: EntryKey) => boolean): void {
  for (const list of [set.puts, set.deletes] as EntryKey[][]) {
    for (let at = list.length - 1; at >= 0; at--) if (dropped(list[at]!)) list.splice(at, 1);
  }
}

/** Recorded intents of the call that the set does not settle. */
export const unsettled = (set: WriteSet): string[] => set.opened.filter((id) => !set.settled.includes(id));

/** True if committing the set would change nothing and send no notice. */
export function isEmpty(set: WriteSet): boolean {
  return (
    set.puts.length === 0 &&
    set.deletes.length === 0 &&
    set.prefixes.length === 0 &&
    set.tokens.length === 0 &&
    set.leases.length === 0 &&
    set.intents.length === 0 &&
    set.settled.length === 0 &&
    set.notices.length === 0 &&
    set.audit.length === 0 &&
    set.run.length === 0
  );
}

/** True if the set writes the configuration of its mount's outside system. */
export function writesConfig({ puts, deletes }: WriteSet): boolean {
  const isConfig = ({ path }: EntryKey): boolean => path.startsWith('config/');
  return puts.some(isConfig) || deletes.some(isConfig);
}

/** True for sets that need their own transaction. */
export const needsTransaction = (set: WriteSet): boolean => set.run.length > 0 || set.prefixes.length > 0;

/** Entries did not meet the conditions of their sets; nothing of those sets was written. */
export class PreconditionFailed extends Error {
  override readonly name = 'PreconditionFailed';
  constructor(
    /** The cache keys of the entries. */
    readonly keys: ReadonlySet<string>,
  ) {
    super('an entry changed meanwhile');
  }
}
