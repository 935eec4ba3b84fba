import { Refusal } from '@keystead/refusal';
import type { CoherentCache, Ticket } from './cache';
import type { NodeChanges } from './changes';
import { type Database, isConnectionLoss, type ObserveStorage } from './database';
import { cacheKey, entryCell, prefixEnd } from './entry-rows';
import {
  authoritiesOf,
  insertIntents,
  insertLeases,
  insertTokens,
  lockTokens,
  type PutColumns,
  putColumns,
  settleIntents,
} from './rows';
import * as sql from './statements';
import type {
  Barrier,
  Clock,
  Committer,
  Entry,
  EntryDelete,
  EntryPut,
  Fault,
  Notice,
  Precondition,
  Tx,
  WriteSet,
} from './types';
import { isEmpty, PreconditionFailed, standsAlone } from './write-set';

/** Turns the audit lines of a batch into rows of the chained table; made by `kernel/audit`. */
export type AuditChain = (tx: Tx, lines: readonly string[]) => Promise<void>;

export interface CommitterOptions {
  readonly database: Database;
  readonly barrier: Barrier;
  readonly changes: NodeChanges;
  readonly cache: CoherentCache<Entry>;
  readonly clock: Clock;
  readonly fault: Fault;
  readonly observe?: ObserveStorage;
}

/** How a set is written: alone, or merged with others of its lane. */
type Lane = 'puts' | 'token' | 'mixed' | 'alone' | 'intents';

interface Waiting {
  readonly set: WriteSet;
  readonly lane: Lane;
  done(): void;
  fail(error: unknown): void;
}

interface WrittenRow {
  mount_id: string;
  path: string;
  revision: number;
}

/** Two keep the database busy while one's answer travels; more would make batches smaller, not faster. */
const IN_FLIGHT = 2;
const MAX_SETS = 256;

/**
 * Writes sets in groups: what waits at the same moment shares one statement per table and one commit, and everybody
 * is answered after it. A lone caller waits for nobody. A set that fails is run by itself, so that it fails alone.
 */
export class GroupCommitter implements Committer {
  private readonly waiting: Waiting[] = [];
  private inFlight = 0;
  private planned = false;
  private auditChain: AuditChain | undefined;

  constructor(private readonly options: CommitterOptions) {}

  /** While the chained audit table is on, batches run one after the other. */
  chainAudit(chain: AuditChain | undefined): void {
    this.auditChain = chain;
  }

  /** Sets waiting or under way; for the metrics. */
  get pending(): number {
    return this.waiting.length + this.inFlight;
  }

  commit(set: WriteSet): Promise<void> {
    if (isEmpty(set)) return Promise.resolve();
    const lane = laneOf(set);
    if (lane === 'alone') return this.timed(() => this.alone(set));
    return new Promise((done, fail) => {
      this.waiting.push({ set, lane, done, fail });
      this.plan();
    });
  }

  async transaction<T>(
    run: (tx: Tx) => Promise<T>,
    notices: readonly Notice[] | ((result: T) => readonly Notice[]) = [],
  ): Promise<T> {
    const { database, changes } = this.options;
    let told: readonly Notice[] = [];
    let must = false;
    const result = await database.transaction(async (tx) => {
      const value = await run(tx);
      told = typeof notices === 'function' ? notices(value) : notices;
      must = changes.mustTell;
      if (must) await changes.tell(tx, told);
      return value;
    });
    await this.tellLate(must, told);
    changes.apply(told);
    return result;
  }

  /** Everybody who is on the way here in this moment gets to share the batch that starts with its first. */
  private plan(): void {
    if (this.planned) return;
    this.planned = true;
    process.nextTick(() => {
      this.planned = false;
      this.pump();
    });
  }

  private pump(): void {
    const most = this.auditChain ? 1 : IN_FLIGHT;
    while (this.inFlight < most && this.waiting.length > 0) {
      const batch = this.take();
      this.inFlight++;
      this.timed(() => this.write(batch)).then(() => {
        this.inFlight--;
        this.plan();
      });
    }
  }

