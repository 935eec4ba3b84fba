import type { Statement } from '../storage/database';
import { LEASE_COLUMNS } from './lease-row';

export const FIND: Statement = { name: 'lease-find', text: `SELECT ${LEASE_COLUMNS} FROM lease WHERE hash = $1` };

/** Deletes ended leases and frees their places in quotas. */
export const DELETE: Statement = {
  name: 'lease-delete',
  text: `WITH gone AS (DELETE FROM lease WHERE hash = ANY($1::bytea[]) RETURNING quota_ids),
  freed AS (SELECT id, count(*) AS count FROM gone, unnest(gone.quota_ids) AS id GROUP BY id ORDER BY id)
  UPDATE quota SET leases = greatest(0, leases - freed.count) FROM freed WHERE quota.id = freed.id`,
};

/**
 * Claims one lease for this node to revoke. Its state does not change, so that revocations of its prefix and its token
 * still mark it. $2 end of the claim, $3 node.
 */
export const TAKE: Statement = {
  name: 'lease-take',
  text: 'UPDATE lease SET due_at_ms = $2, claimed_by = $3 WHERE hash = $1',
};

/** Returns a lease that could not be revoked, unless its claim has ended. $2 node, $3 now, $4 a day later. */
export const GIVE_BACK: Statement = {
  name: 'lease-give-back',
  text: `UPDATE lease SET due_at_ms = CASE state WHEN 0 THEN expires_at_ms WHEN 1 THEN $3::bigint ELSE $4::bigint END,
                claimed_by = NULL WHERE hash = $1 AND claimed_by = $2`,
};

/** Makes one lease due immediately. */
export const HASTEN: Statement = {
  name: 'lease-hasten',
  text: 'UPDATE lease SET state = 1, due_at_ms = $2, claimed_by = NULL WHERE hash = $1',
};

/** Makes leases of ended tokens due immediately, a limited number at a time. */
export const HASTEN_OF_TOKENS: Statement = {
  name: 'lease-hasten-tokens',
  text: `UPDATE lease SET state = 1, due_at_ms = $2 WHERE hash IN (
    SELECT hash FROM lease WHERE token_hash = ANY($1::bytea[]) AND state = 0 LIMIT $3)`,
};

/**
 * Makes leases under a prefix due immediately, a limited number at a time. $1 namespace, $2 prefix, $3 its end or null,
 * $4 now, $5 forced, $6 how many. Leases that are already marked are included only if the revocation is forced.
 */
export const HASTEN_PREFIX: Statement = {
  name: 'lease-hasten-prefix',
  text: `WITH marked AS (
    UPDATE lease SET state = 1, due_at_ms = $4, forced = forced OR $5, attempts = 0, claimed_by = NULL WHERE hash IN (
      SELECT hash FROM lease WHERE namespace_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3)
         AND (state <> 1 OR ($5 AND NOT forced)) LIMIT $6)
    RETURNING 1) SELECT count(*)::int AS count FROM marked`,
};

/** SQL: the revocation of a lease has failed, and no node is trying it now. */
const FAILED = 'claimed_by IS NULL AND (attempts > 0 OR state = 2 OR away_since_ms IS NOT NULL)';
/**
 * The number of leases and tokens under a prefix that must still end, and the number of leases whose revocation has
 * failed.
 */
export const ENDING_UNDER_PREFIX: Statement = {
  name: 'lease-ending-prefix',
  text: `SELECT l.count + t.count AS count, l.failed FROM (
    SELECT count(*)::int AS count, (count(*) FILTER (WHERE ${FAILED}))::int AS failed FROM (
      SELECT attempts, state, away_since_ms, claimed_by FROM lease
       WHERE namespace_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3) AND state > 0 LIMIT 100000) rest) l,
    (SELECT count(*)::int AS count FROM (
      SELECT FROM token
       WHERE namespace_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3) AND state > 0 LIMIT 100000) rest) t`,
};
export const FAILED_UNDER_PREFIX: Statement = {
  name: 'lease-failed-prefix',
  text: `SELECT ${LEASE_COLUMNS} FROM lease WHERE namespace_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3)
      AND (${FAILED}) ORDER BY hash LIMIT 1`,
};

