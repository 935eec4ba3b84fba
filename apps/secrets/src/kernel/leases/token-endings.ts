import type { Statement } from '../storage/database';
import { cacheKey } from '../storage/entries';
import type { StorageKernel } from '../storage/storage';
import type { Notice, Tx } from '../storage/types';
import { entryNotices, mountEntriesNotice } from '../storage/write-set';
import { HASTEN_OF_TOKENS } from './statements';
import type { LeaseHosts } from './types';

/**
 * Ends tokens. Everything that a token has created ends first, and its row is deleted last, so that any node can
 * continue after a crash. A marked token gets no new children or leases, because writing them locks their token.
 */
export class TokenEndings {
  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: Pick<LeaseHosts, 'privateMountIds'>,
    /** Called when leases have become due. */
    private readonly leasesDue: () => void,
  ) {}

  /** Ends a token with all its descendants, what they stored, and (soon after) their leases. */
  async end(hash: Buffer): Promise<void> {
    if ((await this.mark([hash])).length > 0) await this.endMarked([hash]);
  }

  /** Ends a token if it was created in this namespace at this path, which ends in `/`. */
  async endAt(namespaceId: string, path: string, hash: Buffer): Promise<void> {
    const { rows } = await this.storage.database.query(FIND_AT, [hash, namespaceId, path]);
    if (rows.length > 0) await this.end(hash);
  }

  /** Revokes one token and makes its children orphans. Returns false if it does not exist. */
  async endAlone(hash: Buffer): Promise<boolean> {
    if ((await this.mark([hash])).length === 0) return false;
    await this.storage.fault('token:marked');
    await this.storage.committer.transaction(
      async (tx) => (await tx.query<{ hash: Buffer }>(RELEASE_CHILDREN, [hash])).rows,
      (rows) => tokenNotices(rows.map((row) => row.hash)),
    );
    await this.finish([hash]);
    return true;
  }

  /** Ends expired tokens; true if more are waiting. */
  async sweep(): Promise<boolean> {
    const now = this.storage.clock.now();
    const due = await this.storage.committer.transaction(
      async (tx) =>
        (await tx.query<{ hash: Buffer }>(CLAIM_DUE, [now, now + CLAIM_MS, CHUNK])).rows.map((row) => row.hash),
      tokenNotices,
    );
    if (due.length === 0) return false;
    await this.endMarked(due);
    return due.length === CHUNK;
  }

  /** Marks tokens created under a path prefix, a limited number at a time. The sweep removes them like expired ones. */
  async hastenPrefix(namespaceId: string, prefix: string, end: string | null): Promise<number> {
    const marked = await this.storage.committer.transaction(
      async (tx) =>
        (
          await tx.query<{ hash: Buffer }>(HASTEN_PREFIX, [namespaceId, prefix, end, this.storage.clock.now(), CHUNK])
        ).rows.map((row) => row.hash),
      tokenNotices,
    );
    return marked.length;
  }

  /** Marks tokens so that they are refused everywhere. Returns those that exist. */
  private mark(hashes: readonly Buffer[]): Promise<Buffer[]> {
    return this.storage.committer.transaction(async (tx) => {
      const due = this.storage.clock.now() + CLAIM_MS;
      return (await tx.query<{ hash: Buffer }>(MARK, [hashes, due])).rows.map((row) => row.hash);
    }, tokenNotices);
  }

  private async endMarked(hashes: readonly Buffer[]): Promise<void> {
    await this.storage.fault('token:marked');
    for (;;) {
      const { rows } = await this.storage.database.query<{ hash: Buffer }>(CHILDREN, [hashes, CHUNK]);
      if (rows.length === 0) break;
      const children = rows.map((row) => row.hash);
      await this.mark(children);
      await this.endMarked(children);
    }
    await this.finish(hashes);
  }

  private async finish(hashes: readonly Buffer[]): Promise<void> {
    const { committer, fault, clock } = this.storage;
    let leases = 0;
    for (;;) {
      const { rowCount } = await this.storage.database.query(HASTEN_OF_TOKENS, [hashes, clock.now(), LEASES_AT_ONCE]);
      leases += rowCount ?? 0;
      if ((rowCount ?? 0) < LEASES_AT_ONCE) break;
    }
    await fault('token:leases');
    await committer.transaction(async (tx: Tx) => {
      const keys = hashes.map((hash) => hash.toString('hex'));
      const { rows } = await tx.query<PrivateEntry>(CLEAR_PRIVATE, [this.hosts.privateMountIds(), keys]);
      await fault('token:private');
      await tx.query(DELETE, [hashes]);
      return rows;
    }, privateNotices);
    await fault('token:gone');
    if (leases > 0) this.leasesDue();
  }
}

