import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import type {
  Committer,
  Entry,
  EntryKey,
  EntryStore,
  Precondition as RowPrecondition,
  WriteSet,
} from '../kernel/storage/types';
import { addDelete, addPrefixDelete, addPut, newWriteSet, PreconditionFailed } from '../kernel/storage/write-set';
import type { Intent, Page, Precondition, Storage } from '../sdk/storage';

/** What a call's storage stands on. */
export interface StorageGround {
  readonly entries: EntryStore;
  readonly committer: Committer;
}

const transactionAttempts = 10;

/**
 * One mount's entries as one call sees them: reads through its own pending writes, writes into its write set.
 * `prefix` is the caller's private folder where the backend stores per token.
 */
export class CallStorage implements Storage {
  /** What this call read, to notice when it changed before the commit. */
  private readonly seen = new Map<string, Entry | undefined>();
  /** Pending values by path; null for deleted. Undefined until the first write. */
  private pending: Map<string, string | null> | undefined;
  private clearedPrefixes: string[] | undefined;
  /** Required of the first write: absent or present, as the caller's rights have it. */
  guard: 'absent' | 'present' | undefined;

  constructor(
    private readonly ground: StorageGround,
    private readonly set: WriteSet,
    private readonly mountId: string,
    private readonly prefix: string,
  ) {}

  async get(key: string): Promise<string | undefined> {
    const pending = this.pendingValue(key);
    if (pending !== undefined) return pending ?? undefined;
    const path = this.prefix + key;
    const entry = await this.ground.entries.read({ mountId: this.mountId, path });
    this.seen.set(path, entry);
    return entry && textOf(entry);
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const asked: EntryKey[] = [];
    for (const key of keys) {
      const pending = this.pendingValue(key);
      if (pending === undefined) asked.push({ mountId: this.mountId, path: this.prefix + key });
      else if (pending !== null) found.set(key, pending);
    }
    const entries = asked.length === 0 ? [] : await this.ground.entries.readMany(asked);
    entries.forEach((entry, i) => {
      const { path } = asked[i]!;
      this.seen.set(path, entry);
      if (entry) found.set(path.slice(this.prefix.length), textOf(entry));
    });
    return found;
  }

  async list(prefix: string, page?: Page): Promise<string[]> {
    const names = await this.ground.entries.list(this.mountId, this.prefix + prefix, page);
    return this.pending || this.clearedPrefixes ? this.withPending(prefix, names) : names;
  }

  put(key: string, value: string, when?: Precondition): void {
    const path = this.prefix + key;
    const require = this.rowPrecondition(path, when);
    addPut(this.set, { mountId: this.mountId, path, value: Buffer.from(value), require });
    this.pending ??= new Map();
    this.pending.set(path, value);
  }

  delete(key: string, when?: Precondition): void {
    const path = this.prefix + key;
    addDelete(this.set, { mountId: this.mountId, path, require: this.rowPrecondition(path, when) });
    this.pending ??= new Map();
    this.pending.set(path, null);
  }

  deletePrefix(prefix: string): void {
    const full = this.prefix + prefix;
    addPrefixDelete(this.set, { mountId: this.mountId, prefix: full });
    for (const path of this.pending?.keys() ?? []) if (path.startsWith(full)) this.pending!.set(path, null);
    this.clearedPrefixes ??= [];
    this.clearedPrefixes.push(full);
  }

  async transaction<T>(run: (tx: Storage) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const set = newWriteSet();
      const tx = new CallStorage(this.ground, set, this.mountId, this.prefix);
      tx.guard = this.guard;
      const result = await run(tx);
      // Later writes to a path win, so only the last one's precondition counts.
      const checked = { ...set, puts: tx.checked(set.puts), deletes: tx.checked(set.deletes) };
      try {
        await this.ground.committer.commit(checked);
        return result;
      } catch (error) {
        if (!(error instanceof PreconditionFailed) || attempt === transactionAttempts) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
      }
    }
  }

  async intent(kind: string, undo: Readonly<Record<string, unknown>>): Promise<Intent> {
    const id = randomUUID();
    const set = newWriteSet();
    set.intents.push({ id, mountId: this.mountId, kind, undo });
    await this.ground.committer.commit(set);
    this.set.opened.push(id);
    return {
      id,
      settle: () => {
        this.set.settled.push(id);
      },
      drop: async () => {
        const dropped = newWriteSet();
        dropped.settled.push(id);
        await this.ground.committer.commit(dropped);
      },
    };
  }

  undoLater(kind: string, undo: Readonly<Record<string, unknown>>): void {
    this.set.intents.push({ id: randomUUID(), mountId: this.mountId, kind, undo, later: true });
  }

  /** Writes of keys that were read before require that they still are as they were read. */
  private checked<W extends { readonly path: string; readonly require?: RowPrecondition }>(writes: W[]): W[] {
    return writes.map((write) =>
      write.require === undefined && this.seen.has(write.path)
        ? { ...write, require: asRead(this.seen.get(write.path)) }
        : write,
    );
  }

  private rowPrecondition(path: string, when: Precondition | undefined): RowPrecondition | undefined {
    if (when === 'unchanged') {
      if (!this.seen.has(path)) throw new Error('an entry must be read before it can be required unchanged');
      return asRead(this.seen.get(path));
    }
    const { guard } = this;
    this.guard = undefined;
    return when ?? guard;
  }

  private pendingValue(key: string): string | null | undefined {
    if (this.pending === undefined && this.clearedPrefixes === undefined) return undefined;
    const path = this.prefix + key;
    const pending = this.pending?.get(path);
    if (pending !== undefined) return pending;
    return this.clearedPrefixes?.some((cleared) => path.startsWith(cleared)) ? null : undefined;
  }

  private withPending(prefix: string, names: readonly string[]): string[] {
    const full = this.prefix + prefix;
    const kept = new Set(
      names.filter((name) => {
        const path = full + name;
        if (this.clearedPrefixes?.some((cleared) => path.startsWith(cleared))) return false;
        return this.pending?.get(path) !== null;
      }),
    );
    for (const [path, value] of this.pending ?? []) {
      if (value === null || !path.startsWith(full)) continue;
      const slash = path.indexOf('/', full.length);
      kept.add(slash < 0 ? path.slice(full.length) : path.slice(full.length, slash + 1));
    }
    return [...kept].sort();
  }
}

/** A lost race as the caller may read it. */
export function changedMeanwhile(cause: unknown): Refusal {
  return new Refusal('conflict', 'the entry was changed by another request', [], { cause });
}

function asRead(entry: Entry | undefined): RowPrecondition {
  return entry ? { revision: entry.revision } : 'absent';
}

function textOf(entry: Entry): string {
  return entry.value.toString('utf8');
}
