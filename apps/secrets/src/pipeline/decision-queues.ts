import { isRefusal, Refusal } from '@keystead/refusal';
import { during } from '@keystead/tracing';
import { isLost } from '../kernel/storage/committer';
import { cacheKey } from '../kernel/storage/entries';
import type {
  Committer,
  Entry,
  EntryKey,
  EntryReader,
  EntryStore,
  Precondition,
  WriteSet,
} from '../kernel/storage/types';
import { isEmpty, joinSet, newWriteSet, Pending, PreconditionFailed } from '../kernel/storage/write-set';

/** The sources that a decision reads from, and the set that it writes into. */
export interface View {
  readonly entries: EntryReader;
  /** The uncommitted changes of earlier decisions and this one. */
  readonly pending: Pending;
  readonly set: WriteSet;
}

export interface DecisionQueuesOptions {
  readonly entries: EntryStore;
  readonly committer: Committer;
  /** True while other nodes may have written newer values of entries that this node has cached. */
  readonly amongOthers: () => boolean;
  /** The longest wait for a decision. */
  readonly patienceMs: number;
}

interface QueuedDecision {
  readonly untilMs: number;
  /**
   * Whether the decision relies on several entries being consistent, which only a read from the database guarantees.
   */
  readonly inDatabase: boolean;
  decide(view: View): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Decided = { readonly value: unknown } | { readonly refusal: Refusal };

interface DecidedBatch {
  readonly set: WriteSet;
  /** The results of the first decisions; the remaining ones wait until these are committed. */
  readonly decided: readonly Decided[];
  /** Whether a decision was refused or had nothing to write. */
  readonly hasRefusal: boolean;
}

interface Queue {
  readonly waiting: QueuedDecision[];
  /** The time until which other nodes are expected to decide about the same subject. */
  contendedUntilMs: number;
}

const MOST = 64;
/** How long decisions are made in the database after another node has changed the same object first. */
const CONTENDED_MS = 1000;
/** The number of decisions in the database at once. It is limited because other work also needs connections. */
const IN_DATABASE = 2;

/**
 * Decisions about the same subject, one after the other, in the order of arrival.
 *
 * Decisions that wait for the same turn are made together. Each sees the results of the earlier ones, and one commit
 * writes everything; a write of an entry that was read requires its revision (`EntryPut.require`). A decision that
 * removes an entry which an earlier one writes waits for the next commit. If another node has changed something, these
 * decisions are made again while holding a lock in the database, so no decision is overtaken twice. If there are other
 * nodes, a refusal is based only on the database, because this node's memory may be outdated.
 */
export class DecisionQueues {
  private readonly queues = new Map<string, Queue>();
  private inDatabase = 0;
  private readonly waitingForDatabase: (() => void)[] = [];

  constructor(private readonly options: DecisionQueuesOptions) {}

  /**
   * Decides when its turn comes, and resolves after the commit. `decide` may run more than once. Throws the errors of
   * `decide`, and `unavailable` if the turn does not come in time. In both cases nothing was written.
   */
  decide<T>(about: EntryKey, decide: (view: View) => Promise<T>, inDatabase = false): Promise<T> {
    const queued = this.queues.get(cacheKey(about));
    const answer = new Promise<T>((resolve, reject) => {
      const untilMs = performance.now() + this.options.patienceMs;
      const one: QueuedDecision = {
        untilMs,
        inDatabase,
        decide,
        resolve: resolve as QueuedDecision['resolve'],
        reject,
      };
      if (queued) {
        queued.waiting.push(one);
        return;
      }
      const name = cacheKey(about);
      const fresh: Queue = { waiting: [one], contendedUntilMs: 0 };
      this.queues.set(name, fresh);
      void this.serve(name, fresh);
    });
    return queued ? during('waiting', 'turn', undefined, () => answer) : answer;
  }

  private async serve(name: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) await this.decideTogether(name, queue, queue.waiting.splice(0, MOST));
    this.queues.delete(name);
  }

  private async decideTogether(name: string, queue: Queue, decisions: readonly QueuedDecision[]): Promise<void> {
    for (let queued = inTime(decisions); queued.length > 0; queued = inTime(queued)) {
      const contended =
        queue.contendedUntilMs > performance.now() ||
        (queued.some(({ inDatabase }) => inDatabase) && this.options.amongOthers());
      try {
        const batch = contended ? await this.decideInDatabase(name, queued) : await this.decideHere(queued);
        if (batch) {
          settle(queued, batch.decided);
          queued = queued.slice(batch.decided.length);
          continue;
        }
      } catch (error) {
        if (!(error instanceof PreconditionFailed)) return this.eachAlone(name, queue, queued, error);
      }
      queue.contendedUntilMs = performance.now() + CONTENDED_MS;
    }
  }

  /** Writes the decisions of a batch one by one, so that only the decision that cannot be written fails. */
  private async eachAlone(
    name: string,
    queue: Queue,
    queued: readonly QueuedDecision[],
    error: unknown,
  ): Promise<void> {
    // After a lost connection it is unknown whether the write was committed, so do not write again.
    if (queued.length === 1 || isLost(error)) for (const one of queued) one.reject(error);
    else for (const one of queued) await this.decideTogether(name, queue, [one]);
  }

