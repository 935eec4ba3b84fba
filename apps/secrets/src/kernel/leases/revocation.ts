import { isRefusal, Refusal } from '@keystead/refusal';
import type { NotNow, Unreachable } from '../../sdk/outside';
import type { StorageKernel } from '../storage/storage';
import { LeaseDeletions } from './deletions';
import { sealFailure } from './lease-row';
import type { RevocationPace } from './pace';
import { PUT_BACK, REST, RETRY } from './statements';
import type { LeaseHosts, LeaseRecord } from './types';

/** The time limit of a revocation. */
export const REVOCATION_MS = 90_000;
const MAX_ATTEMPTS = 6;
const BASE_PAUSE_MS = 10_000;
/** How long an outside system may be unavailable before failures of its waiting leases are counted. */
const AWAY_UNCOUNTED_MS = 15 * 60_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** How often irrevocable leases are retried. */
export const DAY_MS = 24 * 3600_000;

/** Refusals that another attempt cannot change. */
const HOPELESS = new Set(['unsupported-operation', 'unsupported-path', 'invalid', 'malformed']);

/** A secret that has no lease yet, or will never have one. */
export interface Revocable {
  readonly mountId: string;
  readonly type: string;
  readonly internal: Readonly<Record<string, unknown>>;
}

/** Revokes secrets in the systems that created them, and records failures. */
export class Revocation {
  private readonly deletions: LeaseDeletions;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: LeaseHosts,
    /** Called when the system of a mount has answered a call that started at `askedMs`. */
    private readonly noteAnswer: (mountId: string, askedMs: number) => void,
  ) {
    this.deletions = new LeaseDeletions(storage.database);
  }

  /** Revokes a secret in its outside system. Throws the failure of the backend, or `timeout`. */
  async outside({ mountId, type, internal }: Revocable): Promise<void> {
    await this.hosts.refreshMounts();
    const mount = this.hosts.findMount(mountId);
    // A mount is removed only after its leases have ended. A secret of a removed mount cannot be revoked.
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
    this.noteAnswer(mountId, askedMs);
  }

  /** Revokes the secret of a lease and deletes the lease. A failure is thrown and leaves the lease unchanged. */
  async end(lease: LeaseRecord): Promise<void> {
    await this.outside(lease);
    await this.storage.fault('lease:revoked');
    await this.delete(lease);
    await this.storage.fault('lease:gone');
  }

  /**
   * Like `end`, for a lease that this node has claimed. A failure is recorded and may be retried later. If the outside
   * system does not answer, the lease pauses and no failure is counted. Throws only if nothing can be recorded.
   */
  async endClaimed(lease: LeaseRecord, pace: RevocationPace): Promise<void> {
    try {
      await this.end(lease);
    } catch (error) {
      if (this.isOwnFailure(error)) throw error;
      const now = this.storage.clock.now();
      const restMs = restOf(error);
      if (restMs !== undefined) pace.rest(restMs, now);
      if (lease.forced) return await this.delete(lease);
      const awaySinceMs = isUnreachable(error) ? (lease.awaySinceMs ?? now) : undefined;
      if (awaySinceMs === undefined || now - awaySinceMs >= AWAY_UNCOUNTED_MS) {
        return await this.putOff(lease, error, awaySinceMs);
      }
      const pauseMs = Math.min(Math.max(BASE_PAUSE_MS, now - awaySinceMs), LONGEST_PAUSE_MS) * (0.5 + Math.random());
      const dueMs = Math.round(pace.restsUntil(now) || now + pauseMs);
      const { changes, database } = this.storage;
      await database.query(REST, [lease.hash, changes.id, dueMs, awaySinceMs, this.sealed(lease, error)]);
    }
  }

  /** Deletes a lease without its secret. */
  async delete(lease: LeaseRecord): Promise<void> {
    await this.deletions.delete(lease.hash);
  }

  /** True if this service failed, not the outside system. */
  isOwnFailure(error: unknown): boolean {
    return this.storage.barrier.sealed || (isRefusal(error) && error.kind === 'unavailable');
  }

  /** Returns claimed leases, unchanged, to a later sweep of any node. */
  async putBack(leases: readonly LeaseRecord[]): Promise<void> {
    if (leases.length === 0) return;
    const { database, clock, changes } = this.storage;
    await database.query(PUT_BACK, [leases.map(({ hash }) => hash), clock.now(), changes.id]);
  }

  private async putOff(lease: LeaseRecord, error: unknown, awaySinceMs: number | undefined): Promise<void> {
    const { changes, clock, database } = this.storage;
    const now = clock.now();
    const attempts = lease.attempts + 1;
    const hopeless = isRefusal(error) && HOPELESS.has(error.kind);
    const irrevocable = hopeless || attempts >= MAX_ATTEMPTS || lease.state === 'irrevocable';
    const pause = irrevocable ? DAY_MS : BASE_PAUSE_MS * 2 ** (attempts - 1) * (0.5 + Math.random());
    await database.query(RETRY, [
      lease.hash,
      changes.id,
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

/** The pause that an outside system asks for, if a call failed for this reason. */
export function restOf(error: unknown): number | undefined {
  const { restMs } = error as Partial<NotNow>;
  return isRefusal(error) && typeof restMs === 'number' ? restMs : undefined;
}

/** True if the outside system did not answer: another attempt may succeed. */
const isUnreachable = (error: unknown): boolean =>
  isRefusal(error) && (error as Partial<Unreachable>).unreachable === true;

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