/** The mounts that have leases, found one by one in the index. */
const MOUNTS = `m AS (
    (SELECT mount_id FROM lease ORDER BY mount_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.mount_id FROM lease l WHERE l.mount_id > m.mount_id ORDER BY l.mount_id LIMIT 1)
      FROM m WHERE m.mount_id IS NOT NULL
  )`;

/** Mounts that have leases due: one index look-up per mount, however many leases there are. */
export const DUE_MOUNTS: Statement = {
  name: 'lease-due-mounts',
  text: `WITH RECURSIVE ${MOUNTS}
  SELECT mount_id FROM m
     WHERE mount_id IS NOT NULL
       AND (SELECT true FROM lease l WHERE l.mount_id = m.mount_id AND l.due_at_ms <= $1 LIMIT 1)`,
};

/** Claims due leases of one mount for this node. $1 mount, $2 now, $3 how many, $4 node, $5 end of the claims. */
export const CLAIM: Statement = {
  name: 'lease-claim',
  text: `UPDATE lease SET state = CASE WHEN state = 2 THEN 2 ELSE 1 END, due_at_ms = $5, claimed_by = $4 WHERE hash IN (
    SELECT hash FROM lease WHERE mount_id = $1 AND due_at_ms <= $2 ORDER BY due_at_ms LIMIT $3 FOR UPDATE SKIP LOCKED)
  RETURNING ${LEASE_COLUMNS}`,
};

/** Makes leases claimed by dead nodes due again. */
export const FREE_CLAIMS: Statement = {
  name: 'lease-free-claims',
  text: `UPDATE lease SET due_at_ms = $1, claimed_by = NULL WHERE claimed_by IS NOT NULL AND claimed_by NOT IN (
    SELECT id FROM node WHERE seen_at > clock_timestamp() - interval '5 seconds')`,
};

/** SQL: the claim of a failed attempt still holds, and no request has overtaken it. */
const HELD = 'hash = $1 AND claimed_by = $2 AND NOT forced';

/** Records a failed attempt. $2 node. */
export const RETRY: Statement = {
  name: 'lease-retry',
  text: `UPDATE lease SET attempts = $3, due_at_ms = $4, state = $5, sealed_failure = $6, away_since_ms = $7, claimed_by = NULL
          WHERE ${HELD}`,
};

/** Postpones a lease whose outside system did not answer. $2 node. */
export const REST: Statement = {
  name: 'lease-rest',
  text: `UPDATE lease SET due_at_ms = $3, away_since_ms = $4, sealed_failure = $5, claimed_by = NULL WHERE ${HELD}`,
};

/** Returns claimed leases. */
export const PUT_BACK: Statement = {
  name: 'lease-put-back',
  text: 'UPDATE lease SET due_at_ms = $2, claimed_by = NULL WHERE hash = ANY($1::bytea[]) AND claimed_by = $3',
};

export const IRREVOCABLE: Statement = {
  name: 'lease-irrevocable',
  text: `SELECT ${LEASE_COLUMNS} FROM lease WHERE namespace_id = ANY($1::uuid[]) AND state = 2 ORDER BY namespace_id, hash LIMIT $2`,
};
export const COUNT_IRREVOCABLE: Statement = {
  name: 'lease-count-irrevocable',
  text: `SELECT mount_id, count(*)::int AS count FROM lease WHERE namespace_id = ANY($1::uuid[]) AND state = 2 GROUP BY mount_id`,
};
/** Makes irrevocable leases due again. */
export const REPLAY: Statement = {
  name: 'lease-replay',
  text: `UPDATE lease SET attempts = 0, due_at_ms = $2, state = 1, away_since_ms = NULL, claimed_by = NULL
          WHERE namespace_id = $1 AND state = 2 AND ($3::bytea IS NULL OR hash = $3)`,
};

