import type { Statement } from './database';

// Writes of one batch share a statement per table; arrays are unnested side by side. Rows are ordered by key, so that
// two batches never deadlock.

/** Locks tokens that must stay valid until the commit. Tokens that are being revoked are not returned. */
export const LOCK_TOKENS: Statement = {
  name: 'token-lock',
  text: 'SELECT hash FROM token WHERE hash = ANY($1::bytea[]) AND state = 0 ORDER BY hash FOR KEY SHARE',
};

const UPSERT = `
  INSERT INTO entry AS e (mount_id, path, sealed, expires_at_ms)
  SELECT i.mount_id, i.path, i.sealed, i.expires_at_ms FROM i
  ON CONFLICT (mount_id, path) DO UPDATE
     SET sealed = excluded.sealed, expires_at_ms = excluded.expires_at_ms, revision = e.revision + 1
  RETURNING e.mount_id, e.path, e.revision, e.sealed`;

// The stamp is the end of the sealed value: its authentication tag.
const WITNESS = `
  INSERT INTO entry_witness (mount_id, path, stamp)
  SELECT mount_id, path, substring(sealed FROM length(sealed) - 15) FROM written WHERE revision > 1
  ON CONFLICT (mount_id, path) DO UPDATE SET stamp = excluded.stamp`;

/** $1 mounts, $2 paths, $3 sealed values, $4 expiries. */
export const PUT_ENTRIES: Statement = {
  name: 'entry-put',
  text: `WITH i AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::bigint[]) AS i(mount_id, path, sealed, expires_at_ms)
  ), written AS (${UPSERT}), witness AS (${WITNESS})
  SELECT mount_id, path, revision FROM written`,
};

/**
 * Like `PUT_ENTRIES`, if some entries belong to tokens: $5 token or null, $6 tokens that must be live. Entries of
 * tokens that have ended are omitted.
 */
export const PUT_ENTRIES_UNDER_TOKENS: Statement = {
  name: 'entry-put-under',
  text: `WITH live AS (
    SELECT hash FROM token WHERE hash = ANY($6::bytea[]) AND state = 0 ORDER BY hash FOR KEY SHARE
  ), i AS (
    SELECT u.* FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::bigint[], $5::bytea[])
      AS u(mount_id, path, sealed, expires_at_ms, token_hash)
      LEFT JOIN live ON live.hash = u.token_hash WHERE u.token_hash IS NULL OR live.hash IS NOT NULL
  ), written AS (${UPSERT}), witness AS (${WITNESS})
  SELECT mount_id, path, revision FROM written`,
};

// $1 to $4 as above, $5 the requirement of each row, or null for none, $6 now. Rows that do not meet their requirement
// are omitted. 0 requires that the row is absent, -1 that it exists, and any other number that it has this revision. An
// expired row is absent.
const CHECKED = `
  i AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::bigint[], $5::int[])
      AS i(mount_id, path, sealed, expires_at_ms, required)
  ), put AS (
    INSERT INTO entry AS e (mount_id, path, sealed, expires_at_ms)
    SELECT i.mount_id, i.path, i.sealed, i.expires_at_ms FROM i WHERE i.required IS NULL
    ON CONFLICT (mount_id, path) DO UPDATE
       SET sealed = excluded.sealed, expires_at_ms = excluded.expires_at_ms, revision = e.revision + 1
    RETURNING e.mount_id, e.path, e.revision, e.sealed
  ), made AS (
    INSERT INTO entry AS e (mount_id, path, sealed, expires_at_ms)
    SELECT i.mount_id, i.path, i.sealed, i.expires_at_ms FROM i WHERE i.required = 0
    ON CONFLICT (mount_id, path) DO UPDATE
       SET sealed = excluded.sealed, expires_at_ms = excluded.expires_at_ms, revision = e.revision + 1
     WHERE e.expires_at_ms <= $6
    RETURNING e.mount_id, e.path, e.revision, e.sealed
  ), replaced AS (
    UPDATE entry e SET sealed = i.sealed, expires_at_ms = i.expires_at_ms, revision = e.revision + 1
      FROM i WHERE e.mount_id = i.mount_id AND e.path = i.path
       AND (i.required = -1 OR i.required > 0 AND e.revision = i.required)
       AND (e.expires_at_ms IS NULL OR e.expires_at_ms > $6)
    RETURNING e.mount_id, e.path, e.revision, e.sealed
  ), written AS (
    SELECT * FROM put UNION ALL SELECT * FROM made UNION ALL SELECT * FROM replaced
  ), witness AS (${WITNESS})`;