  /** Makes decisions with the data of this node; undefined if they must be made in the database. */
  private async decideHere(queued: readonly QueuedDecision[]): Promise<DecidedBatch | undefined> {
    const batch = await decideAll(this.options.entries, queued);
    if (batch.hasRefusal && this.options.amongOthers()) return undefined;
    await this.options.committer.commit(batch.set);
    return batch;
  }

  private async decideInDatabase(name: string, queued: readonly QueuedDecision[]): Promise<DecidedBatch> {
    const { committer, entries } = this.options;
    await this.enter();
    try {
      let batch: DecidedBatch | undefined;
      await committer.decide(name, async (tx) => {
        batch = await decideAll(entries.within(tx), queued);
        return batch.set;
      });
      return batch!;
    } finally {
      this.inDatabase--;
      this.waitingForDatabase.shift()?.();
    }
  }

  private async enter(): Promise<void> {
    if (this.inDatabase >= IN_DATABASE) await new Promise<void>((resolve) => this.waitingForDatabase.push(resolve));
    this.inDatabase++;
  }
}

async function decideAll(base: EntryReader, queued: readonly QueuedDecision[]): Promise<DecidedBatch> {
  const entriesRead = new Map<string, Entry | undefined>();
  const entries = recordingReader(base, entriesRead);
  let set: WriteSet | undefined;
  const pending = new Pending();
  const decided: Decided[] = [];
  let hasRefusal = false;
  for (const one of queued) {
    const own: View = { entries, pending: new Pending(pending), set: newWriteSet() };
    try {
      const value = await one.decide(own);
      if (set && removesAny(own.set, set)) break;
      if (isEmpty(own.set)) hasRefusal = true;
      if (set) joinSet(set, own.set);
      else set = own.set;
      pending.add(own.pending);
      decided.push({ value });
    } catch (error) {
      if (!isRefusal(error) || error.kind === 'unavailable') throw error;
      hasRefusal = true;
      decided.push({ refusal: error });
    }
  }
  return { set: withRequirements(set ?? newWriteSet(), entriesRead), decided, hasRefusal };
}

/**
 * Whether a set removes an entry that an earlier set of its batch writes. If these sets were merged, they would not
 * require anything of the entry, and could remove a value that another node has written in the meantime.
 */
function removesAny({ deletes, prefixes }: WriteSet, { puts }: WriteSet): boolean {
  if (puts.length === 0 || deletes.length + prefixes.length === 0) return false;
  const deletedKeys = new Set(deletes.map(cacheKey));
  return puts.some(
    (put) =>
      deletedKeys.has(cacheKey(put)) ||
      prefixes.some(({ mountId, prefix }) => mountId === put.mountId && put.path.startsWith(prefix)),
  );
}

/** Reads each entry once, so that the whole batch sees the same values. */
function recordingReader(base: EntryReader, entriesRead: Map<string, Entry | undefined>): EntryReader {
  return {
    async read(key) {
      const name = cacheKey(key);
      if (!entriesRead.has(name)) entriesRead.set(name, await base.read(key));
      return entriesRead.get(name);
    },
    async readMany(keys) {
      const missing = keys.filter((key) => !entriesRead.has(cacheKey(key)));
      const found = missing.length === 0 ? [] : await base.readMany(missing);
      found.forEach((entry, i) => {
        entriesRead.set(cacheKey(missing[i]!), entry);
      });
      return keys.map((key) => entriesRead.get(cacheKey(key)));
    },
    list: (mountId, prefix, page) => base.list(mountId, prefix, page),
    listDeep: (mountId, prefix, page) => base.listDeep(mountId, prefix, page),
  };
}

/** Adds requirements to a set: entries that were read and are written must not have changed since they were read. */
function withRequirements(set: WriteSet, entriesRead: ReadonlyMap<string, Entry | undefined>): WriteSet {
  const revision = (entry: Entry): Precondition & object => ({ revision: entry.revision });
  const puts = set.puts.map((put) => {
    const key = cacheKey(put);
    if (!entriesRead.has(key)) return put;
    const entry = entriesRead.get(key);
    return { ...put, require: entry ? revision(entry) : ('absent' as const) };
  });
  const deletes = set.deletes.flatMap((deletion) => {
    const key = cacheKey(deletion);
    if (!entriesRead.has(key)) return [deletion];
    const entry = entriesRead.get(key);
    // An entry that was absent at the time of the decision need not be removed, even if it was written later.
    return entry ? [{ ...deletion, require: revision(entry) }] : [];
  });
  return { ...set, puts, deletes };
}

function settle(queued: readonly QueuedDecision[], decided: readonly Decided[]): void {
  decided.forEach((what, at) => {
    const one = queued[at]!;
    if ('refusal' in what) one.reject(what.refusal);
    else one.resolve(what.value);
  });
}

/** Returns the decisions that can still wait, and refuses those that have waited too long. */
function inTime(queued: readonly QueuedDecision[]): readonly QueuedDecision[] {
  const nowMs = performance.now();
  return queued.filter((one) => {
    if (one.untilMs > nowMs) return true;
    one.reject(new Refusal('unavailable', 'too many simultaneous changes of the same entry; try again'));
    return false;
  });
}