/** Leases that were not ended with their token. $1 now, $2 how many, $3 after. */
export const ORPHANS: Statement = {
  name: 'lease-orphans',
  text: `WITH page AS (
    SELECT hash, token_hash, state FROM lease WHERE hash > $3 ORDER BY hash LIMIT $2
  ), ended AS (
    UPDATE lease SET state = 1, due_at_ms = $1 FROM page
     WHERE lease.hash = page.hash AND page.state = 0 AND page.token_hash IS NOT NULL
       AND NOT EXISTS (SELECT FROM token WHERE token.hash = page.token_hash) RETURNING 1
  ) SELECT (SELECT hash FROM page ORDER BY hash DESC LIMIT 1) AS last, (SELECT count(*)::int FROM page) AS seen,
           (SELECT count(*)::int FROM ended) AS ended`,
};

/** Folders under a path by a skip scan. $1 namespace, $2 prefix, $3 its end or null, $4 start, $5 limit. */
const folders = (table: 'lease' | 'token'): string => {
  const next = (start: string) => `(
       SELECT path FROM ${table} WHERE namespace_id = $1 AND path >= ${start} AND ($3::text IS NULL OR path < $3)
        ORDER BY path LIMIT 1) e, LATERAL (SELECT
          left(e.path, length($2) + position('/' IN substr(e.path, length($2) + 1))) AS name) k`;
  return `WITH RECURSIVE seen(name, n) AS (
    (SELECT k.name, 1 FROM ${next('$4')})
    UNION ALL
    SELECT k.name, seen.n + 1 FROM seen, LATERAL ${next("left(seen.name, -1) || '0'")} WHERE seen.n < $5
  ) SELECT substr(name, length($2) + 1) AS name FROM seen`;
};
export const LEASE_FOLDERS: Statement = { name: 'lease-folders', text: folders('lease') };
export const TOKEN_FOLDERS: Statement = { name: 'token-folders', text: folders('token') };

/** Leases at exactly one path. $3 after which hash, $4 how many. */
export const AT_PATH: Statement = {
  name: 'lease-at-path',
  text: `SELECT ${LEASE_COLUMNS} FROM lease WHERE namespace_id = $1 AND path = $2 AND hash > $3 ORDER BY hash LIMIT $4`,
};
export const TOKENS_AT_PATH: Statement = {
  name: 'token-at-path',
  text: `SELECT hash FROM token WHERE namespace_id = $1 AND path = $2 AND hash > $3 ORDER BY hash LIMIT $4`,
};

/** The counts for the gauges, from indexes only. $1 now. */
export const COUNTS: Statement = {
  name: 'lease-counts',
  text: `WITH RECURSIVE ${MOUNTS}
  SELECT (SELECT count(*) FROM lease) AS leases,
         (SELECT count(*) FROM lease WHERE state = 2) AS irrevocable,
         (SELECT count(*) FROM lease WHERE state > 0) AS not_live,
         (SELECT count(*) FROM m JOIN lease l ON l.mount_id = m.mount_id AND l.due_at_ms <= $1) AS due,
         (SELECT count(*) FROM token) AS tokens,
         (SELECT count(*) FROM token WHERE due_at_ms <= $1) AS tokens_due,
         (SELECT count(*) FROM intent) AS intents`,
};

/**
 * Counts objects that expire soon, from indexes only. $1 mounts with an index by expiry, $2 the kind of objects in each
 * mount, $3 namespaces, $4 now, $5 to $7 until when, in milliseconds; $8 to $11 the same as keys of those indexes. Its
 * conditions for tokens are those of the index `token_expiring`.
 */
export const EXPIRING: Statement = {
  name: 'expiring-counts',
  text: `SELECT m.kind, count(*) FILTER (WHERE e.path < $9) AS day, count(*) FILTER (WHERE e.path < $10) AS week,
         count(*) AS month
    FROM unnest($1::uuid[], $2::text[]) AS m(id, kind)
    JOIN entry e ON e.mount_id = m.id AND e.path >= $8 AND e.path < $11 GROUP BY m.kind
  UNION ALL
  SELECT 'tokens', count(*) FILTER (WHERE t.expires_at_ms <= $5), count(*) FILTER (WHERE t.expires_at_ms <= $6), count(*)
    FROM unnest($3::uuid[]) AS n(id)
    JOIN token t ON t.namespace_id = n.id AND t.state = 0 AND t.path LIKE 'auth/token/%'
         AND t.expires_at_ms - t.created_at_ms >= 86400000 AND t.expires_at_ms > $4 AND t.expires_at_ms <= $7`,
};