  /** The oldest waiting set and all of its lane; others keep their place. */
  private take(): Waiting[] {
    const { lane } = this.waiting[0]!;
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    const owners = new Map<string, string>();
    for (const waiting of this.waiting) {
      const fits = waiting.lane === lane && batch.length < MAX_SETS && claims(owners, waiting.set);
      (fits ? batch : rest).push(waiting);
    }
    this.waiting.length = 0;
    this.waiting.push(...rest);
    return batch;
  }

  private async write(batch: readonly Waiting[]): Promise<void> {
    try {
      if (batch.length === 1 && batch[0]!.lane === 'mixed') await this.single(batch[0]!);
      else if (batch[0]!.lane === 'puts') await this.writePuts(batch);
      else if (batch[0]!.lane === 'token') await this.writeTokens(batch);
      else if (batch[0]!.lane === 'intents') await this.writeIntents(batch);
      else await this.writeMixed(batch);
    } catch (error) {
      // Whatever was being written in a lost connection may have been committed or not: say so, do not write twice.
      if (isLost(error) || batch.length === 1) for (const waiting of batch) waiting.fail(error);
      else await Promise.all(batch.map((waiting) => this.single(waiting)));
    }
  }

  private async single(waiting: Waiting): Promise<void> {
    try {
      await this.alone(waiting.set);
      waiting.done();
    } catch (error) {
      waiting.fail(error);
    }
  }

  private async writePuts(batch: readonly Waiting[]): Promise<void> {
    const { barrier, changes } = this.options;
    const puts = new Map<string, { put: EntryPut; authority: Buffer | undefined }>();
    for (const { set } of batch) {
      for (const put of set.puts) puts.set(cacheKey(put), { put, authority: set.authorities[0] });
    }
    const columns = putColumns(barrier, puts);
    const notices = changes.mustTell ? entryNotices(puts.keys()) : [];
    const written = await this.writeWithTickets(columns, async () => {
      await this.options.fault('commit:before');
      if (notices.length === 0) return this.putRows(this.options.database, columns);
      return this.transaction(async (tx) => {
        const rows = await this.putRows(tx, columns);
        await changes.tell(tx, notices);
        return rows;
      });
    });
    await this.tellLate(notices.length > 0, () => entryNotices(puts.keys()));
    await this.options.fault('commit:after');
    for (const waiting of batch) {
      if (waiting.set.puts.every((put) => written.has(cacheKey(put)))) waiting.done();
      else waiting.fail(denied());
    }
  }

  private async putRows(tx: Pick<Tx, 'query'>, columns: PutColumns): Promise<WrittenRow[]> {
    const { mounts, paths, sealed, expiries, authorities } = columns;
    const values = [mounts, paths, sealed, expiries];
    if (!columns.underTokens) return (await tx.query<WrittenRow>(sql.PUT_ENTRIES, values)).rows;
    const all = distinct(authorities.filter((hash): hash is Buffer => hash !== null));
    return (await tx.query<WrittenRow>(sql.PUT_ENTRIES_UNDER_TOKENS, [...values, authorities, all])).rows;
  }

  /** Remembers what was written, unless somebody else wrote or forgot it meanwhile. */
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

  private async writeTokens(batch: readonly Waiting[]): Promise<void> {
    await this.options.fault('commit:before');
    const made = await insertTokens(
      this.options.database,
      batch.map(({ set }) => set.tokens[0]!),
    );
    await this.options.fault('commit:after');
    const rest: Waiting[] = [];
    for (const waiting of batch) {
      if (made.has(waiting.set.tokens[0]!.hash.toString('latin1'))) waiting.done();
      else rest.push(waiting);
    }
    // Alone, each learns whether its parent is gone or its id is taken.
    await Promise.all(rest.map((waiting) => this.single(waiting)));
  }

  /** One statement is a transaction by itself: what is noted before an outside call costs one round trip. */
  private async writeIntents(batch: readonly Waiting[]): Promise<void> {
    const { barrier, changes, clock, database, fault } = this.options;
    const intents = batch.flatMap(({ set }) => set.intents);
    await fault('commit:before');
    await insertIntents(database, barrier, intents, clock.now(), changes.id);
    await fault('commit:after');
    for (const waiting of batch) waiting.done();
  }