// Ending is quick, so another node soon takes over from a dead node.
const CLAIM_MS = 15_000;
const CHUNK = 500;
const LEASES_AT_ONCE = 5000;

// FOR UPDATE waits for children and leases that are being written under the token, and blocks new ones.
const MARK: Statement = {
  name: 'token-mark',
  text: `UPDATE token SET state = 1, due_at_ms = $2 WHERE hash IN (
    SELECT hash FROM token WHERE hash = ANY($1::bytea[]) ORDER BY hash FOR UPDATE) RETURNING hash`,
};
const FIND_AT: Statement = {
  name: 'token-find-at',
  text: 'SELECT 1 FROM token WHERE hash = $1 AND namespace_id = $2 AND path = $3',
};
const CLAIM_DUE: Statement = {
  name: 'token-claim',
  text: `UPDATE token SET state = 1, due_at_ms = $2 WHERE hash IN (
    SELECT hash FROM token WHERE due_at_ms <= $1 ORDER BY due_at_ms LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING hash`,
};
const HASTEN_PREFIX: Statement = {
  name: 'token-hasten-prefix',
  text: `UPDATE token SET state = 1, due_at_ms = $4 WHERE hash IN (
    SELECT hash FROM token WHERE namespace_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3) AND state = 0
     ORDER BY hash LIMIT $5 FOR UPDATE) RETURNING hash`,
};
const CHILDREN: Statement = {
  name: 'token-children',
  text: 'SELECT hash FROM token WHERE parent_hash = ANY($1::bytea[]) LIMIT $2',
};
const RELEASE_CHILDREN: Statement = {
  name: 'token-release-children',
  text: 'UPDATE token SET parent_hash = NULL WHERE parent_hash = $1 RETURNING hash',
};
const CLEAR_PRIVATE: Statement = {
  name: 'token-clear-private',
  text: `WITH folder AS (
    SELECT m.id AS mount_id, k.key || '/' AS low, k.key || '0' AS high
      FROM unnest($1::uuid[]) AS m(id) CROSS JOIN unnest($2::text[]) AS k(key)
  ), gone AS (
    DELETE FROM entry USING folder
     WHERE entry.mount_id = folder.mount_id AND entry.path >= folder.low AND entry.path < folder.high
    RETURNING entry.mount_id, entry.path
  ), witness AS (
    DELETE FROM entry_witness w USING gone WHERE w.mount_id = gone.mount_id AND w.path = gone.path
  ) SELECT mount_id, path FROM gone`,
};
const DELETE: Statement = {
  name: 'token-delete',
  text: 'DELETE FROM token WHERE hash = ANY($1::bytea[]) AND state = 1',
};

interface PrivateEntry {
  readonly mount_id: string;
  readonly path: string;
}

/** A few tokens are named individually; for many, the whole cache is dropped. */
const NAMED = 300;
function privateNotices(entries: readonly PrivateEntry[]): Notice[] {
  if (entries.length > NAMED)
    return [...new Set(entries.map(({ mount_id: mountId }) => mountId))].map(mountEntriesNotice);
  return entryNotices(entries.map(({ mount_id: mountId, path }) => cacheKey({ mountId, path })));
}

function tokenNotices(hashes: readonly Buffer[]): Notice[] {
  if (hashes.length > NAMED) return [{ topic: 'token', key: '*' }];
  return hashes.map((hash) => ({ topic: 'token', key: hash.toString('hex') }));
}
