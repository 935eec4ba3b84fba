import type { EntryDelete, EntryKey, EntryPut, Precondition, PrefixDelete, WriteSet } from './types';

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

function dropEntry(set: WriteSet, dropped: (key: EntryKey) => boolean): void {
  for (const list of [set.puts, set.deletes] as EntryKey[][]) {
    for (let at = list.length - 1; at >= 0; at--) if (dropped(list[at]!)) list.splice(at, 1);
  }
}

/** Intents that the call of a set recorded and the set does not settle. */
export const unsettled = (set: WriteSet): string[] => set.opened.filter((id) => !set.settled.includes(id));

/** True when committing the set would change nothing and tell nobody. */
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

/** True for sets that need a transaction of their own. */
export function standsAlone(set: WriteSet): boolean {
  return (
    set.run.length > 0 ||
    set.prefixes.length > 0 ||
    set.puts.some((put) => put.require !== undefined) ||
    set.deletes.some((entry) => entry.require !== undefined)
  );
}

/** A write found the entry otherwise than its set required; nothing of the set was written. */
export class PreconditionFailed extends Error {
  override readonly name = 'PreconditionFailed';
  constructor(
    readonly mountId: string,
    readonly path: string,
    readonly required: Precondition,
  ) {
    super('an entry changed meanwhile');
  }
}
