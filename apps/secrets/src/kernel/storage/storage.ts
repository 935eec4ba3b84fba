import { createPool, DatabaseClock, ReplayLag, Silence } from '@keystead/postgres';
import pg from 'pg';
import { Background } from './background';
import { KeyringBarrier } from './barrier';
import { CoherentCache } from './cache';
import { NodeChanges, type NodeNotices } from './changes';
import { GroupCommitter } from './committer';
import { Database, type ObserveStorage } from './database';
import { DeletedRows } from './deleted-rows';
import { DatabaseEntries } from './entries';
import { Jobs } from './jobs';
import { StandbyChanges } from './standby-changes';
import type { Clock, Entry, Fault } from './types';
import { PREFIX_MARK } from './write-set';

export interface StorageOptions {
  /** The service's database, migrated. */
  readonly url: string;
  readonly maxConnections?: number;
  /** Where this node listens, shown in the node table. */
  readonly address?: string;
  /** Whether to poll for changes instead of listening, as is necessary behind transaction poolers. */
  readonly poll?: boolean;
  /** Set if this node only reads, from a server that may be a standby. `maxLagMs` is the longest allowed lag. */
  readonly standby?: { readonly maxLagMs: number };
  readonly cacheEntries?: number;
  readonly cacheBytes?: number;
  /** A clock that replaces the clock of the database. */
  readonly clock?: Clock;
  /** The clock of this machine, in epoch milliseconds. */
  readonly machineClock?: () => number;
  /** How far that clock may be off before this node stops expiring anything; 2 s. */
  readonly clockToleranceMs?: number;
  readonly fault?: Fault;
  readonly observe?: ObserveStorage;
  readonly log?: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

/** After this much silence, callers no longer wait for the database. */
const SILENT_MS = 3000;

/** Bytes that an entry costs in addition to its value. */
const ENTRY_OVERHEAD = 200;

/**
 * The storage of one node: all parts that use the database, built together. `start` registers the node and starts
 * receiving notices; reading and writing need an unsealed barrier.
 */
export class StorageKernel {
  readonly database: Database;
  readonly barrier = new KeyringBarrier();
  readonly changes: NodeNotices;
  /** The lag of the standby that this node reads from; undefined on a writing node. */
  readonly standbyLag: ReplayLag | undefined;
  readonly entries: DatabaseEntries;
  readonly committer: GroupCommitter;
  readonly deletedRows: DeletedRows;
  readonly jobs: Jobs;
  readonly background: Background;
  /** The time of the database, shared by all nodes. */
  readonly clock: Clock;
  readonly silence: Silence;
  readonly fault: Fault;
  readonly log: StorageOptions['log'];
  private readonly time: DatabaseClock | undefined;
  /** Set by `kernel/seal`: reloads the wrapped keyring, and returns whether it has changed. */
  reloadKeys: () => Promise<boolean> = async () => false;

