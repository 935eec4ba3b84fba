import type { BackgroundCall } from '../../sdk/call';
import type { Lifetime, LifetimeTerms } from '../../sdk/lifetime';
import type { LiveMount } from '../mounts/mount';

/** The record of a lease, decrypted. Times are epoch milliseconds, durations whole seconds. */
export interface LeaseRecord {
  readonly hash: Buffer;
  /** The whole id, as clients see it. */
  readonly id: string;
  readonly namespaceId: string;
  readonly mountId: string;
  /** The id without its random tail. */
  readonly path: string;
  readonly tokenHash?: Buffer;
  readonly state: LeaseState;
  /** Whether revocation removes the lease even if the outside system refuses. */
  readonly forced: boolean;
  /** The number of failed revocations. */
  readonly attempts: number;
  /** The time at which its outside system stopped answering. */
  readonly awaySinceMs?: number;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly renewedAtMs?: number;
  /** The key of its entry in the backend's `secrets`. */
  readonly type: string;
  readonly internal: Readonly<Record<string, unknown>>;
  readonly renewable: boolean;
  readonly maxTtlSeconds: number;
  /** The limit of renewals: the end of the batch token that requested the secret. */
  readonly capMs?: number;
  /** Why the last revocation failed; at most 240 characters. */
  readonly failure?: string;
}

export type LeaseState = 'live' | 'ending' | 'irrevocable';

/** The dependencies of leases, provided by `service.ts`. */
export interface LeaseHosts {
  /** The mount that created a secret; undefined if it no longer exists. */
  findMount(mountId: string): LiveMount | undefined;
  /** Makes sure that all mounts are loaded. */
  refreshMounts(): Promise<void> | undefined;
  /** Mounts with separate storage for each token, in all namespaces. */
  privateMountIds(): readonly string[];
  /** Runs with the storage of a mount and commits what was written to it. */
  inBackground<T>(mount: LiveMount, run: (call: BackgroundCall) => Promise<T>): Promise<T>;
  /** How long a token or lease lives from now on. */
  lifetime(terms: LifetimeTerms): Lifetime;
  /** Lease-count quotas that a new lease counts towards. */
  quotasOf(lease: { namespaceId: string; mountId: string; path: string; role: string }): readonly string[];
}
