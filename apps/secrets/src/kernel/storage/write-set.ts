import type { EntryDelete, EntryKey, EntryPut, Notice, PrefixDelete, WriteSet } from './types';

const nothing: readonly never[] = Object.freeze([]);

/** An empty write set, to be filled in place. */
export function newWriteSet(): WriteSet {
  return {
    puts: nothing,
    deletes: nothing,
    prefixes: nothing,
    tokens: nothing,
    leases: nothing,
    intents: nothing,
    settled: nothing,
    opened: nothing,
    configured: false,
    notices: nothing,
    audit: nothing,
    run: nothing,
    authorities: nothing,
  };
}

type ListName = Exclude<keyof WriteSet, 'configured'>;

/** Adds an item to a list of a set. Entries have separate functions. */
export function add<Name extends ListName>(set: WriteSet, name: Name, item: WriteSet[Name][number]): void {
  const list = set[name] as unknown[];
  if (list === (nothing as unknown)) (set as Record<ListName, unknown>)[name] = [item];
  else list.push(item);
}

/** Adds a write, replacing the set's earlier changes of the entry. */
export function addPut(set: WriteSet, put: EntryPut): void {
  dropEntry(set, ({ mountId, path }) => mountId === put.mountId && path === put.path);
  add(set, 'puts', put);
}

/** Adds a removal, replacing the set's earlier changes of the entry. */
export function addDelete(set: WriteSet, deletion: EntryDelete): void {
  dropEntry(set, ({ mountId, path }) => mountId === deletion.mountId && path === deletion.path);
  add(set, 'deletes', deletion);
}

/** Adds the removal of a prefix, replacing the set's earlier writes below it. */
export function addPrefixDelete(set: WriteSet, deletion: PrefixDelete): void {
  dropEntry(set, ({ mountId, path }) => mountId === deletion.mountId && path.startsWith(deletion.prefix));
  add(set, 'prefixes', deletion);
}

/** Adds everything from another set, whose changes come after those of this set. */
export function joinSet(set: WriteSet, later: WriteSet): void {
  for (const prefix of later.prefixes) addPrefixDelete(set, prefix);
  for (const put of later.puts) addPut(set, put);
  for (const deletion of later.deletes) addDelete(set, deletion);
  const lists = ['tokens', 'leases', 'intents', 'settled', 'opened', 'notices', 'audit', 'run', 'authorities'] as const;
  for (const list of lists) for (const item of later[list]) add(set, list, item);
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

/** True if the call writes the configuration of its mount's outside system, in the set or in a decision. */
export function writesConfig({ puts, deletes, configured }: WriteSet): boolean {
  const isConfig = ({ path }: EntryKey): boolean => path === 'config' || path.startsWith('config/');
  return configured || puts.some(isConfig) || deletes.some(isConfig);
}

/** True for sets that need their own transaction. */
export const needsTransaction = (set: WriteSet): boolean => set.run.length > 0 || set.prefixes.length > 0;

/** Some entries did not meet the conditions of their sets. Nothing of these sets was written. */
export class PreconditionFailed extends Error {
  override readonly name = 'PreconditionFailed';
  constructor(
    /** The cache keys of the entries. */
    readonly keys: ReadonlySet<string>,
  ) {
    super('an entry has changed in the meantime');
  }
}

/**
 * Uncommitted writes of one mount that reads must already see, including writes of others that will be committed before
 * them.
 */
export class Pending {
  /** Values by path; null for deleted. */
  private readonly values = new Map<string, string | null>();
  private readonly cleared: string[] = [];

  constructor(private readonly before?: Pending) {}

  /** The future value of a path; null if it will not exist, undefined if no write is pending. */
  value(path: string): string | null | undefined {
    const own = this.values.get(path);
    if (own !== undefined) return own;
    return this.cleared.some((prefix) => path.startsWith(prefix)) ? null : this.before?.value(path);
  }

  put(path: string, value: string): void {
    this.values.set(path, value);
  }

  delete(path: string): void {
    this.values.set(path, null);
  }

  /** Deletes every path that begins with a prefix. */
  clear(prefix: string): void {
    for (const path of this.values.keys()) if (path.startsWith(prefix)) this.values.delete(path);
    this.cleared.push(prefix);
  }

  /** Adds later writes, which replace earlier ones. */
  add(later: Pending): void {
    for (const prefix of later.cleared) this.clear(prefix);
    for (const [path, value] of later.values) this.values.set(path, value);
  }

  /** The future names of a folder, from its current ones; sorted bytewise. */
  names(folder: string, now: readonly string[]): readonly string[] {
    const before = this.before?.names(folder, now) ?? now;
    if (this.values.size === 0 && this.cleared.length === 0) return before;
    const remaining = new Set(
      before.filter((name) => {
        const path = folder + name;
        return this.values.get(path) !== null && !this.cleared.some((prefix) => path.startsWith(prefix));
      }),
    );
    for (const [path, value] of this.values) {
      if (value === null || !path.startsWith(folder)) continue;
      const slash = path.indexOf('/', folder.length);
      remaining.add(slash < 0 ? path.slice(folder.length) : path.slice(folder.length, slash + 1));
    }
    return [...remaining].sort();
  }
}

/** The end of the key of a notice for all entries under a prefix; no path can contain it. */
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
