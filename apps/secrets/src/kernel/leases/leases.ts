import { randomBase62 } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { SecretReply } from '../../sdk/reply';
import type { LiveMount } from '../mounts/mount';
import type { Namespace } from '../namespaces/namespaces';
import type { Statement } from '../storage/database';
import { prefixEnd } from '../storage/entries';
import type { JobFacts } from '../storage/jobs';
import { mapInSlices } from '../storage/slices';
import type { StorageKernel } from '../storage/storage';
import type { ListPage, WriteSet } from '../storage/types';
import { add } from '../storage/write-set';
import type { TokenRecord } from '../tokens/types';
import { countLeases, type LeaseCounts, RowCounts } from './counts';
import { IntentSweep } from './intents';
import { leaseHash, openLease, type StoredLease, sealLease } from './lease-row';
import { PrivateTidy } from './private-tidy';
import { type Prolong, prolongLeases } from './prolong';
import { Rests } from './rests';
import { DAY_MS, REVOCATION_MS, Revocation } from './revocation';
import * as sql from './statements';
import { LeaseSweep } from './sweep';
import { readTimeline, type TimelineQuery } from './timeline';
import { TokenEndings } from './token-endings';
import { TokenRenewal } from './token-renewal';
import type { LeaseHosts, LeaseRecord } from './types';

/** A lease that was added to a write set. */
export interface Registered {
  readonly id: string;
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
}

/** A renewed lease. */
export interface Renewed {
  readonly lease: LeaseRecord;
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
  /** Data from the backend about the renewal; usually none. */
  readonly data?: Readonly<Record<string, unknown>>;
}

const LIST_PAGE = 1000;

/** The state of a bulk revocation when the caller stops waiting. */
export interface BulkOutcome {
  readonly jobId: string;
  /**
   * The number of leases and tokens that must still be revoked, with everything that these tokens created; 0 when done.
   */
  readonly left: number;
  readonly failed: number;
  /** A lease that could not be revoked, and the reason. */
  readonly failure?: { readonly id: string; readonly reason: string };
}

interface BulkState {
  readonly namespaceId: string;
  readonly prefix: string;
  readonly forced: boolean;
}

const TAIL_LENGTH = 24;
const MARKED_AT_ONCE = 5000;
const BULK = 'revoke-prefix';
const ORPHANS = 'lease-tidy';
const SWEEP = 'leases';
const INTENTS = 'intents';
const RESTS = 'lease-rests';
const TOKEN_TAIL = /^h[0-9a-f]{64}$/;

