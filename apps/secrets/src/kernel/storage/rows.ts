import { Refusal } from '@keystead/refusal';
import { entryCell } from './entry-rows';
import * as sql from './statements';
import type { Barrier, EntryPut, IntentRow, LeaseRow, TokenRow, Tx, WriteSet } from './types';

type Queryable = Pick<Tx, 'query'>;

/** Sealed entries as parallel arrays for the statements. */
export interface PutColumns {
  readonly keys: string[];
  readonly puts: EntryPut[];
  readonly mounts: string[];
  readonly paths: string[];
  readonly sealed: Buffer[];
  readonly expiries: (number | null)[];
  readonly authorities: (Buffer | null)[];
  /** True if every entry is written under a token that must be live. */
  readonly underTokens: boolean;
}

/** Seals entries and puts them into parallel arrays, ordered by key. */
export function putColumns(
  barrier: Barrier,
  puts: ReadonlyMap<string, { readonly put: EntryPut; readonly authority: Buffer | undefined }>,
): PutColumns {
  const ordered = [...puts.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const columns: PutColumns & { underTokens: boolean } = {
    keys: [],
    puts: [],
    mounts: [],
    paths: [],
    sealed: [],
    expiries: [],
    authorities: [],
    underTokens: ordered.some(([, { authority }]) => authority !== undefined),
  };
  for (const [key, { put, authority }] of ordered) {
    columns.keys.push(key);
    columns.puts.push(put);
    columns.mounts.push(put.mountId);
    columns.paths.push(put.path);
    columns.sealed.push(barrier.seal(put.value, entryCell(put)));
    columns.expiries.push(put.expiresAtMs ?? null);
    columns.authorities.push(authority ?? null);
  }
  return columns;
}

/** Every token that must be live for the sets to be written. */
export function authoritiesOf(sets: readonly WriteSet[]): Buffer[] {
  const all = new Map<string, Buffer>();
  const add = (hash: Buffer | undefined) => hash && all.set(hash.toString('latin1'), hash);
  for (const set of sets) {
    for (const hash of set.authorities) add(hash);
    for (const token of set.tokens) add(token.parentHash);
    for (const lease of set.leases) add(lease.tokenHash);
  }
  return [...all.values()];
}

/** Locks tokens until the commit, so that they stay live; throws `denied` if one is gone or being revoked. */
export async function lockTokens(tx: Queryable, hashes: readonly Buffer[]): Promise<void> {
  const { rows } = await tx.query(sql.LOCK_TOKENS, [hashes]);
  if (rows.length < hashes.length) throw new Refusal('denied', 'permission denied');
}

// Paths of tokens and leases end in a slash in the database: so they sort, list and match prefixes like the ids that
// begin with them.

/** Inserts tokens and returns which (latin1 of the hash); the others have a dead parent or a taken id. */
export async function insertTokens(tx: Queryable, tokens: readonly TokenRow[]): Promise<Set<string>> {
  const parents = new Map<string, Buffer>();
  for (const { parentHash } of tokens) if (parentHash) parents.set(parentHash.toString('latin1'), parentHash);
  const { rows } = await tx.query<{ hash: Buffer }>(sql.INSERT_TOKENS, [
    tokens.map((token) => token.hash),
    tokens.map((token) => token.accessorHash),
    tokens.map((token) => token.parentHash ?? null),
    tokens.map((token) => token.namespaceId),
    tokens.map((token) => token.mountId ?? null),
    tokens.map((token) => token.entityId ?? null),
    tokens.map((token) => `${token.path}/`),
    tokens.map((token) => token.usesLeft ?? null),
    tokens.map((token) => token.createdAtMs),
    tokens.map((token) => token.expiresAtMs ?? null),
    tokens.map((token) => token.sealed),
    [...parents.values()],
  ]);
  return new Set(rows.map((row) => row.hash.toString('latin1')));
}

/** Inserts leases and counts them towards their quotas; throws `limited` if one is full. */
export async function insertLeases(tx: Queryable, leases: readonly LeaseRow[]): Promise<void> {
  if (leases.length === 0) return;
  const counts = new Map<string, number>();
  for (const id of leases.flatMap((lease) => lease.quotaIds)) counts.set(id, (counts.get(id) ?? 0) + 1);
  const columns = [
    leases.map((lease) => lease.hash),
    leases.map((lease) => lease.namespaceId),
    leases.map((lease) => lease.mountId),
    leases.map((lease) => `${lease.path}/`),
    leases.map((lease) => lease.role),
    leases.map((lease) => lease.tokenHash ?? null),
    leases.map((lease) => lease.issuedAtMs),
    leases.map((lease) => lease.expiresAtMs),
    leases.map((lease) => lease.sealed),
    // An array of arrays would be flattened.
    leases.map((lease) => `{${lease.quotaIds.join(',')}}`),
  ];
  if (counts.size === 0) {
    await tx.query(sql.INSERT_LEASES, columns);
    return;
  }
  const values = [...columns, [...counts.keys()], [...counts.values()]];
  const { rows } = await tx.query<{ counted: number }>(sql.INSERT_COUNTED_LEASES, values);
  if (rows[0]!.counted < counts.size) {
    throw new Refusal('limited', `request path "${leases[0]!.path}": lease count quota exceeded`);
  }
}

/** How long after an intent an outside system may still act on a call: until then it is undone again. */
export const INTENT_GRACE_MS = 5 * 60_000;
/** A call of a living node that takes longer than this has lost its intent. */
const LONGEST_CALL_MS = 30 * 60_000;

export const intentCell = (id: string) => ({ table: 'intent', row: id, column: 'sealed' });

export async function insertIntents(
  tx: Queryable,
  barrier: Barrier,
  intents: readonly IntentRow[],
  nowMs: number,
  nodeId: string,
): Promise<void> {
  if (intents.length === 0) return;
  await tx.query(sql.INSERT_INTENTS, [
    intents.map((intent) => intent.id),
    intents.map((intent) => intent.mountId),
    intents.map((intent) => intent.kind),
    intents.map(() => nowMs),
    intents.map(({ later }) => nowMs + (later ? INTENT_GRACE_MS : LONGEST_CALL_MS)),
    intents.map(({ later }) => (later ? null : nodeId)),
    intents.map((intent) => barrier.sealJson(intent.undo, intentCell(intent.id))),
  ]);
}

/** Removes settled intents; throws if one is gone, because then its work has been undone. */
export async function settleIntents(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { rowCount } = await tx.query(sql.SETTLE_INTENTS, [ids]);
  if (rowCount !== ids.length) throw new Refusal('timeout', 'the request took too long; its effects were undone');
}
