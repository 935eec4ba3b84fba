import { hash } from 'node:crypto';
import { mintToken, randomBase62 } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import type { Soon } from '../../sdk/soon';
import { CoherentCache } from '../storage/cache';
import type { Statement } from '../storage/database';
import { mapInSlices } from '../storage/slices';
import type { StorageKernel } from '../storage/storage';
import type { Barrier, WriteSet } from '../storage/types';
import { add } from '../storage/write-set';
import { openToken, type StoredToken, TOKEN_COLUMNS, tokenRow } from './token-row';
import type { MintedToken, TokenRecord, TokenSpec, Tokens } from './types';

const FIND: Statement = {
  name: 'token-find',
  text: `SELECT ${TOKEN_COLUMNS} FROM token WHERE hash = $1 AND state = 0`,
};
const FIND_BY_ACCESSOR: Statement = {
  name: 'token-find-accessor',
  text: `SELECT ${TOKEN_COLUMNS} FROM token WHERE accessor_hash = $1 AND state = 0`,
};
// The last use makes the row due. It is then removed even if the node that counted the use dies.
const SPEND: Statement = {
  name: 'token-spend',
  text: `UPDATE token SET uses_left = uses_left - 1,
                due_at_ms = CASE WHEN uses_left = 1 THEN $2::bigint ELSE due_at_ms END
          WHERE hash = $1 AND state = 0 AND uses_left > 0 RETURNING uses_left`,
};
const LIST_ACCESSORS: Statement = {
  name: 'token-accessors',
  text: `SELECT ${TOKEN_COLUMNS} FROM token WHERE namespace_id = $1 AND state = 0 AND accessor_hash > $2
            AND (expires_at_ms IS NULL OR expires_at_ms > $4) ORDER BY accessor_hash LIMIT $3`,
};

/** Has the same conditions as the index `token_expiring`, which contains no logins and no short-lived tokens. */
const LIST_EXPIRING: Statement = {
  name: 'token-expiring',
  text: `SELECT ${TOKEN_COLUMNS} FROM token WHERE namespace_id = $1 AND state = 0 AND path LIKE 'auth/token/%'
            AND expires_at_ms - created_at_ms >= 86400000 AND expires_at_ms > $2 AND expires_at_ms <= $3
            ORDER BY expires_at_ms LIMIT $4`,
};

/** The parts of the service that tokens use. */
export interface TokenHosts {
  /** Whether the namespace `inner` is the namespace `outer` or below it. */
  within(outer: string, inner: string): boolean;
}

/** How long a request that took the last use has to end the token itself. */
const LAST_USE_MS = 120_000;
const RANDOM_LENGTH = 24;
const PAGE = 1000;

/** Batch tokens are not stored: they contain all their data, encrypted. */
const BATCH_CELL = { table: 'token', row: 'batch', column: 'blob' };
const BATCH_PREFIX = 'b.';