/** The lifetimes of all secrets and tokens, from registration to end. They are stored only in the database. */
export class Leases {
  readonly tokens: TokenEndings;
  readonly renewal: TokenRenewal;
  readonly privateTidy: PrivateTidy;
  private readonly revocation: Revocation;
  private readonly sweep: LeaseSweep;
  private readonly intents: IntentSweep;
  private readonly rests: Rests;
  private readonly rowCounts: RowCounts<LeaseCounts>;
  private readonly prolong: Prolong;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: LeaseHosts,
  ) {
    const { background, jobs } = storage;
    this.rowCounts = new RowCounts(() => countLeases(storage));
    this.prolong = prolongLeases(storage);
    this.rests = new Rests(storage);
    this.revocation = new Revocation(storage, hosts, (mountId, askedMs) => this.noteAnswer(mountId, askedMs));
    this.sweep = new LeaseSweep(storage, hosts, this.revocation);
    this.tokens = new TokenEndings(storage, hosts, () => background.wake(SWEEP));
    this.renewal = new TokenRenewal(storage, hosts);
    this.privateTidy = new PrivateTidy(storage, hosts);
    this.intents = new IntentSweep(storage, hosts);
    background.every(SWEEP, 1000, () => this.sweep.run(), { byTime: true });
    background.every('tokens', 1000, () => this.tokens.sweep(), { byTime: true });
    background.every(INTENTS, 2000, () => this.intents.run(), { byTime: true });
    background.every(RESTS, 2000, async () => {
      if ((await this.rests.run()) > 0) background.wake(SWEEP);
      return undefined;
    });
    jobs.define<BulkState>(BULK, (state) => this.markSome(state));
    jobs.define<{ after: string }>(ORPHANS, (state) => this.tidySome(state));
  }

  /** Revocations that this node has claimed and not finished. */
  get queued(): number {
    return this.sweep.queued;
  }

  /** Starts no more revocations; running ones finish. */
  stop(): void {
    this.sweep.stop();
  }

  /** Adds a lease for a secret to the write set. The lifetime is capped. */
  async register(
    place: { readonly namespace: Namespace; readonly mount: LiveMount; readonly path: string },
    owner: TokenRecord | undefined,
    secret: SecretReply,
    set: WriteSet,
  ): Promise<Registered> {
    const { barrier, clock } = this.storage;
    const { namespace, mount, path } = place;
    const now = clock.now();
    const { ttlSeconds, warnings } = this.hosts.lifetime({
      nowMs: now,
      issuedAtMs: now,
      ttlSeconds: secret.ttlSeconds,
      maxTtlSeconds: secret.maxTtlSeconds,
      mount: mount.view,
    });
    const batch = owner?.type === 'batch';
    const capMs = batch ? owner.expiresAtMs : undefined;
    const expiresAtMs = Math.min(now + ttlSeconds * 1000, capMs ?? Number.POSITIVE_INFINITY);
    const suffix = namespace.parentUuid === undefined ? '' : `.${namespace.id}`;
    const id = `${path}/${randomBase62(TAIL_LENGTH)}${suffix}`;
    const hash = leaseHash(barrier, id);
    const tokenHash = batch ? owner.parentHash : owner?.hash;
    const lease: LeaseRecord = {
      hash,
      id,
      namespaceId: namespace.uuid,
      mountId: mount.uuid,
      path,
      tokenHash,
      state: 'live',
      forced: false,
      attempts: 0,
      issuedAtMs: now,
      expiresAtMs,
      type: secret.type,
      internal: secret.internal,
      renewable: secret.renewable ?? true,
      maxTtlSeconds: secret.maxTtlSeconds ?? 0,
      capMs,
    };
    // The system has created the secret, so it answers.
    if (mount.backend.secrets[secret.type]?.revoke) this.noteAnswer(mount.uuid, now);
    const role = path.slice(path.lastIndexOf('/') + 1);
    const facts = { namespaceId: namespace.uuid, mountId: mount.uuid, path, role };
    add(set, 'leases', {
      ...facts,
      hash,
      tokenHash,
      issuedAtMs: now,
      expiresAtMs,
      sealed: sealLease(barrier, lease),
      quotaIds: this.hosts.quotasOf(facts),
    });
    return { id, ttlSeconds: Math.floor((expiresAtMs - now) / 1000), warnings };
  }

  /**
   * Immediately revokes a secret that could not be registered or returned. If this fails, the secret's intent revokes
   * it later.
   */
  async abandonSecret(mount: LiveMount, secret: SecretReply): Promise<void> {
    await this.revocation
      .outside({ mountId: mount.uuid, type: secret.type, internal: secret.internal })
      .catch((error) => this.storage.log?.warn({ err: error }, 'a secret that was not returned could not be revoked'));
  }

  /** Lets the sweep undo what a call started in an outside system but did not finish. */
  async abandonIntents(intents: readonly string[]): Promise<void> {
    if (intents.length === 0) return;
    try {
      await this.intents.abandon(intents);
      this.storage.background.wake(INTENTS);
    } catch (error) {
      this.storage.log?.warn({ err: error }, 'the intents of a failed call are undone later');
    }
  }

  /** Records that the configuration of a mount's outside system was written. Its paused leases are then tried again. */
  reconfigured(mountId: string): void {
    this.sweep.endRest(mountId);
    this.rests.wroteConfig(mountId);
    this.storage.background.wake(RESTS);
  }

  /** Ends a token, its descendants, and everything they own. */
  endToken(record: Pick<TokenRecord, 'hash'>): Promise<void> {
    return this.tokens.end(record.hash);
  }

  /** The lease of an id in one namespace; undefined for ids of tokens. */
  async find(namespaceId: string, id: string): Promise<LeaseRecord | undefined> {
    const { database, barrier } = this.storage;
    const { rows } = await database.query<StoredLease>(sql.FIND, [leaseHash(barrier, id)]);
    if (!rows[0] || rows[0].namespace_id !== namespaceId) return undefined;
    const lease = await this.open(rows[0]);
    // The tail finds the row, but the rest of the id must also match.
    return lease.id === id ? lease : undefined;
  }

  /** The token hash for an id from a listing; undefined for ids of secrets. */
  tokenOf(id: string): Buffer | undefined {
    const tail = id.slice(id.lastIndexOf('/') + 1);
    return TOKEN_TAIL.test(tail) ? Buffer.from(tail.slice(1), 'hex') : undefined;
  }

  /** Renews (or shortens) a lease. Throws `invalid` if it is unknown, ended or not renewable. */
  async renew(namespaceId: string, id: string, incrementSeconds: number): Promise<Renewed> {
    if (this.tokenOf(id)) throw new Refusal('invalid', 'tokens cannot be renewed through this endpoint');
    const lease = await this.find(namespaceId, id);
    if (!lease) throw new Refusal('invalid', 'lease not found');
    const now = this.storage.clock.now();
    if (lease.state !== 'live' || lease.expiresAtMs <= now) throw new Refusal('invalid', 'lease expired');
    if (!lease.renewable) throw new Refusal('invalid', 'lease is not renewable');
    await this.hosts.refreshMounts();
    const mount = this.hosts.findMount(lease.mountId);
    const kind = mount?.backend.secrets[lease.type];
    if (!mount || !kind) throw new Refusal('invalid', 'lease is not renewable');
    const { renew } = kind;
    const terms = renew ? await this.hosts.inBackground(mount, (call) => renew(lease.internal, call)) : {};
    const { ttlSeconds, warnings } = this.hosts.lifetime({
      nowMs: now,
      issuedAtMs: lease.issuedAtMs,
      incrementSeconds,
      ttlSeconds: terms.ttlSeconds,
      maxTtlSeconds: terms.maxTtlSeconds ?? (renew ? undefined : lease.maxTtlSeconds),
      mount: mount.view,
    });
    const expiresAtMs = Math.min(now + ttlSeconds * 1000, lease.capMs ?? Number.POSITIVE_INFINITY);
    const { prolong } = kind;
    if (prolong) await this.hosts.inBackground(mount, (call) => prolong(lease.internal, call, expiresAtMs));
    const renewed: LeaseRecord = { ...lease, expiresAtMs, renewedAtMs: now };
    const sealed = sealLease(this.storage.barrier, renewed);
    await this.storage.fault('lease:renewing');
    const alive = await this.prolong({ hash: lease.hash, expiresAtMs, sealed });
    await this.storage.fault('lease:renewed');
    if (!alive) throw new Refusal('invalid', 'lease expired');
    return { lease: renewed, ttlSeconds: Math.floor((expiresAtMs - now) / 1000), warnings, data: terms.data };
  }

  /**
   * Revokes one lease, or the token with an id from a listing. An unknown id is not an error. With `queued`, the sweep
   * revokes it. Otherwise a failure is thrown as `invalid`, and the lease remains; with `forced`, it is deleted.
   */
  async revoke(namespaceId: string, id: string, { queued = false, forced = false } = {}): Promise<void> {
    const token = this.tokenOf(id);
    // The tail finds the row, but the rest of the id and the namespace must also match.
    if (token) return this.tokens.endAt(namespaceId, id.slice(0, id.lastIndexOf('/') + 1), token);
    const lease = await this.find(namespaceId, id);
    if (!lease) return;
    if (queued) {
      await this.storage.database.query(sql.HASTEN, [lease.hash, this.storage.clock.now()]);
      this.storage.background.wake(SWEEP);
      return;
    }
    const { database, changes, clock } = this.storage;
    // If this node dies after the claim, another node revokes the lease.
    await database.query(sql.TAKE, [lease.hash, clock.now() + 2 * REVOCATION_MS, changes.id]);
    try {
      await this.revocation.end(lease);
    } catch (error) {
      if (forced && !this.revocation.isOwnFailure(error)) return await this.revocation.delete(lease);
      await this.giveBack(lease).catch(() => {});
      throw revocationFailed(error);
    }
  }

  /**
   * Revokes every lease and token under a prefix of whole segments: `db` means everything below `db/`, never `db2/`.
   * The work is a job, so any node can continue it after a crash. The caller waits at most `waitMs`. With `forced`,
   * leases are deleted even if the outside system refuses to revoke them.
   */
  async revokePrefix(
    namespaceId: string,
    anyPrefix: string,
    { forced = false, waitMs = 30_000 }: { forced?: boolean; waitMs?: number } = {},
  ): Promise<BulkOutcome> {
    const { jobs, background } = this.storage;
    // A complete id is also a prefix, but its tail is not in the database.
    if (await this.find(namespaceId, anyPrefix)) {
      await this.revoke(namespaceId, anyPrefix, { forced });
      return { jobId: '', left: 0, failed: 0 };
    }
    const prefix = anyPrefix === '' || anyPrefix.endsWith('/') ? anyPrefix : `${anyPrefix}/`;
    this.sweep.endRests();
    await this.rests.endUnder(namespaceId, prefix, prefixEnd(prefix));
    const state: BulkState = { namespaceId, prefix, forced };
    const start = performance.now();
    const { id: jobId, ended } = await jobs.startHere(BULK, `${namespaceId}/${prefix}`, state, waitMs);
    let marking = !ended;
    for (let pause = 5; ; pause = Math.min(pause * 2, 200)) {
      if (marking) marking = (await jobs.find(jobId))?.running === true;
      const outcome = await this.bulkOutcome(jobId, state);
      // Until all leases are marked, the count may be too low.
      const left = marking ? Math.max(outcome.left, outcome.failed + 1) : outcome.left;
      const waited = performance.now() - start;
      if (left === outcome.failed || waited >= waitMs) return { ...outcome, left };
      background.wake(SWEEP);
      background.wake('tokens');
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** The progress of a bulk revocation in a namespace. */
  async bulkJob(namespaceId: string, jobId: string): Promise<JobFacts | undefined> {
    const job = await this.storage.jobs.find(jobId);
    return job?.kind === BULK && job.key.startsWith(`${namespaceId}/`) ? job : undefined;
  }

  /** Names directly under a prefix of lease ids, tokens included, sorted bytewise. */
  async list(namespaceId: string, prefix: string, page: ListPage = {}): Promise<string[]> {
    const limit = page.limit ?? 1_000_000;
    const start = page.after?.endsWith('/')
      ? `${prefix}${page.after.slice(0, -1)}0`
      : `${prefix}${page.after ?? ''}\u0001`;
    const values = [namespaceId, prefix, prefixEnd(prefix), start, limit];
    const { database } = this.storage;
    const [leases, tokens] = await Promise.all([
      database.query<{ name: string }>(sql.LEASE_FOLDERS, values),
      database.query<{ name: string }>(sql.TOKEN_FOLDERS, values),
    ]);
    const names = new Set([...leases.rows, ...tokens.rows].map((row) => row.name));
    if (prefix.endsWith('/')) for (const tail of await this.tailsAt(namespaceId, prefix, page)) names.add(tail);
    return [...names].sort().slice(0, limit);
  }

  /** Leases of some mounts in the order of their due times. */
  timeline(query: TimelineQuery): ReturnType<typeof readTimeline> {
    return readTimeline(this.storage, query);
  }

  /** Leases that could not be revoked, of several namespaces. */
  async irrevocable(namespaceIds: readonly string[], limit: number): Promise<LeaseRecord[]> {
    const { rows } = await this.storage.database.query<StoredLease>(sql.IRREVOCABLE, [namespaceIds, limit]);
    return mapInSlices(rows, (row) => this.open(row));
  }

  /** How many leases could not be revoked, by mount. */
  async countIrrevocable(namespaceIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.storage.database.query<{ mount_id: string; count: number }>(sql.COUNT_IRREVOCABLE, [
      namespaceIds,
    ]);
    return new Map(rows.map((row) => [row.mount_id, row.count]));
  }

  /** Tries irrevocable leases again, a single lease or all of a namespace; returns how many. */
  async replay(namespaceId: string, id?: string): Promise<number> {
    const { database, clock, barrier, background } = this.storage;
    const hash = id === undefined ? null : leaseHash(barrier, id);
    this.sweep.endRests();
    const { rowCount } = await database.query(sql.REPLAY, [namespaceId, clock.now(), hash]);
    background.wake(SWEEP);
    return rowCount ?? 0;
  }

  /** Looks for leases of ended tokens, in the background. */
  async tidy(): Promise<string> {
    const running = await this.storage.jobs.newest(ORPHANS, '');
    if (running?.running) return running.id;
    return this.storage.jobs.start(ORPHANS, '', { after: '' });
  }

  /** The counts for the gauges. */
  counts(): Promise<LeaseCounts> {
    return this.rowCounts.now();
  }

  private noteAnswer(mountId: string, askedMs: number): void {
    if (this.sweep.noteAnswer(mountId, askedMs)) this.rests.noteAnswer(mountId, askedMs);
  }

  private async tailsAt(namespaceId: string, prefix: string, page: ListPage): Promise<string[]> {
    const { barrier } = this.storage;
    const after = page.after === undefined || page.after.endsWith('/') ? undefined : page.after;
    const leaseAfter = after === undefined || this.tokenOf(after) ? Buffer.alloc(0) : leaseHash(barrier, after);
    const tokenAfter = (after !== undefined && this.tokenOf(after)) || Buffer.alloc(0);
    const limit = page.limit ?? 1_000_000;
    const leases = await this.inPages(sql.AT_PATH, [namespaceId, prefix], leaseAfter, limit, async (row: StoredLease) =>
      (await this.open(row)).id.slice(prefix.length),
    );
    const tokens = await this.inPages(sql.TOKENS_AT_PATH, [namespaceId, prefix], tokenAfter, limit, ({ hash }) =>
      Promise.resolve(`h${hash.toString('hex')}`),
    );
    return [...leases, ...tokens];
  }

  /** Rows in the order of their hashes, a page at a time, so that no listing loads all of them. */
  private async inPages<R extends { hash: Buffer }>(
    statement: Statement,
    values: readonly unknown[],
    after: Buffer,
    limit: number,
    nameOf: (row: R) => Promise<string>,
  ): Promise<string[]> {
    const names: string[] = [];
    let behind = after;
    while (names.length < limit) {
      const pageSize = Math.min(limit - names.length, LIST_PAGE);
      const { rows } = await this.storage.database.query<R>(statement, [...values, behind, pageSize]);
      for (const name of await mapInSlices(rows, nameOf)) names.push(name);
      if (rows.length < pageSize) break;
      behind = rows.at(-1)!.hash;
    }
    return names;
  }

  /** A lease that could not be revoked is no longer claimed. */
  private async giveBack({ hash }: LeaseRecord): Promise<void> {
    const { changes, clock, database } = this.storage;
    const now = clock.now();
    await database.query(sql.GIVE_BACK, [hash, changes.id, now, now + DAY_MS]);
  }

  private async markSome(state: BulkState) {
    const { database, clock, background } = this.storage;
    const { namespaceId, prefix, forced } = state;
    const end = prefixEnd(prefix);
    const values = [namespaceId, prefix, end, clock.now(), forced, MARKED_AT_ONCE];
    const { rows } = await database.query<{ count: number }>(sql.HASTEN_PREFIX, values);
    const tokens = await this.tokens.hastenPrefix(namespaceId, prefix, end);
    background.wake(SWEEP);
    background.wake('tokens');
    const advanced = rows[0]!.count + tokens;
    return { state, advanced, finished: advanced === 0 };
  }

  private async tidySome({ after }: { after: string }) {
    const values = [this.storage.clock.now(), MARKED_AT_ONCE, Buffer.from(after, 'hex')];
    const { rows } = await this.storage.database.query<{ last: Buffer | null; seen: number; ended: number }>(
      sql.ORPHANS,
      values,
    );
    const { last, seen, ended } = rows[0]!;
    return {
      state: { after: last?.toString('hex') ?? after },
      advanced: ended,
      finished: seen < MARKED_AT_ONCE,
    };
  }

  private async bulkOutcome(jobId: string, { namespaceId, prefix }: BulkState): Promise<BulkOutcome> {
    const { database } = this.storage;
    const values = [namespaceId, prefix, prefixEnd(prefix)];
    const { rows } = await database.query<{ count: number; failed: number }>(sql.ENDING_UNDER_PREFIX, values);
    const { count, failed } = rows[0]!;
    if (failed === 0) return { jobId, left: count, failed };
    const { rows: some } = await database.query<StoredLease>(sql.FAILED_UNDER_PREFIX, values);
    const lease = some[0] && (await this.open(some[0]));
    return {
      jobId,
      left: count,
      failed,
      failure: lease && { id: lease.id, reason: lease.failure ?? 'revocation failed' },
    };
  }

  private async open(row: StoredLease): Promise<LeaseRecord> {
    const { barrier } = this.storage;
    try {
      return openLease(barrier, row);
    } catch (error) {
      if (barrier.sealed || !(await this.storage.reloadKeys())) throw error;
      return openLease(barrier, row);
    }
  }
}

/** The wording of a failed revocation that clients expect. */
function revocationFailed(error: unknown): unknown {
  if (error instanceof Refusal && error.kind === 'unavailable') return error;
  const text = error instanceof Error ? error.message : String(error);
  return new Refusal('invalid', `failed to revoke entry: resp: (*logical.Response)(nil) err: ${text}`, [], {
    cause: error,
  });
}
