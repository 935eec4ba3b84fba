import type { Barrier } from '../storage/types';
import type { LeaseRecord, LeaseState } from './types';

/** A row of the lease table. */
export interface StoredLease {
  hash: Buffer;
  namespace_id: string;
  mount_id: string;
  path: string;
  token_hash: Buffer | null;
  state: number;
  forced: boolean;
  attempts: number;
  issued_at_ms: string;
  expires_at_ms: string;
  renewed_at_ms: string | null;
  sealed: Buffer;
  sealed_failure: Buffer | null;
  away_since_ms: string | null;
}

/** A live lease that a node is revoking is read as one that ends. */
export const LEASE_COLUMNS =
  'hash, namespace_id, mount_id, path, token_hash, CASE WHEN state = 0 AND claimed_by IS NOT NULL THEN 1 ELSE state END AS state, forced, attempts, issued_at_ms, expires_at_ms, renewed_at_ms, sealed, sealed_failure, away_since_ms';

const STATES: readonly LeaseState[] = ['live', 'ending', 'irrevocable'];
const MAX_FAILURE = 240;

/**
 * The sealed part of a lease; it also contains the end of the lease, so that a manual change of the column is noticed.
 */
interface SealedLease {
  id: string;
  type: string;
  internal: Readonly<Record<string, unknown>>;
  renewable: boolean;
  max: number;
  end: number;
  cap?: number;
}

/** The database row of a lease does not match its sealed part. */
class TamperedLease extends Error {
  override readonly name = 'TamperedLease';
}

/** The lookup hash of a lease: a keyed hash of the random tail of its id. */
export function leaseHash(barrier: Barrier, id: string): Buffer {
  return barrier.mac('lease', id.slice(id.lastIndexOf('/') + 1));
}

const cell = (hash: Buffer) => ({ table: 'lease', row: hash.toString('hex'), column: 'sealed' });
const failureCell = (hash: Buffer) => ({ table: 'lease', row: hash.toString('hex'), column: 'sealed_failure' });

export function sealLease(barrier: Barrier, lease: LeaseRecord): Buffer {
  const sealed: SealedLease = {
    id: lease.id,
    type: lease.type,
    internal: lease.internal,
    renewable: lease.renewable,
    max: lease.maxTtlSeconds,
    end: lease.expiresAtMs,
    cap: lease.capMs,
  };
  return barrier.sealJson(sealed, cell(lease.hash));
}

/** An error message, truncated and sealed, because messages of outside systems may contain names or secrets. */
export function sealFailure(barrier: Barrier, hash: Buffer, text: string): Buffer {
  return barrier.seal(Buffer.from(text.slice(0, MAX_FAILURE)), failureCell(hash));
}

export function openLease(barrier: Barrier, row: StoredLease): LeaseRecord {
  const sealed = barrier.openJson<SealedLease>(row.sealed, cell(row.hash));
  if (Number(row.expires_at_ms) !== sealed.end) {
    throw new TamperedLease(`lease ${row.hash.toString('hex')} was changed in the database`);
  }
  return {
    hash: row.hash,
    id: sealed.id,
    namespaceId: row.namespace_id,
    mountId: row.mount_id,
    path: row.path.slice(0, -1),
    tokenHash: row.token_hash ?? undefined,
    state: STATES[row.state]!,
    forced: row.forced,
    attempts: row.attempts,
    awaySinceMs: row.away_since_ms === null ? undefined : Number(row.away_since_ms),
    issuedAtMs: Number(row.issued_at_ms),
    expiresAtMs: sealed.end,
    renewedAtMs: row.renewed_at_ms === null ? undefined : Number(row.renewed_at_ms),
    type: sealed.type,
    internal: sealed.internal,
    renewable: sealed.renewable,
    maxTtlSeconds: sealed.max,
    capMs: sealed.cap,
    failure: row.sealed_failure ? barrier.open(row.sealed_failure, failureCell(row.hash)).toString() : undefined,
  };
}