/** Tokens on the token table. Found tokens are cached; every node learns of revocations within a second. */
export class StoredTokens implements Tokens {
  private readonly cache: CoherentCache<TokenRecord>;
  /**
   * A cache of keyed hashes, which are expensive to compute. Its keys are plain hashes, because a token itself would
   * remain here after its revocation.
   */
  private readonly keys: LRUCache<string, string>;

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: TokenHosts,
    { maxCached = 20_000 }: { maxCached?: number } = {},
  ) {
    this.cache = new CoherentCache({ maxEntries: maxCached, fresh: () => storage.changes.fresh });
    this.keys = new LRUCache({ maxSize: maxCached, sizeCalculation: () => 1 });
    storage.changes.listen('token', (key) => (key === '*' ? this.cache.clear() : this.cache.forget(key)));
    storage.changes.listen('seal', () => this.clear());
  }

  /** Forgets everything: the service is being sealed. */
  clear(): void {
    this.cache.clear();
    this.keys.clear();
  }

  find(token: string): Soon<TokenRecord | undefined> {
    if (token.startsWith(BATCH_PREFIX)) return this.findBatch(token);
    const plain = hash('sha256', token, 'base64');
    const cachedKey = this.keys.get(plain);
    const cached = cachedKey === undefined ? undefined : this.cache.peek(cachedKey);
    return cached ? this.living(cached) : this.findStored(token, plain, cachedKey);
  }

  private async findStored(
    token: string,
    plain: string,
    cachedKey: string | undefined,
  ): Promise<TokenRecord | undefined> {
    const record = await this.findByHash(cachedKey === undefined ? this.hashOf(token) : Buffer.from(cachedKey, 'hex'));
    // Only existing tokens are cached, because guesses must not evict them.
    if (record) this.keys.set(plain, record.key);
    return record;
  }

  async findByHash(hash: Buffer): Promise<TokenRecord | undefined> {
    const key = hash.toString('hex');
    const cached = this.cache.peek(key);
    if (cached) return this.living(cached);
    const ticket = this.cache.begin(key, false);
    let record: TokenRecord | undefined;
    try {
      const { rows } = await this.storage.database.query<StoredToken>(FIND, [hash]);
      record = rows[0] && (await this.open(rows[0]));
    } finally {
      // Uses are counted in the database, so a limited-use token is read each time. Absence is not cached.
      this.cache.settle(ticket, record?.usesLeft === undefined ? record : undefined);
    }
    return record && this.living(record);
  }

  async findWithin(namespaceId: string, token: string): Promise<TokenRecord | undefined> {
    const record = await this.find(token);
    return record && this.hosts.within(namespaceId, record.namespaceId) ? record : undefined;
  }

  async findByAccessor(namespaceId: string, accessor: string): Promise<TokenRecord | undefined> {
    const hash = this.storage.barrier.mac('accessor', accessor);
    const { rows } = await this.storage.database.query<StoredToken>(FIND_BY_ACCESSOR, [hash]);
    const [row] = rows;
    return row && this.hosts.within(namespaceId, row.namespace_id) ? this.living(await this.open(row)) : undefined;
  }

  async spend(record: TokenRecord): Promise<TokenRecord> {
    if (record.usesLeft === undefined) return record;
    const due = this.storage.clock.now() + LAST_USE_MS;
    const { rows } = await this.storage.database.query<{ uses_left: number }>(SPEND, [record.hash, due]);
    if (!rows[0]) throw new Refusal('denied', 'permission denied');
    return { ...record, usesLeft: rows[0].uses_left || -1 };
  }

  mint(spec: TokenSpec, set: WriteSet): MintedToken {
    const now = this.storage.clock.now();
    const { barrier } = this.storage;
    const base = {
      type: spec.type,
      accessor: spec.type === 'batch' ? '' : randomBase62(RANDOM_LENGTH),
      parentHash: spec.parent?.hash,
      namespaceId: spec.namespaceId,
      path: spec.path,
      displayName: spec.displayName,
      policies: spec.policies,
      meta: spec.meta ?? null,
      entityId: spec.entityId || undefined,
      aliasId: spec.aliasId,
      mountId: spec.mountId,
      role: spec.role,
      createdAtMs: now,
      authenticatedAtMs: spec.authenticatedAtMs ?? spec.parent?.authenticatedAtMs ?? now,
      expiresAtMs: spec.ttlSeconds > 0 ? now + spec.ttlSeconds * 1000 : undefined,
      ttlSeconds: spec.ttlSeconds,
      maxTtlSeconds: spec.maxTtlSeconds ?? 0,
      explicitMaxTtlSeconds: spec.explicitMaxTtlSeconds ?? 0,
      periodSeconds: spec.periodSeconds ?? 0,
      renewable: spec.renewable && spec.type === 'service',
      numUses: spec.numUses ?? 0,
      usesLeft: spec.numUses || undefined,
      boundCidrs: spec.boundCidrs ?? [],
      orphan: spec.parent === undefined,
      internal: spec.internal,
      wrapping: spec.wrapping,
    };
    if (spec.type === 'batch') {
      // A batch token is not stored, but its parent must be valid, here and at each use.
      if (spec.parent) add(set, 'authorities', spec.parent.hash);
      const token = writeBatchToken(barrier, base);
      return { token, record: this.identified(token, base) };
    }
    const suffix = spec.namespaceShortId ? `.${spec.namespaceShortId}` : '';
    const token = spec.id ?? mintToken('s.', RANDOM_LENGTH) + suffix;
    const record = this.identified(token, base);
    add(set, 'tokens', tokenRow(barrier, record));
    return { token, record };
  }

  async listLive<T>(
    namespaceId: string,
    each: (token: TokenRecord) => T,
    page: { after?: string; limit?: number } = {},
  ): Promise<T[]> {
    const { database, barrier, clock } = this.storage;
    const shown: T[] = [];
    let after = page.after === undefined ? Buffer.alloc(0) : barrier.mac('accessor', page.after);
    const pageSize = page.limit ?? Number.POSITIVE_INFINITY;
    while (shown.length < pageSize) {
      const limit = Math.min(PAGE, pageSize - shown.length);
      const { rows } = await database.query<StoredToken>(LIST_ACCESSORS, [namespaceId, after, limit, clock.now()]);
      const tokens = await mapInSlices(rows, (row) => this.open(row));
      for (const token of tokens) shown.push(each(token));
      if (rows.length < limit) break;
      after = barrier.mac('accessor', tokens.at(-1)!.accessor);
    }
    return shown;
  }

  async listExpiring(
    namespaceId: string,
    { fromMs, untilMs, limit }: Parameters<Tokens['listExpiring']>[1],
  ): Promise<TokenRecord[]> {
    const { rows } = await this.storage.database.query<StoredToken>(LIST_EXPIRING, [
      namespaceId,
      fromMs,
      untilMs,
      limit,
    ]);
    return mapInSlices(rows, (row) => this.open(row));
  }

  /** The lookup hash of a token. */
  hashOf(token: string): Buffer {
    return this.storage.barrier.mac('token', token);
  }

  private identified(token: string, base: Omit<TokenRecord, 'hash' | 'key'>): TokenRecord {
    const hash = this.hashOf(token);
    return { ...base, hash, key: hash.toString('hex') };
  }

  private async findBatch(token: string): Promise<TokenRecord | undefined> {
    let batchRecord = readBatchToken(this.storage.barrier, token);
    // Another node may have issued it under a newer key.
    if (!batchRecord && (await this.storage.reloadKeys())) batchRecord = readBatchToken(this.storage.barrier, token);
    if (!batchRecord) return undefined;
    const record = this.living(this.identified(token, batchRecord));
    if (record?.parentHash && !(await this.findByHash(record.parentHash))) return undefined;
    return record;
  }

  private async open(row: StoredToken): Promise<TokenRecord> {
    const { barrier } = this.storage;
    try {
      return openToken(barrier, row);
    } catch (error) {
      if (barrier.sealed || !(await this.storage.reloadKeys())) throw error;
      return openToken(barrier, row);
    }
  }

  private living(record: TokenRecord): TokenRecord | undefined {
    if (record.expiresAtMs !== undefined && record.expiresAtMs <= this.storage.clock.now()) return undefined;
    // The request that took the last use may still read its token; for all other requests the token is invalid.
    return record.usesLeft === 0 ? { ...record, usesLeft: -1 } : record;
  }
}

