import { BatchScheduler, isConnectionLoss } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import type { CoherentCache, Ticket } from './cache';
import type { NodeNotices } from './changes';
import type { Database, ObserveStorage } from './database';
import type { DeletedRows } from './deleted-rows';
import { cacheKey } from './entries';
import { SerialQueue } from './serial-queue';
import { resumeInSlices } from './slices';
import * as sql from './statements';
import type { Barrier, Clock, Committer, Entry, EntryDelete, EntryPut, Fault, Notice, Tx, WriteSet } from './types';
import { entryNotices, isEmpty, needsTransaction, noticesOf, PreconditionFailed } from './write-set';
import {
  type AuditChain,
  changeEntries,
  entryOf,
  insertIntents,
  insertTokens,
  lastOperations,
  type PutColumns,
  putColumns,
  putRows,
  type WrittenRow,
  writeSets,
} from './write-steps';

export interface CommitterOptions {
  readonly database: Database;
  readonly barrier: Barrier;
  readonly changes: NodeNotices;
  readonly cache: CoherentCache<Entry>;
  readonly deletedRows: DeletedRows;
  readonly clock: Clock;
  readonly fault: Fault;
  readonly observe?: ObserveStorage;
}

interface QueuedSet {
  readonly set: WriteSet;
  readonly lane: Lane;
  resolve(): void;
  fail(error: unknown): void;
}

/**
 * The maximum number of batches in progress. With two, the database is busy while the response to one is in transit. A
 * larger number would make batches smaller, not faster.
 */
const IN_FLIGHT = 2;
const MAX_SETS = 64;

/**
 * Commits write sets in groups. Simultaneous sets share one statement per table and one commit, and their callers are
 * answered after it. A single caller does not wait. A failing group is repeated set by set, so that only the failing
 * set fails.
 */
export class GroupCommitter implements Committer {
  private readonly line = new SerialQueue();
  private readonly batches = new BatchScheduler<QueuedSet>({
    name: 'commit',
    inFlight: () => (this.auditChain ? 1 : IN_FLIGHT),
    take: (waiting) => ofOneLane(waiting),
    run: (batch) => this.timed(() => this.write(batch)),
  });
  private auditChain: AuditChain | undefined;

  constructor(private readonly options: CommitterOptions) {}

  /** Turns the chained audit table on or off. While it is on, batches run one after the other. */
  chainAudit(chain: AuditChain | undefined): void {
    this.auditChain = chain;
  }

  /** The number of waiting and active write sets, for metrics. */
  get pending(): number {
    return this.batches.pending;
  }

  commit(set: WriteSet): Promise<void> {
    if (isEmpty(set)) return Promise.resolve();
    const lane = laneOf(set);
    if (lane === 'own') return this.timed(() => this.ownTransaction(set));
    return new Promise((resolve, fail) => {
      this.batches.add({ set, lane, resolve, fail });
    });
  }

  async decide(name: string, decide: (tx: Tx) => Promise<WriteSet>): Promise<void> {
    await this.timed(() =>
      this.inTransaction(async (tx) => {
        await this.takeTurn(tx, name);
        return [await decide(tx)];
      }),
    );
  }

  async takeTurn(tx: Tx, name: string): Promise<void> {
    await tx.query(sql.TAKE_TURN, [name]);
  }

  inTurn<T>(
    name: string,
    run: (tx: Tx) => Promise<T>,
    notices?: readonly Notice[] | ((result: T) => readonly Notice[]),
  ): Promise<T> {
    const inTurnOfAll = async (tx: Tx): Promise<T> => {
      await this.takeTurn(tx, name);
      return run(tx);
    };
    return this.line.stand(name, () => this.transaction(inTurnOfAll, notices));
  }

  async transaction<T>(
    run: (tx: Tx) => Promise<T>,
    notices: readonly Notice[] | ((result: T) => readonly Notice[]) = [],
  ): Promise<T> {
    const { database, changes } = this.options;
    let sentNotices: readonly Notice[] = [];
    let must = false;
    const result = await database.transaction(async (tx) => {
      const value = await run(tx);
      sentNotices = typeof notices === 'function' ? notices(value) : notices;
      must = changes.mustTell;
      if (must) await changes.tell(tx, sentNotices);
      return value;
    });
    await this.tellLate(must, sentNotices);
    changes.apply(sentNotices);
    return result;
  }

  private async write(batch: readonly QueuedSet[]): Promise<void> {
    try {
      if (batch.length === 1 && batch[0]!.lane === 'mixed') await this.single(batch[0]!);
      else if (batch[0]!.lane === 'puts') await this.writePuts(batch);
      else if (batch[0]!.lane === 'token') await this.writeTokens(batch);
      else if (batch[0]!.lane === 'intents') await this.writeIntents(batch);
      else if (batch[0]!.lane === 'entries') await this.writeEntries(batch);
      else await this.writeMixed(batch);
    } catch (error) {
      // After a lost connection it is unknown whether the write was committed. Report this, and do not write again.
      if (isLost(error) || batch.length === 1) for (const waiting of batch) waiting.fail(error);
      else if (error instanceof PreconditionFailed) await this.writeOthers(batch, error);
      else await Promise.all(batch.map((waiting) => this.single(waiting)));
    }
  }

