import { randomUUID } from 'node:crypto';
import type { Committer, Entry, EntryKey, EntryReader, WriteSet } from '../kernel/storage/types';
import {
  add,
  addDelete,
  addPrefixDelete,
  addPut,
  isEmpty,
  newWriteSet,
  Pending,
  writesConfig,
} from '../kernel/storage/write-set';
import { type Soon, soon } from '../sdk/soon';
import type { Intent, Page, Storage } from '../sdk/storage';
import type { DecisionQueues, View } from './decision-queues';

/** The number of rows after which other requests get a turn. */
const SCANNED_AT_ONCE = 5000;

/** The dependencies of a call's storage. */
export interface StorageDeps {
  readonly entries: EntryReader;
  readonly committer: Committer;
  readonly decisions: DecisionQueues;
}

/** The additions to the decisions of a call. */
export interface Joining {
  /** Throws if the caller may not make this decision. Its permissions depend on whether the entry exists. */
  judge?(tx: Storage): Promise<void>;
  /** Adds everything to the write set of a decision that must be committed with it. */
  add?(set: WriteSet): void;
  /** Called after a decision of the call was committed. */
  done?(): void;
}

/**
 * The entries of one mount, as seen by a call. Reads include the call's own pending writes, and writes are added to its
 * write set. `prefix` is the caller's private folder if the backend stores per token.
 */
export class CallStorage implements Storage {
  /** Undefined until the first write, because most calls only read. */
  private pending: Pending | undefined;
  /** The keys that the handler of a writing call has read. Writing one of them needs a transaction. */
  private readKeys: Set<string> | undefined;

  constructor(
    private readonly deps: StorageDeps,
    private readonly set: WriteSet,
    private readonly mountId: string,
    private readonly prefix: string,
    /** Whether the first write requires an absent or a present entry, because of the caller's permissions. */
    private guard?: 'absent' | 'present',
    private readonly joining?: Joining,
  ) {}

  get(key: string): Soon<string | undefined> {
    return soon(this.find(this.prefix + key), (found) => (typeof found === 'object' ? textOf(found) : found));
  }

  read<T>(key: string, parse: (text: string) => T): Soon<T | undefined> {
    return soon(this.find(this.prefix + key), (found) => {
      if (typeof found !== 'object') return found === undefined ? undefined : parse(found);
      if (found.memo?.parse !== parse) found.memo = { parse, parsed: deepFrozen(parse(textOf(found))) };
      return found.memo.parsed as T;
    });
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const entryKeys: EntryKey[] = [];
    for (const key of keys) {
      const path = this.prefix + key;
      const pending = this.pending?.value(path);
      if (pending === undefined) entryKeys.push({ mountId: this.mountId, path });
      else if (pending !== null) found.set(key, pending);
    }
    if (this.readKeys) for (const { path } of entryKeys) this.readKeys.add(path);
    const entries = entryKeys.length === 0 ? [] : await this.deps.entries.readMany(entryKeys);
    entries.forEach((entry, i) => {
      if (entry) found.set(entryKeys[i]!.path.slice(this.prefix.length), textOf(entry));
    });
    return found;
  }

  async list(prefix: string, page?: Page): Promise<string[]> {
    const folder = this.prefix + prefix;
    const names = await this.deps.entries.list(this.mountId, folder, page);
    return this.pending ? [...this.pending.names(folder, names)] : names;
  }

  async scan(prefix: string, { after, limit = Number.POSITIVE_INFINITY }: Page = {}): Promise<string[]> {
    if (this.pending) throw new Error('a call that has written cannot scan');
    const { entries } = this.deps;
    const folder = this.prefix + prefix;
    const found: string[] = [];
    let last = after === undefined ? undefined : folder + after;
    while (found.length < limit) {
      const pageSize = Math.min(SCANNED_AT_ONCE, limit - found.length);
      const paths = await entries.listDeep(this.mountId, folder, { after: last, limit: pageSize });
      for (const path of paths) found.push(path.slice(folder.length));
      if (paths.length < pageSize) break;
      last = paths.at(-1);
    }
    return found;
  }

  put(key: string, value: string, parse?: (text: string) => unknown, parsed?: unknown): void {
    const path = this.prefix + key;
    // A write based on a value that was read earlier could overwrite the value of a faster caller.
    if (this.readKeys?.has(path)) throw new Error(`${path} was read: it must be written in a transaction`);
    const memo = parse && { parse, parsed: deepFrozen(parsed) };
    addPut(this.set, { mountId: this.mountId, path, value: Buffer.from(value), memo, require: this.takeGuard() });
    this.pending ??= new Pending();
    this.pending.put(path, value);
  }

  delete(key: string): void {
    const path = this.prefix + key;
    const guard = this.takeGuard();
    addDelete(this.set, { mountId: this.mountId, path, require: guard === 'absent' ? undefined : guard });
    this.pending ??= new Pending();
    this.pending.delete(path);
  }

  deletePrefix(prefix: string): void {
    const full = this.prefix + prefix;
    addPrefixDelete(this.set, { mountId: this.mountId, prefix: full });
    this.pending ??= new Pending();
    this.pending.clear(full);
  }

  async transaction<T>(about: string, run: (tx: Storage) => Promise<T>, asStored = false): Promise<T> {
    const { deps, joining, mountId, prefix } = this;
    // The requirement is checked against the entries that the decision reads.
    this.guard = undefined;
    let writes = false;
    let configures = false;
    const decide = async (view: View): Promise<T> => {
      const tx = this.within(view);
      await joining?.judge?.(tx);
      const value = await run(tx);
      writes = !isEmpty(view.set);
      configures = writesConfig(view.set);
      if (writes) joining?.add?.(view.set);
      return value;
    };
    const result = await deps.decisions.decide({ mountId, path: prefix + about }, decide, asStored);
    if (writes) joining?.done?.();
    if (configures) this.set.configured = true;
    return result;
  }

  async intent(kind: string, undo: Readonly<Record<string, unknown>>): Promise<Intent> {
    const id = randomUUID();
    const set = newWriteSet();
    add(set, 'intents', { id, mountId: this.mountId, kind, undo });
    await this.deps.committer.commit(set);
    add(this.set, 'opened', id);
    return {
      id,
      settle: () => {
        add(this.set, 'settled', id);
      },
      drop: async () => {
        const dropped = newWriteSet();
        add(dropped, 'settled', id);
        await this.deps.committer.commit(dropped);
      },
    };
  }

  undoLater(kind: string, undo: Readonly<Record<string, unknown>>): void {
    add(this.set, 'intents', { id: randomUUID(), mountId: this.mountId, kind, undo, later: true });
  }

  /** From now on the call may write what it has read only in a transaction. */
  watch(): void {
    this.readKeys = new Set();
  }

  /** Finds a value: a pending value as text, a stored value as its entry. */
  private find(path: string): Soon<Entry | string | undefined> {
    const pending = this.pending?.value(path);
    if (pending !== undefined) return pending ?? undefined;
    this.readKeys?.add(path);
    return this.deps.entries.read({ mountId: this.mountId, path });
  }

  /** The mount's entries as a decision sees them. */
  private within({ entries, set, pending }: View): CallStorage {
    const tx = new CallStorage({ ...this.deps, entries }, set, this.mountId, this.prefix);
    tx.pending = pending;
    tx.transaction = (_about, run) => run(tx);
    return tx;
  }

  private takeGuard(): 'absent' | 'present' | undefined {
    const { guard } = this;
    this.guard = undefined;
    return guard;
  }
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}

function textOf(entry: Entry): string {
  return entry.value.toString('utf8');
}