/** Removes the rows of `mounts`, `paths` and `required`, which are parameters, as of `now`. */
const removal = (mounts: string, paths: string, required: string, now: string) => `
  DELETE FROM entry USING unnest(${mounts}::uuid[], ${paths}::text[], ${required}::int[]) AS d(mount_id, path, required)
   WHERE entry.mount_id = d.mount_id AND entry.path = d.path
     AND (d.required IS NULL OR (d.required = -1 OR entry.revision = d.required)
          AND (entry.expires_at_ms IS NULL OR entry.expires_at_ms > ${now}))
  RETURNING entry.mount_id, entry.path, entry.revision, d.required`;

/** Writes entries, some of them with a condition. */
export const WRITE_ENTRIES: Statement = {
  name: 'entry-write',
  text: `WITH ${CHECKED} SELECT mount_id, path, revision FROM written`,
};

/**
 * $1 mounts, $2 paths, $3 requirements as above, $4 now. Returns the entries that existed and met their requirement.
 */
export const DELETE_ENTRIES: Statement = { name: 'entry-delete', text: removal('$1', '$2', '$3', '$4') };

/**
 * Writes entries as above and removes others ($7 mounts, $8 paths, $9 requirements), in a transaction of one statement.
 * If a requirement is not met or a removed entry has a witness, it divides by zero, and so changes nothing.
 */
export const CHANGE_ENTRIES: Statement = {
  name: 'entry-change',
  text: `WITH ${CHECKED}, removed AS (${removal('$7', '$8', '$9', '$6')}), whole AS (
    SELECT (SELECT count(*) FROM written) = cardinality($1)
       AND (SELECT count(required) FROM removed) = (SELECT count(required) FROM unnest($9) AS d(required))
       AND NOT EXISTS (SELECT FROM removed WHERE revision > 1) AS holds
  )
  SELECT w.mount_id, w.path, w.revision, 1 / whole.holds::int FROM whole LEFT JOIN written w ON true`,
};

// A separate statement removes witnesses. The statement that removes an entry may have waited for a write of that
// entry, and does not see the witness of this write. The witness would then contradict the next entry of that name.

/** Runs after the statement for the entries. $1 mounts, $2 paths. */
export const DELETE_WITNESSES: Statement = {
  name: 'entry-delete-witness',
  text: `DELETE FROM entry_witness w USING unnest($1::uuid[], $2::text[]) AS i(mount_id, path)
          WHERE w.mount_id = i.mount_id AND w.path = i.path`,
};

/** $2 prefix, $3 the first text after all that begin with it, or null for no bound. */
export const DELETE_PREFIX: Statement = {
  name: 'entry-delete-prefix',
  text: 'DELETE FROM entry WHERE mount_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3)',
};

/** Runs after the statement for the entries, because other requests may have created new entries. $1 to $3 as above. */
export const DELETE_WITNESSES_BELOW: Statement = {
  name: 'entry-delete-prefix-witness',
  text: `DELETE FROM entry_witness w WHERE mount_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3)
            AND NOT EXISTS (SELECT FROM entry e WHERE e.mount_id = w.mount_id AND e.path = w.path)`,
};

