import type { StorageKernel } from '../storage/storage';
import { openLease, type StoredLease } from './lease-row';
import { RevocationPace, WIDEST } from './pace';
import { REVOCATION_MS, type Revocation } from './revocation';
import { CLAIM, DUE_MOUNTS, FREE_CLAIMS } from './statements';
import type { LeaseHosts, LeaseRecord } from './types';

/** How many revocations are claimed ahead, so that no revocation waits for the database. */
const AHEAD = 64;
/** How long a claim lasts. It is long enough even if every claimed lease takes the maximum time. */
const CLAIM_MS = (AHEAD / WIDEST + 1) * REVOCATION_MS;
const FREE_CLAIMS_MS = 5000;
const AWAY_PAUSE_MS = 1000;

interface Lane {
  readonly queue: LeaseRecord[];
  running: number;
  readonly pace: RevocationPace;
  claiming: boolean;
  /** Whether the last claim returned fewer leases than requested. */
  drained: boolean;
}

/**
 * Revokes due leases on every node. Leases are claimed in batches, mount by mount, except those that other nodes have
 * claimed.
 */
export class LeaseSweep {
  private readonly lanes = new Map<string, Lane>();
  /** The pace of every mount whose system has ever had problems. */
  private readonly paces = new Map<string, RevocationPace>();
  private freedMs = Number.NEGATIVE_INFINITY;
  private stopped = false;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: LeaseHosts,
    private readonly revocation: Revocation,
  ) {}

  /** Claimed and unfinished revocations on this node. */
  get queued(): number {
    let count = 0;
    for (const lane of this.lanes.values()) count += lane.queue.length + lane.running;
    return count;
  }

  stop(): void {
    this.stopped = true;
    for (const lane of this.lanes.values()) lane.queue.length = 0;
  }

  /**
   * Records that a call that started at `askedMs` succeeded. Returns false if the system has needed a pause since then.
   */
  noteAnswer(mountId: string, askedMs: number): boolean {
    return this.paces.get(mountId)?.succeeded(askedMs) ?? true;
  }

  /** Ends the pause of a mount, whose configuration may now refer to another system. */
  endRest(mountId: string): void {
    this.paces.delete(mountId);
  }

  /** Ends all pauses, for callers that request an attempt now. */
  endRests(): void {
    this.paces.clear();
  }

  /** Finds mounts with due leases and starts to revoke them. */
  async run(): Promise<undefined> {
    await this.freeClaims();
    const { rows } = await this.storage.database.query<{ mount_id: string }>(DUE_MOUNTS, [this.storage.clock.now()]);
    if (rows.length > 0) await this.hosts.refreshMounts();
    for (const { mount_id: mountId } of rows) {
      if (this.restsUntil(mountId)) continue;
      const pace = this.paces.get(mountId) ?? new RevocationPace();
      const lane = this.lanes.get(mountId) ?? { queue: [], running: 0, claiming: false, drained: false, pace };
      this.lanes.set(mountId, lane);
      lane.drained = false;
      void this.fill(mountId, lane);
    }
    return undefined;
  }

  private async freeClaims(): Promise<void> {
    if (performance.now() - this.freedMs < FREE_CLAIMS_MS) return;
    this.freedMs = performance.now();
    await this.storage.database.query(FREE_CLAIMS, [this.storage.clock.now()]);
  }

  private async fill(mountId: string, lane: Lane): Promise<void> {
    if (lane.claiming || lane.drained || this.stopped || this.storage.barrier.sealed) return;
    if (this.storage.clockTrouble !== undefined) return;
    if (lane.queue.length >= WIDEST || this.restsUntil(mountId)) return this.drain(mountId, lane);
    lane.claiming = true;
    try {
      lane.queue.push(...(await this.claim(mountId, lane)));
    } catch {
      // The service is sealed or has no database: the next sweep tries again.
      lane.drained = true;
    } finally {
      lane.claiming = false;
    }
    this.drain(mountId, lane);
  }

  private async claim(mountId: string, lane: Lane): Promise<LeaseRecord[]> {
    const { database, clock, changes } = this.storage;
    const now = clock.now();
    const values = [mountId, now, AHEAD, changes.id, now + CLAIM_MS];
    const { rows } = await database.query<StoredLease>(CLAIM, values);
    lane.drained = rows.length < AHEAD;
    await this.storage.fault('sweep:claimed');
    return (await Promise.all(rows.map((row) => this.open(row)))).filter((lease) => lease !== undefined);
  }

  /** Opens a lease. An unreadable lease stays claimed and is tried again later. */
  private async open(row: StoredLease): Promise<LeaseRecord | undefined> {
    const { barrier } = this.storage;
    try {
      return openLease(barrier, row);
    } catch (error) {
      if (barrier.sealed || !(await this.storage.reloadKeys())) {
        this.storage.log?.warn({ err: error }, 'a lease cannot be read');
        return undefined;
      }
      return openLease(barrier, row);
    }
  }

  /**
   * Ends a claimed lease. While storage is unavailable, the lease is kept and retried, because no other node can take
   * it soon.
   */
  private async end(lease: LeaseRecord, pace: RevocationPace): Promise<void> {
    while (!this.stopped && !this.storage.barrier.sealed) {
      try {
        return await this.revocation.endClaimed(lease, pace);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, AWAY_PAUSE_MS));
      }
    }
  }

  private drain(mountId: string, lane: Lane): void {
    const { pace } = lane;
    if (pace.restsUntil(this.storage.clock.now())) this.rest(mountId, lane);
    while (lane.running < pace.width && lane.queue.length > 0) {
      lane.running++;
      const lease = lane.queue.shift()!;
      void this.end(lease, pace).then(() => {
        lane.running--;
        if (lane.queue.length < WIDEST) void this.fill(mountId, lane);
        this.drain(mountId, lane);
      });
    }
    if (lane.running > 0 || lane.queue.length > 0 || !lane.drained) return;
    this.lanes.delete(mountId);
    if (pace.recovered(this.storage.clock.now())) this.paces.delete(mountId);
  }

  private restsUntil(mountId: string): number {
    return this.paces.get(mountId)?.restsUntil(this.storage.clock.now()) ?? 0;
  }

  /**
   * Starts the pause of a mount. Leases that were claimed ahead are returned, because another node may succeed. This
   * node continues after the pause.
   */
  private rest(mountId: string, lane: Lane): void {
    this.paces.set(mountId, lane.pace);
    lane.drained = true;
    void this.putBack(lane.queue.splice(0));
  }

  /**
   * Returns claimed leases. Those that are still claimed when this node ends become due again when another node notices
   * this.
   */
  private async putBack(leases: readonly LeaseRecord[]): Promise<void> {
    while (!this.stopped && !this.storage.barrier.sealed) {
      try {
        return await this.revocation.putBack(leases);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, AWAY_PAUSE_MS));
      }
    }
  }
}