  /** Sets whose entries have changed are refused, and the rest of the batch is written without them. */
  private async writeOthers(batch: readonly QueuedSet[], failure: PreconditionFailed): Promise<void> {
    const others: QueuedSet[] = [];
    for (const waiting of batch) {
      const { puts, deletes } = waiting.set;
      const failed = [...puts, ...deletes].some((one) => one.require !== undefined && failure.keys.has(cacheKey(one)));
      if (failed) waiting.fail(failure);
      else others.push(waiting);
    }
    if (others.length > 0) await this.write(others);
  }

  private async single(waiting: QueuedSet): Promise<void> {
    try {
      await this.ownTransaction(waiting.set);
      waiting.resolve();
    } catch (error) {
      waiting.fail(error);
    }
  }

  private async writePuts(batch: readonly QueuedSet[]): Promise<void> {
    const { barrier, changes } = this.options;
    const puts = new Map<string, { put: EntryPut; authority: Buffer | undefined }>();
    for (const { set } of batch) {
      for (const put of set.puts) puts.set(cacheKey(put), { put, authority: set.authorities[0] });
    }
    const columns = putColumns(barrier, puts);
    const notices = changes.mustTell ? entryNotices(puts.keys()) : [];
    const writtenKeys = await this.writeWithTickets(columns, async () => {
      await this.options.fault('commit:before');
      if (notices.length === 0) return putRows(this.options.database, columns);
      return this.transaction(async (tx) => {
        const rows = await putRows(tx, columns);
        await changes.tell(tx, notices);
        return rows;
      });
    });
    await this.tellLate(notices.length > 0, () => entryNotices(puts.keys()));
    await this.options.fault('commit:after');
    resumeInSlices(batch, (waiting) => {
      if (waiting.set.puts.every((put) => writtenKeys.has(cacheKey(put)))) waiting.resolve();
      else waiting.fail(denied());
    });
  }

  /** Commits by one statement or, if that fails, in a transaction, which finds the reason. */
  private async writeEntries(batch: readonly QueuedSet[]): Promise<void> {
    const { changes, cache, database, deletedRows } = this.options;
    if (changes.mustTell) return this.writeMixed(batch);
    const sets = batch.map(({ set }) => set);
    const operations = lastOperations(sets);
    const tickets = [...operations.keys()].map((key) => cache.begin(key, true));
    let outcome: ReadonlyMap<string, Entry | null> | undefined;
    try {
      await this.options.fault('commit:before');
      outcome = await changeEntries(this.options, database, operations);
    } catch (error) {
      if (isLost(error)) throw error;
    } finally {
      for (const ticket of tickets) cache.settle(ticket, outcome?.get(ticket.key));
    }
    if (outcome === undefined) return this.writeMixed(batch);
    deletedRows.note(sets.flatMap((set) => set.deletes));
    await this.tellLate(false, () => entryNotices(operations.keys()));
    await this.options.fault('commit:after');
    resumeInSlices(batch, (waiting) => waiting.resolve());
  }

  /** Caches what was written, unless it was written or forgotten elsewhere in the meantime. */
  private async writeWithTickets(
    columns: PutColumns,
    write: () => Promise<WrittenRow[]>,
  ): Promise<ReadonlyMap<string, number>> {
    const { cache } = this.options;
    const tickets = columns.keys.map((key) => cache.begin(key, true));
    let revisions: Map<string, number> | undefined;
    try {
      revisions = new Map((await write()).map((row) => [`${row.mount_id}/${row.path}`, row.revision]));
      return revisions;
    } finally {
      tickets.forEach((ticket, index) => {
        const revision = revisions?.get(ticket.key);
        cache.settle(ticket, revision === undefined ? undefined : entryOf(columns.puts[index]!, revision));
      });
    }
  }

  private async writeTokens(batch: readonly QueuedSet[]): Promise<void> {
    await this.options.fault('commit:before');
    const inserted = await insertTokens(
      this.options.database,
      batch.map(({ set }) => set.tokens[0]!),
    );
    await this.options.fault('commit:after');
    const isMade = ({ set }: QueuedSet) => inserted.has(set.tokens[0]!.hash.toString('latin1'));
    resumeInSlices(batch.filter(isMade), (waiting) => waiting.resolve());
    // Written set by set, so that each set gets its own error if its parent no longer exists or its id is taken.
    await Promise.all(batch.filter((waiting) => !isMade(waiting)).map((waiting) => this.single(waiting)));
  }

  /** A single statement is a transaction by itself: recording an intent before an outside call costs one round trip. */
  private async writeIntents(batch: readonly QueuedSet[]): Promise<void> {
    const { barrier, changes, clock, database, fault } = this.options;
    const intents = batch.flatMap(({ set }) => set.intents);
    await fault('commit:before');
    await insertIntents(database, barrier, intents, clock.now(), changes.id);
    await fault('commit:after');
    resumeInSlices(batch, (waiting) => waiting.resolve());
  }

