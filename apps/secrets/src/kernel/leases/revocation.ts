import { isRefusal, Refusal } from '@keystead/refusal';
import type { NotNow, Unreachable } from '../../sdk/outside';
import type { StorageKernel } from '../storage/storage';
import { LeaseDeletions } from './deletions';
import { sealFailure } from './lease-row';
import type { RevocationPace } from './pace';
import { PUT_BACK, REST, RETRY } from './statements';
import type { LeaseHosts, LeaseRecord } from './types';

/** A revocation may take this long. */
export const REVOCATION_MS = 90_000;
const MAX_ATTEMPTS = 6;
const BASE_PAUSE_MS = 10_000;
/** So long an outside system may be away before that counts as failures of the leases that wait for it. */
const AWAY_UNCOUNTED_MS = 15 * 60_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** How often irrevocable leases are tried. */
export const DAY_MS = 24 * 3600_000;

/** Refusals that another attempt cannot change. */
const HOPELESS = new Set(['unsupported-operation', 'unsupported-path', 'invalid', 'malformed']);

/** A secret as it is known before or without a lease. */
export interface Revocable {
  readonly mountId: string;
  readonly type: string;
  readonly internal: Readonly<Record<string, unknown>>;
}

/** Ends secrets in the systems they were made in, and keeps account of what failed. */
export class Revocation {
  private readonly deletions: LeaseDeletions;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: LeaseHosts,
    /** A system did what it was asked for at that time. */
    private readonly answered: (mountId: string, askedMs: number) => void,
  ) {
    this.deletions = new LeaseDeletions(storage.database);
  }

  /** Ends a secret outside. Throws the failure of the backend, or `timeout`. */
  async outside({ mountId, type, internal }: Revocable): Promise<void> {
    await this.hosts.refreshMounts();
    const mount = this.hosts.findMount(mountId);
    // Leases end before their mount does; a secret of a mount that is gone cannot be reached.
    if (!mount) return;
    const kind = mount.backend.secrets[type];
    if (!kind) throw new Refusal('unsupported-operation', `no way to revoke a secret of type "${type}"`);
    const { revoke } = kind;
    if (!revoke) return;
    const askedMs = this.storage.clock.now();
    await within(
      REVOCATION_MS,
      this.hosts.inBackground(mount, (call) => revoke(internal, call)),
    );
    this.answered(mountId, askedMs);
  }

  /** Ends the secret of a lease and removes the lease. A failure is thrown and leaves the lease as it is. */
  async end(lease: LeaseRecord): Promise<void> {
    await this.outside(lease);
    await this.storage.fault('lease:revoked');
    await this.deletions.delete(lease.hash);
    await this.storage.fault('lease:gone');
  }

  /**
   * The same for a lease this node has claimed: a failure is put down, to be tried again later or not. Where the outside
   * system does not answer, the lease rests without counting a failure. Throws only when nothing can be put down.
   */
  async endClaimed(lease: LeaseRecord, pace: RevocationPace): Promise<void> {
    try {
      await this.end(lease);
    } catch (error) {
      if (this.storage.barrier.sealed || isAway(error)) throw error;
      const now = this.storage.clock.now();
      const restMs = restOf(error);
      if (restMs !== undefined) pace.rest(restMs, now);
      if (lease.forced) return await this.deletions.delete(lease.hash);
      const awaySinceMs = isUnreachable(error) ? (lease.awaySinceMs ?? now) : undefined;
      if (awaySinceMs === undefined || now - awaySinceMs >= AWAY_UNCOUNTED_MS) {
        return await this.putOff(lease, error, awaySinceMs);
      }
      const pauseMs = Math.min(Math.max(BASE_PAUSE_MS, now - awaySinceMs), LONGEST_PAUSE_MS) * (0.5 + Math.random());
      const dueMs = Math.round(pace.restsUntil(now) || now + pauseMs);
      await this.storage.database.query(REST, [lease.hash, dueMs, awaySinceMs, this.sealed(lease, error)]);
    }
  }

  /** Leaves claimed leases to a later sweep of any node, as they are. */
  async putBack(leases: readonly LeaseRecord[]): Promise<void> {
    if (leases.length === 0) return;
    const { database, clock, changes } = this.storage;
    await database.query(PUT_BACK, [leases.map(({ hash }) => hash), clock.now(), changes.id]);
  }

  private async putOff(lease: LeaseRecord, error: unknown, awaySinceMs: number | undefined): Promise<void> {
    const { clock, database } = this.storage;
    const now = clock.now();
    const attempts = lease.attempts + 1;
    const hopeless = isRefusal(error) && HOPELESS.has(error.kind);
    const irrevocable = hopeless || attempts >= MAX_ATTEMPTS || lease.state === 'irrevocable';
    const pause = irrevocable ? DAY_MS : BASE_PAUSE_MS * 2 ** (attempts - 1) * (0.5 + Math.random());
    await database.query(RETRY, [
      lease.hash,
      attempts,
      Math.round(now + pause),
      irrevocable ? 2 : 1,
      this.sealed(lease, error),
      awaySinceMs ?? null,
    ]);
  }

  private sealed(lease: LeaseRecord, error: unknown): Buffer {
    return sealFailure(this.storage.barrier, lease.hash, error instanceof Error ? error.message : String(error));
  }
}

/** How long an outside system wants to rest, where that is why a call failed. */
export function restOf(error: unknown): number | undefined {
  const { restMs } = error as Partial<NotNow>;
  return isRefusal(error) && typeof restMs === 'number' ? restMs : undefined;
}

/** True when the outside system did not answer: another attempt may go well. */
const isUnreachable = (error: unknown): boolean =>
  isRefusal(error) && (error as Partial<Unreachable>).unreachable === true;

/** True when storage, and not the outside system, is to blame. */
const isAway = (error: unknown): boolean => isRefusal(error) && error.kind === 'unavailable';

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Refusal('timeout', `revocation took longer than ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
