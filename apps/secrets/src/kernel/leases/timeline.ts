import type { Statement } from '../storage/database';
import { prefixEnd } from '../storage/entries';
import { mapInSlices } from '../storage/slices';
import type { StorageKernel } from '../storage/storage';
import { LEASE_COLUMNS, openLease, type StoredLease } from './lease-row';
import type { LeaseRecord } from './types';

/** Which leases to list. */
export interface TimelineQuery {
  readonly namespaceId: string;
  /** The mounts whose leases to list. */
  readonly mountIds: readonly string[];
  /** The prefix of lease ids; `''` for all. */
  readonly prefix: string;
  /** Only leases of the token with this hash. */
  readonly tokenHash?: Buffer | undefined;
  /** Only leases whose revocation has failed. */
  readonly failing: boolean;
  readonly limit: number;
  readonly after?: TimelinePlace;
}

/** The position of a lease in the order of due times. */
export interface TimelinePlace {
  readonly dueAtMs: number;
  /** Hex. */
  readonly hash: string;
}

/** A lease and the time at which it is next due: its expiry, or the next attempt to revoke it. */
export interface DueLease {
  readonly lease: LeaseRecord;
  readonly dueAtMs: number;
}

/**
 * Leases in the order of their due times. Each mount is read by its index and returns as many as requested, however
 * many leases it has.
 */
export async function readTimeline(
  { database, barrier }: StorageKernel,
  { namespaceId, mountIds, prefix, tokenHash, failing, limit, after }: TimelineQuery,
): Promise<{ readonly leases: readonly DueLease[]; readonly next?: TimelinePlace }> {
  const queries = [
    mountIds,
    namespaceId,
    prefix,
    prefixEnd(prefix),
    failing,
    after?.dueAtMs ?? -1,
    Buffer.from(after?.hash ?? '', 'hex'),
    limit + 1,
  ];
  const { rows } = await (tokenHash === undefined
    ? database.query<TimelineRow>(TIMELINE, queries)
    : database.query<TimelineRow>(TIMELINE_OF_TOKEN, [...queries, tokenHash]));
  const page = rows.slice(0, limit);
  const leases = await mapInSlices(page, async (row) => ({
    lease: openLease(barrier, row),
    dueAtMs: Number(row.due_at_ms),
  }));
  const last = page.at(-1);
  if (rows.length <= limit || !last) return { leases };
  return { leases, next: { dueAtMs: Number(last.due_at_ms), hash: last.hash.toString('hex') } };
}

type TimelineRow = StoredLease & { due_at_ms: string };

/** The conditions of a timeline page, apart from the mount. */
const MEANT = `namespace_id = $2 AND due_at_ms >= $6::bigint AND (due_at_ms, hash) > ($6::bigint, $7::bytea)
         AND path >= $3 AND ($4::text IS NULL OR path < $4)
         AND (NOT $5::boolean OR attempts > 0 OR state = 2 OR away_since_ms IS NOT NULL)`;

/**
 * $1 mounts, $2 namespace, $3 prefix, $4 its end or null, $5 whether to list only leases whose revocation has failed,
 * $6 and $7 the lease after which the page begins, $8 how many.
 */
const TIMELINE: Statement = {
  name: 'lease-timeline',
  text: `SELECT l.* FROM unnest($1::uuid[]) AS m (id) CROSS JOIN LATERAL (
      SELECT ${LEASE_COLUMNS}, due_at_ms FROM lease
       WHERE mount_id = m.id AND ${MEANT}
       ORDER BY due_at_ms, hash LIMIT $8) l
   ORDER BY l.due_at_ms, l.hash LIMIT $8`,
};

/** Like `TIMELINE`, with the token as $9, to find its few leases in all mounts. */
const TIMELINE_OF_TOKEN: Statement = {
  name: 'lease-timeline-of-token',
  text: `SELECT ${LEASE_COLUMNS}, due_at_ms FROM lease
       WHERE token_hash = $9 AND mount_id = ANY($1::uuid[]) AND ${MEANT}
       ORDER BY due_at_ms, hash LIMIT $8`,
};