  constructor(options: StorageOptions) {
    const { url, log, observe, standby } = options;
    const time = options.clock
      ? undefined
      : new DatabaseClock({ toleranceMs: options.clockToleranceMs ?? 2000, machine: options.machineClock, log });
    this.time = time;
    this.clock = options.clock ?? time!;
    this.silence = new Silence(SILENT_MS);
    this.fault = options.fault ?? (() => {});
    this.log = log;
    const clock = this.clock;
    const fault = this.fault;
    const barrier = this.barrier;
    const pool = createPool({
      url,
      max: options.maxConnections ?? 10,
      applicationName: 'keystead secrets',
      throughIndexes: true,
      standby: standby !== undefined,
    });
    pool.on('release', (error) => {
      if (!error) this.silence.noteAnswer();
    });
    const database = new Database(pool, { readsOnly: standby !== undefined });
    this.database = database;
    database.newerKeys = {
      under: (rows) => rows.some(({ sealed }) => Buffer.isBuffer(sealed) && barrier.isNewer(sealed)),
      read: () => this.reloadKeys(),
    };
    const connect = () =>
      new pg.Client({
        connectionString: url,
        application_name: 'keystead secrets listener',
        keepAlive: true,
        connectionTimeoutMillis: 3000,
        query_timeout: 2000,
      });
    const { silence } = this;
    this.standbyLag = standby && new ReplayLag(standby.maxLagMs);
    this.changes = this.standbyLag
      ? new StandbyChanges({ connect, lag: this.standbyLag, time, silence, log })
      : new NodeChanges({ database, connect, address: options.address ?? '', poll: options.poll, time, silence, log });
    const cache = new CoherentCache<Entry>({
      maxEntries: options.cacheEntries ?? 50_000,
      maxBytes: options.cacheBytes ?? 32 << 20,
      sizeOf: (entry) => entry.value.length + ENTRY_OVERHEAD,
      fresh: () => this.changes.fresh,
    });
    this.changes.listen('entry', (key) => {
      if (key === '*') cache.clear();
      else if (key.endsWith(PREFIX_MARK)) cache.forgetPrefix(key.slice(0, -1));
      else cache.forget(key);
    });
    this.changes.listen('seal', () => cache.clear());
    this.entries = new DatabaseEntries({
      database,
      barrier,
      cache,
      clock,
      reloadKeys: () => this.reloadKeys(),
      observe,
    });
    const deletedRows = new DeletedRows(database);
    this.deletedRows = deletedRows;
    const { changes } = this;
    this.committer = new GroupCommitter({ database, barrier, changes, cache, deletedRows, clock, fault, observe });
    this.jobs = new Jobs({ database, barrier, clock, fault, log });
    this.background = new Background(
      () => barrier.sealed,
      () => this.clockTrouble !== undefined,
      log,
    );
    this.background.every('jobs', 1000, () => this.jobs.runDue());
    this.background.every('deleted rows', LOOK_MS, async () => {
      await deletedRows.look();
      return undefined;
    });
    this.background.every('tidy', 60_000, () => this.tidy(), { byTime: true });
  }

  /** The reason why nothing may expire on this node at present; undefined if things may expire. */
  get clockTrouble(): string | undefined {
    return this.time?.trouble;
  }

  async start(): Promise<void> {
    await this.changes.start();
    // A standby leaves due items to the nodes that can write.
    if (!this.standbyLag) this.background.start();
  }

  /** Finishes running work, unregisters the node, and forgets the keys. */
  async stop(): Promise<void> {
    await this.background.stop();
    await this.changes.stop();
    this.silence.stop();
    await this.database.pool.end();
    this.barrier.drop();
  }

  /** Drops the keys of this process and all caches. */
  drop(): void {
    this.barrier.drop();
    this.changes.applyAll();
  }

  /** Removes expired rows in small batches. */
  private async tidy(): Promise<boolean> {
    const { rows } = await this.database.query<{ mount_id: string; path: string }>(SWEEP_EXPIRED, [this.clock.now()]);
    this.deletedRows.note(rows.map(({ mount_id: mountId, path }) => ({ mountId, path })));
    await this.jobs.tidy();
    return rows.length >= SWEPT_AT_ONCE;
  }
}

/**
 * The time between visits to deleted rows. It is longer than most transactions of other connections, which may still
 * see a deleted row.
 */
const LOOK_MS = 100;
const SWEPT_AT_ONCE = 1000;
const SWEEP_EXPIRED = {
  name: 'entry-sweep',
  text: `WITH due AS (
    SELECT mount_id, path FROM entry WHERE expires_at_ms <= $1 LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM entry USING due WHERE entry.mount_id = due.mount_id AND entry.path = due.path
    RETURNING entry.mount_id, entry.path
  ), witness AS (
    DELETE FROM entry_witness w USING gone WHERE w.mount_id = gone.mount_id AND w.path = gone.path
  ), pending AS (DELETE FROM mfa_pending WHERE expires_at_ms <= $1)
  SELECT mount_id, path FROM gone`,
};