/** For the rest of the transaction, only indexes are scanned where an index exists. */
export const ONLY_INDEX_SCANS: Statement = {
  name: 'only-index-scans',
  text: `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
};

/**
 * Follows the index to each of these entries. $1 mounts, $2 paths. Because of the limit, it is not planned as a scan of
 * the table.
 */
export const LOOK_AT_ENTRIES: Statement = {
  name: 'entry-look-at',
  text: `SELECT count(*) FROM unnest($1::uuid[], $2::text[]) AS i(mount_id, path)
    CROSS JOIN LATERAL (SELECT revision FROM entry e WHERE e.mount_id = i.mount_id AND e.path = i.path LIMIT 1) e`,
};

/** Follows the index through a folder; $1 to $3 as for `DELETE_PREFIX`. */
export const LOOK_AT_PREFIX: Statement = {
  name: 'entry-look-at-prefix',
  text: `SELECT count(*) FROM (
    SELECT revision FROM entry WHERE mount_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3)
     ORDER BY path LIMIT 1000) e`,
};

// The arrays are in a subquery. Otherwise the server would see how short they are, and plan the look-up again each
// time.
/** $1 mounts, $2 paths, $3 now. The witness is missing for entries that were never rewritten. */
export const READ_ENTRIES: Statement = {
  name: 'entry-read',
  text: `SELECT e.mount_id, e.path, e.revision, e.sealed, e.expires_at_ms, w.stamp
    FROM unnest((SELECT $1::uuid[]), (SELECT $2::text[])) AS i(mount_id, path)
    JOIN entry e ON e.mount_id = i.mount_id AND e.path = i.path
    LEFT JOIN entry_witness w ON w.mount_id = e.mount_id AND w.path = e.path
   WHERE e.expires_at_ms IS NULL OR e.expires_at_ms > $3`,
};

/** One entry: $1 mount, $2 path, $3 now. */
export const READ_ENTRY: Statement = {
  name: 'entry-read-one',
  text: `SELECT e.mount_id, e.path, e.revision, e.sealed, e.expires_at_ms, w.stamp
    FROM entry e LEFT JOIN entry_witness w ON w.mount_id = e.mount_id AND w.path = e.path
   WHERE e.mount_id = $1 AND e.path = $2 AND (e.expires_at_ms IS NULL OR e.expires_at_ms > $3)`,
};

/**
 * Locks the entry for the rest of the transaction; $1 mount, $2 path. A separate statement then reads the entry,
 * because this statement would return the newest entry with an older witness.
 */
export const HOLD_ENTRY: Statement = {
  name: 'entry-hold',
  text: 'SELECT FROM entry WHERE mount_id = $1 AND path = $2 FOR UPDATE',
};

/**
 * Waits for the turn of a name. Nodes take turns in the order in which they ask, each until the end of its transaction.
 */
export const TAKE_TURN: Statement = {
  name: 'turn-take',
  text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7309))',
};

/**
 * Names under a folder by a skip scan. After a folder, the search continues after everything in it, so the cost depends
 * on the number of names, not on the number of entries below. $1 mount, $2 prefix, $3 end of prefix or null, $4 start
 * (exclusive for entries), $5 limit, $6 now.
 */
export const LIST_ENTRIES: Statement = {
  name: 'entry-list',
  text: `WITH RECURSIVE seen(name, next, n) AS (
    (SELECT k.name, k.next, 1 FROM (
       SELECT path FROM entry WHERE mount_id = $1 AND path >= $4 AND ($3::text IS NULL OR path < $3)
          AND (expires_at_ms IS NULL OR expires_at_ms > $6)
        ORDER BY path LIMIT 1) e, LATERAL (SELECT
          CASE WHEN position('/' IN substr(e.path, length($2) + 1)) > 0
               THEN left(e.path, length($2) + position('/' IN substr(e.path, length($2) + 1))) ELSE e.path END AS name,
          CASE WHEN position('/' IN substr(e.path, length($2) + 1)) > 0
               THEN left(e.path, length($2) + position('/' IN substr(e.path, length($2) + 1)) - 1) || '0'
               ELSE e.path || chr(1) END AS next) k)
    UNION ALL
    SELECT k.name, k.next, seen.n + 1 FROM seen, LATERAL (
       SELECT path FROM entry WHERE mount_id = $1 AND path >= seen.next AND ($3::text IS NULL OR path < $3)
          AND (expires_at_ms IS NULL OR expires_at_ms > $6)
        ORDER BY path LIMIT 1) e, LATERAL (SELECT
          CASE WHEN position('/' IN substr(e.path, length($2) + 1)) > 0
               THEN left(e.path, length($2) + position('/' IN substr(e.path, length($2) + 1))) ELSE e.path END AS name,
          CASE WHEN position('/' IN substr(e.path, length($2) + 1)) > 0
               THEN left(e.path, length($2) + position('/' IN substr(e.path, length($2) + 1)) - 1) || '0'
               ELSE e.path || chr(1) END AS next) k
     WHERE seen.n < $5
  ) SELECT substr(name, length($2) + 1) AS name FROM seen`,
};

/** The rows under a folder, without the folder's own name. $1 to $6 as above. */
export const LIST_RANGE: Statement = {
  name: 'entry-list-range',
  text: `SELECT substr(path, length($2) + 1) AS rest FROM entry
          WHERE mount_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3) AND path >= $4
            AND (expires_at_ms IS NULL OR expires_at_ms > $6) ORDER BY path LIMIT $5`,
};

/** The number and size of the entries of a mount. $1 mount. */
export const WEIGH: Statement = {
  name: 'entry-weigh',
  text: 'SELECT count(*), coalesce(sum(octet_length(sealed)), 0) AS bytes FROM entry WHERE mount_id = $1',
};

/** All paths under a prefix. $1 mount, $2 prefix, $3 end or null, $4 start (inclusive), $5 limit, $6 now. */
export const LIST_DEEP: Statement = {
  name: 'entry-list-deep',
  text: `SELECT path FROM entry WHERE mount_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3) AND path >= $4
      AND (expires_at_ms IS NULL OR expires_at_ms > $6) ORDER BY path LIMIT $5`,
};

/**
 * Inserts tokens. $1 hashes, $2 accessor hashes, $3 parents, $4 namespaces, $5 mounts, $6 entities, $7 paths, $8 uses,
 * $9 created, $10 expires, $11 sealed, $12 all parents.
 */
export const INSERT_TOKENS: Statement = {
  name: 'token-insert',
  text: `WITH live AS (
    SELECT hash FROM token WHERE hash = ANY($12::bytea[]) AND state = 0 ORDER BY hash FOR KEY SHARE
  )
  INSERT INTO token (hash, accessor_hash, parent_hash, namespace_id, mount_id, entity_id, path, uses_left,
                     created_at_ms, expires_at_ms, due_at_ms, sealed)
  SELECT t.hash, t.accessor_hash, t.parent_hash, t.namespace_id, t.mount_id, t.entity_id, t.path, t.uses_left,
         t.created_at_ms, t.expires_at_ms, t.expires_at_ms, t.sealed
    FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::int[],
                $9::bigint[], $10::bigint[], $11::bytea[])
      AS t(hash, accessor_hash, parent_hash, namespace_id, mount_id, entity_id, path, uses_left, created_at_ms,
           expires_at_ms, sealed)
   WHERE t.parent_hash IS NULL OR t.parent_hash IN (SELECT hash FROM live)
  ON CONFLICT (hash) DO NOTHING
  RETURNING hash`,
};

const INSERTING_LEASES = `INSERT INTO lease (hash, namespace_id, mount_id, path, role, token_hash, issued_at_ms, expires_at_ms, due_at_ms, sealed, quota_ids)
  SELECT hash, namespace_id, mount_id, path, role, token_hash, issued_at_ms, expires_at_ms, expires_at_ms, sealed, quota_ids::uuid[]
    FROM unnest($1::bytea[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::bigint[], $8::bigint[], $9::bytea[], $10::text[])
      AS l(hash, namespace_id, mount_id, path, role, token_hash, issued_at_ms, expires_at_ms, sealed, quota_ids)`;

export const INSERT_LEASES: Statement = { name: 'lease-insert', text: INSERTING_LEASES };

/**
 * Like `INSERT_LEASES`, but counts the leases towards quotas. A quota at its limit is not among the `counted`. Both are
 * done by one statement, so that the lease table is locked before the quotas, in the same order as when leases end. $11
 * ids, $12 how many.
 */
export const INSERT_COUNTED_LEASES: Statement = {
  name: 'lease-insert-counted',
  text: `WITH inserted AS (${INSERTING_LEASES}), counted AS (
    UPDATE quota SET leases = leases + c.count
      FROM (SELECT * FROM unnest($11::uuid[], $12::bigint[]) AS c(id, count) ORDER BY id) c
     WHERE quota.id = c.id AND (max_leases IS NULL OR leases + c.count <= max_leases) RETURNING quota.id)
  SELECT count(*)::int AS counted FROM counted`,
};

export const INSERT_INTENTS: Statement = {
  name: 'intent-insert',
  text: `INSERT INTO intent (id, mount_id, kind, created_at_ms, due_at_ms, owner, sealed)
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::uuid[], $7::bytea[])`,
};

export const SETTLE_INTENTS: Statement = {
  name: 'intent-settle',
  // An intent that a sweep has started to undo is treated as removed.
  text: 'DELETE FROM intent WHERE id = ANY($1::uuid[]) AND attempts = 0',
};