  private async writeMixed(batch: readonly Waiting[]): Promise<void> {
    await this.inTransaction(batch.map(({ set }) => set));
    for (const waiting of batch) waiting.done();
  }

  private async alone(set: WriteSet): Promise<void> {
    await this.inTransaction([set]);
  }

  private async inTransaction(sets: readonly WriteSet[]): Promise<void> {
    const { database, changes, cache } = this.options;
    const operations = lastOperations(sets);
    const tickets = [...operations.keys()].map((key) => cache.begin(key, true));
    const notices = noticesOf(sets, operations.keys());
    let told = false;
    let outcome: Map<string, Entry | null> | undefined;
    try {
      await this.options.fault('commit:before');
      outcome = await database.transaction(async (tx) => {
        const written = await this.steps(tx, sets, operations);
        told = changes.mustTell;
        if (told) await changes.tell(tx, notices);
        return written;
      });
    } finally {
      for (const ticket of tickets) cache.settle(ticket, settledValue(outcome, ticket));
    }
    await this.tellLate(told, notices);
    changes.apply(notices.filter(({ topic, key }) => topic !== 'entry' || !operations.has(key)));
    await this.options.fault('commit:after');
  }

  private async steps(
    tx: Tx,
    sets: readonly WriteSet[],
    operations: ReadonlyMap<string, EntryPut | EntryDelete>,
  ): Promise<Map<string, Entry | null>> {
    const { barrier, clock } = this.options;
    const authorities = authoritiesOf(sets);
    if (authorities.length > 0) await lockTokens(tx, authorities);
    // Prefixes first: what a call writes after clearing a folder stays.
    for (const { mountId, prefix } of sets.flatMap((set) => set.prefixes)) {
      await tx.query(sql.DELETE_PREFIX, [mountId, prefix, prefixEnd(prefix)]);
    }
    const outcome = await this.entrySteps(tx, operations);
    const tokens = sets.flatMap((set) => set.tokens);
    if (tokens.length > 0 && (await insertTokens(tx, tokens)).size < tokens.length) {
      throw new Refusal('invalid', 'cannot create a token with a duplicate ID');
    }
    await insertLeases(
      tx,
      sets.flatMap((set) => set.leases),
    );
    await insertIntents(
      tx,
      barrier,
      sets.flatMap((set) => set.intents),
      clock.now(),
      this.options.changes.id,
    );
    await settleIntents(
      tx,
      sets.flatMap((set) => set.settled),
    );
    for (const run of sets.flatMap((set) => set.run)) await run(tx);
    const lines = sets.flatMap((set) => set.audit);
    if (lines.length > 0 && this.auditChain) await this.auditChain(tx, lines);
    return outcome;
  }

  private async entrySteps(
    tx: Tx,
    operations: ReadonlyMap<string, EntryPut | EntryDelete>,
  ): Promise<Map<string, Entry | null>> {
    const { barrier } = this.options;
    const outcome = new Map<string, Entry | null>();
    const puts = new Map<string, { put: EntryPut; authority: undefined }>();
    const deletes: EntryDelete[] = [];
    for (const [key, operation] of operations) {
      if (operation.require !== undefined) outcome.set(key, await this.conditional(tx, operation, operation.require));
      else if (isPut(operation)) puts.set(key, { put: operation, authority: undefined });
      else deletes.push(operation);
    }
    if (puts.size > 0) {
      const columns = putColumns(barrier, puts);
      for (const row of await this.putRows(tx, columns)) {
        const key = `${row.mount_id}/${row.path}`;
        outcome.set(key, entryOf(puts.get(key)!.put, row.revision));
      }
    }
    if (deletes.length > 0) {
      await tx.query(sql.DELETE_ENTRIES, [deletes.map((one) => one.mountId), deletes.map((one) => one.path)]);
      for (const one of deletes) outcome.set(cacheKey(one), null);
    }
    return outcome;
  }