  private async writeMixed(batch: readonly QueuedSet[]): Promise<void> {
    const sets = batch.map(({ set }) => set);
    await this.inTransaction(() => sets);
    resumeInSlices(batch, (waiting) => waiting.resolve());
  }

  private async ownTransaction(set: WriteSet): Promise<void> {
    await this.inTransaction(() => [set]);
  }

  private async inTransaction(setsOf: (tx: Tx) => readonly WriteSet[] | Promise<readonly WriteSet[]>): Promise<void> {
    const { database, changes, cache, barrier, clock, deletedRows } = this.options;
    const deps = { barrier, clock, nodeId: changes.id, auditChain: this.auditChain };
    let tickets: Ticket[] = [];
    let notified = false;
    let outcome: Map<string, Entry | null> | undefined;
    const settle = () => {
      for (const ticket of tickets.splice(0)) cache.settle(ticket, outcome?.get(ticket.key));
    };
    let batch: { sets: readonly WriteSet[]; operations: ReadonlyMap<string, unknown>; notices: Notice[] };
    try {
      await this.options.fault('commit:before');
      outcome = await database.transaction(async (tx) => {
        const sets = await setsOf(tx);
        const operations = lastOperations(sets);
        const notices = noticesOf(sets, operations.keys());
        batch = { sets, operations, notices };
        // This may be the second attempt, after a deadlock.
        settle();
        tickets = [...operations.keys()].map((key) => cache.begin(key, true));
        const rows = await writeSets(deps, tx, sets, operations);
        notified = changes.mustTell;
        if (notified) await changes.tell(tx, notices);
        return rows;
      });
    } finally {
      settle();
    }
    const { sets, operations, notices } = batch!;
    deletedRows.note(
      sets.flatMap((set) => set.deletes),
      sets.flatMap((set) => set.prefixes),
    );
    await this.tellLate(notified, notices);
    changes.apply(notices.filter(({ topic, key }) => topic !== 'entry' || !operations.has(key)));
    await this.options.fault('commit:after');
  }

  /** A node may have joined between the decision not to send notices and the commit. */
  private async tellLate(notified: boolean, notices: readonly Notice[] | (() => readonly Notice[])): Promise<void> {
    const { changes, database } = this.options;
    if (notified || changes.others === 0) return;
    await changes.tell(database, typeof notices === 'function' ? notices() : notices);
  }

  private async timed<T>(work: () => Promise<T>): Promise<T> {
    const { observe } = this.options;
    if (!observe) return work();
    const start = performance.now();
    try {
      return await work();
    } finally {
      observe('commit', (performance.now() - start) / 1000);
    }
  }
}

const denied = (): Refusal => new Refusal('denied', 'permission denied');

/** The oldest waiting set and all sets of its lane that have no keys in common. */
function ofOneLane(waiting: readonly QueuedSet[]): QueuedSet[] {
  const { lane } = waiting[0]!;
  const batch: QueuedSet[] = [];
  const owners = new Map<string, string>();
  for (const one of waiting) {
    if (one.lane === lane && batch.length < MAX_SETS && claims(owners, one.set)) batch.push(one);
  }
  return batch;
}

/** How a set is written: in its own transaction, or merged with others of its lane. */
export type Lane = 'puts' | 'token' | 'entries' | 'mixed' | 'own' | 'intents';

/** The lane of a set: the narrowest that fits everything it writes. */
function laneOf(set: WriteSet): Lane {
  if (needsTransaction(set)) return 'own';
  if (onlyIntents(set)) return 'intents';
  const others = set.leases.length + set.intents.length + set.settled.length + set.notices.length + set.audit.length;
  if (others > 0) return 'mixed';
  if (set.deletes.length > 0 || set.puts.some(isChecked)) {
    return set.tokens.length + set.authorities.length === 0 ? 'entries' : 'mixed';
  }
  if (set.tokens.length === 0 && set.authorities.length <= 1) return 'puts';
  if (set.tokens.length === 1 && set.puts.length === 0 && set.authorities.length === 0) return 'token';
  return 'mixed';
}

/**
 * Sets that write one key share a batch only under the same token. Otherwise one set might be omitted, and the write of
 * the other set would be lost. A condition on the key would not see the write of another set in the batch.
 */
function claims(owners: Map<string, string>, set: WriteSet): boolean {
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
/** The owner of a key whose write has a condition: a second write of this key waits for the next batch. */
const CHECKED = 'checked';

/** Whether the connection was lost, so that it is unknown whether the write was committed. */
export const isLost = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof Refusal && error.kind === 'unavailable');

function onlyIntents(set: WriteSet): boolean {
  return set.intents.length > 0 && isEmpty({ ...set, intents: [] }) && set.authorities.length === 0;
}
