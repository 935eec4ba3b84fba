import type { LeaseRecord } from '../kernel/leases/types';
import type { RouteMatch } from '../kernel/routing/sent-path';
import type { EntryKey, WriteSet } from '../kernel/storage/types';
import { addPut } from '../kernel/storage/write-set';
import type { Caller, ReusableSecret } from '../sdk/call';
import type { Kernel } from './kernel';
import type { Bearer } from './request';

/** The part of a call that identifies the caller and the mount. */
interface Calling {
  readonly match: RouteMatch;
  readonly bearer: Bearer | undefined;
  readonly caller: Caller;
}

interface Remembered {
  readonly leaseId: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Keeps a secret for later calls of the same caller, sealed in its mount's storage until its lease ends. It is
 * committed together with the lease, so either every node finds it or no node does.
 */
export function remember(
  kernel: Kernel,
  calling: Calling,
  key: string,
  created: { readonly id: string; readonly ttlSeconds: number; readonly data: Remembered['data'] },
  set: WriteSet,
): void {
  const at = entryOf(kernel, calling, key);
  if (!at) return;
  const entry: Remembered = { leaseId: created.id, data: created.data };
  const expiresAtMs = kernel.clock.now() + created.ttlSeconds * 1000;
  addPut(set, { ...at, value: Buffer.from(JSON.stringify(entry)), expiresAtMs });
}

/** The secret that `remember` stored for this caller, if it can still be used. */
export async function findReusable(kernel: Kernel, calling: Calling, key: string): Promise<ReusableSecret | undefined> {
  const at = entryOf(kernel, calling, key);
  const entry = at && (await kernel.entries.read(at));
  if (!entry) return undefined;
  const { leaseId, data } = JSON.parse(entry.value.toString('utf8')) as Remembered;
  // The lease is always looked up, because only the database knows whether it was revoked in the meantime.
  const lease = await kernel.leases.find(calling.match.namespace.uuid, leaseId);
  const nowMs = kernel.clock.now();
  if (lease?.state !== 'live' || lease.expiresAtMs <= nowMs || !(await outlives(kernel, calling, lease))) {
    return undefined;
  }
  const wholeMs = lease.expiresAtMs - (lease.renewedAtMs ?? lease.issuedAtMs);
  return {
    leaseId,
    renewable: lease.renewable,
    secondsLeft: Math.floor((lease.expiresAtMs - nowMs) / 1000),
    fractionLeft: (lease.expiresAtMs - nowMs) / wholeMs,
    data,
  };
}

/**
 * Whether the token that owns a lease is valid as long as the lease. This is always true for the caller's own token,
 * because it is in use now.
 */
async function outlives(kernel: Kernel, calling: Calling, lease: LeaseRecord): Promise<boolean> {
  const own = calling.bearer!.record;
  // Everything that the token owns ends with its last use.
  if (own.usesLeft === -1 || !lease.tokenHash) return false;
  if (lease.tokenHash.equals(own.hash)) return true;
  const owner = await kernel.tokens.findByHash(lease.tokenHash);
  if (!owner || owner.usesLeft !== undefined) return false;
  return owner.expiresAtMs === undefined || owner.expiresAtMs >= lease.expiresAtMs;
}

/**
 * Where a caller's secret is stored. The name is a keyed hash of everything that two calls must have in common to share
 * the secret.
 */
function entryOf(kernel: Kernel, calling: Calling, key: string): EntryKey | undefined {
  const { bearer, caller, match } = calling;
  // Batch tokens are not stored: only their entity can be recognised.
  if (!bearer || (bearer.record.type === 'batch' && caller.entityId === '')) return undefined;
  const who = caller.entityId === '' ? ['token', bearer.record.key] : ['entity', caller.entityId];
  const name = kernel.barrier.mac('lease-reuse', JSON.stringify([match.namespace.uuid, ...who, key]));
  return { mountId: match.mount!.uuid, path: `reuse/${name.toString('hex')}` };
}
