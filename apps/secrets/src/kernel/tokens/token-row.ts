import type { Barrier, TokenRow } from '../storage/types';
import type { TokenRecord } from './types';

/** A row of the token table. */
export interface StoredToken {
  hash: Buffer;
  parent_hash: Buffer | null;
  namespace_id: string;
  mount_id: string | null;
  entity_id: string | null;
  path: string;
  state: number;
  uses_left: number | null;
  created_at_ms: string;
  expires_at_ms: string | null;
  sealed: Buffer;
}

export const TOKEN_COLUMNS =
  'hash, parent_hash, namespace_id, mount_id, entity_id, path, state, uses_left, created_at_ms, expires_at_ms, sealed';

/**
 * The sealed part of a token. It also contains the end of the token, so that a manual change of the column is noticed.
 */
interface SealedToken {
  a: string;
  n: string;
  p: readonly string[];
  m: Readonly<Record<string, string>> | null;
  r?: string;
  al?: string;
  t: number;
  x?: number;
  mt?: number;
  em?: number;
  pd?: number;
  rn: boolean;
  u?: number;
  c?: readonly string[];
  o: boolean;
  l?: number;
  at?: number;
  i?: Readonly<Record<string, unknown>>;
  w?: TokenRecord['wrapping'];
}

/** The database row of a token does not match its sealed part. */
class TamperedToken extends Error {
  override readonly name = 'TamperedToken';
}

const tokenCell = (key: string) => ({ table: 'token', row: key, column: 'sealed' });

/** Seals the secret part of a token. */
export function sealToken(barrier: Barrier, token: TokenRecord): Buffer {
  const sealed: SealedToken = {
    a: token.accessor,
    n: token.displayName,
    p: token.policies,
    m: token.meta,
    r: token.role,
    al: token.aliasId,
    t: token.ttlSeconds,
    x: token.expiresAtMs,
    mt: token.maxTtlSeconds || undefined,
    em: token.explicitMaxTtlSeconds || undefined,
    pd: token.periodSeconds || undefined,
    rn: token.renewable,
    u: token.numUses || undefined,
    c: token.boundCidrs.length > 0 ? token.boundCidrs : undefined,
    o: token.orphan,
    l: token.lastRenewalMs,
    at: token.authenticatedAtMs === token.createdAtMs ? undefined : token.authenticatedAtMs,
    i: token.internal,
    w: token.wrapping,
  };
  return barrier.sealJson(sealed, tokenCell(token.key));
}

/** The row of a new token. */
export function tokenRow(barrier: Barrier, token: TokenRecord): TokenRow {
  return {
    hash: token.hash,
    accessorHash: barrier.mac('accessor', token.accessor),
    parentHash: token.parentHash,
    namespaceId: token.namespaceId,
    mountId: token.mountId,
    entityId: token.entityId,
    path: token.path,
    usesLeft: token.numUses > 0 ? token.numUses : undefined,
    createdAtMs: token.createdAtMs,
    expiresAtMs: token.expiresAtMs,
    sealed: sealToken(barrier, token),
  };
}

/** Decrypts a row; throws if it was altered. */
export function openToken(barrier: Barrier, row: StoredToken): TokenRecord {
  const key = row.hash.toString('hex');
  const sealed = barrier.openJson<SealedToken>(row.sealed, tokenCell(key));
  const expiresAtMs = row.expires_at_ms === null ? undefined : Number(row.expires_at_ms);
  const usesLeft = row.uses_left ?? undefined;
  if (expiresAtMs !== sealed.x || (usesLeft === undefined ? sealed.u : usesLeft > (sealed.u ?? 0))) {
    throw new TamperedToken(`token ${key} was changed in the database`);
  }
  return {
    hash: row.hash,
    key,
    type: 'service',
    accessor: sealed.a,
    parentHash: row.parent_hash ?? undefined,
    namespaceId: row.namespace_id,
    path: row.path.slice(0, -1),
    displayName: sealed.n,
    policies: sealed.p,
    meta: sealed.m,
    entityId: row.entity_id ?? undefined,
    mountId: row.mount_id ?? undefined,
    role: sealed.r,
    aliasId: sealed.al,
    createdAtMs: Number(row.created_at_ms),
    authenticatedAtMs: sealed.at ?? Number(row.created_at_ms),
    expiresAtMs,
    lastRenewalMs: sealed.l,
    ttlSeconds: sealed.t,
    maxTtlSeconds: sealed.mt ?? 0,
    explicitMaxTtlSeconds: sealed.em ?? 0,
    periodSeconds: sealed.pd ?? 0,
    renewable: sealed.rn,
    numUses: sealed.u ?? 0,
    usesLeft,
    boundCidrs: sealed.c ?? [],
    // A parent that was revoked without its children has left them as orphans.
    orphan: row.parent_hash === null,
    internal: sealed.i,
    wrapping: sealed.w,
  };
}
