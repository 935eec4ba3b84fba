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

/** Adds a write; what the set did to the same entry before counts no more. */
export function addPut(set: WriteSet, put: EntryPut): void {
  dropEntry(set, ({ mountId, path }) => mountId === put.mountId && path === put.path);
  set.puts.push(put);
}

/** Adds a removal; what the set did to the same entry before counts no more. */
export function addDelete(set: WriteSet, gone: EntryDelete): void {
  dropEntry(set, ({ mountId, path }) => mountId === gone.mountId && path === gone.path);
  set.deletes.push(gone);
}

/** Adds the removal of a prefix; what the set wrote below it before counts no more. */
export function addPrefixDelete(set: WriteSet, gone: PrefixDelete): void {
  dropEntry(set, ({ mountId, path }) => mountId === gone.mountId && path.startsWith(gone.prefix));
  set.prefixes.push(gone);
}

/** Adds all that another set does, after what this one does. */
export function joinSet(set: WriteSet, later: WriteSet): void {
  for (const prefix of later.prefixes) addPrefixDelete(set, prefix);
  for (const put of later.puts) addPut(set, put);
  for (const gone of later.deletes) addDelete(set, gone);
  const lists = ['tokens', 'leases', 'intents', 'settled', 'opened', 'notices', 'audit', 'run', 'authorities'] as const;
  for (const list of lists) (set[list] as unknown[]).push(...later[list]);
}

function dropEntry(set: WriteSet, dropped: (key: EntryKey) => boolean): void {
  for (const list of [set.puts, set.deletes] as EntryKey[][]) {
    for (let at = list.length - 1; at >= 0; at--) if (dropped(list[at]!)) list.splice(at, 1);
  }
}

/** Intents that the call of a set recorded and the set does not settle. */
export const unsettled = (set: WriteSet): string[] => set.opened.filter((id) => !set.settled.includes(id));

/** True when committing the set would change nothing and send no notice. */
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

/** True when the set writes how the system behind its mount is reached. */
export function writesConfig({ puts, deletes }: WriteSet): boolean {
  const isConfig = ({ path }: EntryKey): boolean => path.startsWith('config/');
  return puts.some(isConfig) || deletes.some(isConfig);
}

/** True for sets that need their own transaction. */
export const needsTransaction = (set: WriteSet): boolean => set.run.length > 0 || set.prefixes.length > 0;

/** Writes found their entries otherwise than their sets required; nothing of those sets was written. */
export class PreconditionFailed extends Error {
  override readonly name = 'PreconditionFailed';
  constructor(
    /** Of the entries, as the cache names them. */
    readonly keys: ReadonlySet<string>,
  ) {
    super('an entry changed meanwhile');
  }
}