  private async conditional(tx: Tx, operation: EntryPut | EntryDelete, required: Precondition): Promise<Entry | null> {
    const { barrier, clock } = this.options;
    const { mountId, path } = operation;
    const now = clock.now();
    const revision = typeof required === 'object' ? required.revision : null;
    if (!isPut(operation)) {
      const { rows } = await tx.query(sql.DELETE_ENTRY, [mountId, path, now, revision]);
      if (required === 'absent' ? rows.length > 0 : rows.length === 0) {
        throw new PreconditionFailed(mountId, path, required);
      }
      return null;
    }
    const values = [
      mountId,
      path,
      barrier.seal(operation.value, entryCell(operation)),
      operation.expiresAtMs ?? null,
      now,
    ];
    const { rows } = await (required === 'absent'
      ? tx.query<WrittenRow>(sql.CREATE_ENTRY, values)
      : tx.query<WrittenRow>(sql.REPLACE_ENTRY, [...values, revision]));
    if (!rows[0]) throw new PreconditionFailed(mountId, path, required);
    return entryOf(operation, rows[0].revision);
  }

  /** A node may have joined between the decision not to tell and the commit. */
  private async tellLate(told: boolean, notices: readonly Notice[] | (() => readonly Notice[])): Promise<void> {
    const { changes, database } = this.options;
    if (told || changes.others === 0) return;
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

function onlyIntents(set: WriteSet): boolean {
  return set.intents.length > 0 && isEmpty({ ...set, intents: [] }) && set.authorities.length === 0;
}

function laneOf(set: WriteSet): Lane {
  if (standsAlone(set)) return 'alone';
  if (onlyIntents(set)) return 'intents';
  const others = set.leases.length + set.intents.length + set.settled.length + set.notices.length + set.audit.length;
  if (others > 0 || set.deletes.length > 0) return 'mixed';
  if (set.tokens.length === 0 && set.authorities.length <= 1) return 'puts';
  if (set.tokens.length === 1 && set.puts.length === 0 && set.authorities.length === 0) return 'token';
  return 'mixed';
}

/** Sets that write one key share a batch only under the same token: else one might be left out, and the other lost. */
function claims(owners: Map<string, string>, set: WriteSet): boolean {
  const owner = set.authorities.map((hash) => hash.toString('latin1')).join();
  const keys = [...set.puts, ...set.deletes].map(cacheKey);
  if (keys.some((key) => (owners.get(key) ?? owner) !== owner)) return false;
  for (const key of keys) owners.set(key, owner);
  return true;
}

const isPut = (operation: EntryPut | EntryDelete): operation is EntryPut => 'value' in operation;
const denied = (): Refusal => new Refusal('denied', 'permission denied');
const isLost = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof Refusal && error.kind === 'unavailable');

function lastOperations(sets: readonly WriteSet[]): Map<string, EntryPut | EntryDelete> {
  const operations = new Map<string, EntryPut | EntryDelete>();
  for (const set of sets) {
    for (const put of set.puts) operations.set(cacheKey(put), put);
    for (const gone of set.deletes) operations.set(cacheKey(gone), gone);
  }
  return new Map([...operations].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

const entryNotices = (keys: Iterable<string>): Notice[] => [...keys].map((key) => ({ topic: 'entry', key }));

function noticesOf(sets: readonly WriteSet[], keys: Iterable<string>): Notice[] {
  const notices = entryNotices(keys);
  for (const set of sets) {
    notices.push(...set.notices);
    for (const { mountId, prefix } of set.prefixes) {
      notices.push({ topic: 'entry', key: `${mountId}/${prefix}${PREFIX_MARK}` });
    }
  }
  return notices;
}

/** Ends the key of a notice that speaks of all entries under a prefix; no path can hold it. */
export const PREFIX_MARK = '\t';

function settledValue(outcome: Map<string, Entry | null> | undefined, ticket: Ticket): Entry | null | undefined {
  return outcome?.get(ticket.key);
}

function entryOf({ mountId, path, value, expiresAtMs }: EntryPut, revision: number): Entry {
  // An own copy: the caller may use its buffer again.
  const entry: Entry = { mountId, path, value: Buffer.from(value), revision };
  return expiresAtMs === undefined ? entry : { ...entry, expiresAtMs };
}

function distinct(hashes: readonly Buffer[]): Buffer[] {
  if (hashes.length < 2) return [...hashes];
  return [...new Map(hashes.map((hash) => [hash.toString('latin1'), hash])).values()];
}