type Carried = Omit<
  TokenRecord,
  'hash' | 'key' | 'type' | 'accessor' | 'parentHash' | 'usesLeft' | 'authenticatedAtMs'
> & {
  readonly parent?: string;
  /** Absent in batch tokens of earlier versions. */
  readonly authenticatedAtMs?: number;
};

/** The text of a batch token. */
function writeBatchToken(barrier: Barrier, token: Omit<TokenRecord, 'hash' | 'key'>): string {
  const { type: _, accessor: __, parentHash, usesLeft: ___, ...rest } = token;
  const carried: Carried = { ...rest, parent: parentHash?.toString('base64') };
  return BATCH_PREFIX + barrier.sealJson(carried, BATCH_CELL).toString('base64url');
}

/** Reads a batch token; undefined if it is not ours. */
function readBatchToken(barrier: Barrier, text: string): Omit<TokenRecord, 'hash' | 'key'> | undefined {
  const blob = Buffer.from(text.slice(BATCH_PREFIX.length), 'base64url');
  let carried: Carried;
  try {
    carried = barrier.openJson<Carried>(blob, BATCH_CELL);
  } catch (error) {
    if (barrier.sealed) throw error;
    return undefined;
  }
  const { parent, authenticatedAtMs = carried.createdAtMs, ...rest } = carried;
  return {
    ...rest,
    authenticatedAtMs,
    type: 'batch',
    accessor: '',
    parentHash: parent ? Buffer.from(parent, 'base64') : undefined,
  };
}
