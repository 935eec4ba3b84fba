import { Refusal } from '@keystead/refusal';
import { cacheKey, entryCell, prefixEnd } from './entries';
import * as sql from './statements';
import type {
  Barrier,
  Clock,
  Entry,
  EntryDelete,
  EntryPut,
  IntentRow,
  LeaseRow,
  Precondition,
  TokenRow,
  Tx,
  WriteSet,
} from './types';
import { PreconditionFailed } from './write-set';

/** Turns the audit lines of a batch into rows of the chained table. Provided by `kernel/audit`. */
export type AuditChain = (tx: Tx, lines: readonly string[]) => Promise<void>;

/** The dependencies of the functions that commit write sets. */
export interface WriteDeps {
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly auditChain: AuditChain | undefined;
}

/** A new row of the entry table. */
export interface WrittenRow {
  mount_id: string;
  path: string;
  revision: number;
}

/** The final operation on each entry of the sets, by key. */
export function lastOperations(sets: readonly WriteSet[]): Map<string, EntryPut | EntryDelete> {
  const operations = new Map<string, EntryPut | EntryDelete>();
  for (const set of sets) {
    for (const put of set.puts) operations.set(cacheKey(put), put);
    for (const deletion of set.deletes) operations.set(cacheKey(deletion), deletion);
  }
  return new Map([...operations].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/**
 * Writes sets in an open transaction, and returns their entries as written; null for removed ones. Throws
 * `PreconditionFailed`, `denied` for an ended token, `invalid` for a token id in use, `limited` for a full quota.
 */
export async function writeSets(
  deps: WriteDeps,
  tx: Tx,
  sets: readonly WriteSet[],
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const { barrier, clock, nodeId, auditChain } = deps;
  const authorities = authoritiesOf(sets);
  if (authorities.length > 0) await lockTokens(tx, authorities);
  // Prefixes are removed first, so that writes after the removal of a folder remain.
  for (const { mountId, prefix } of sets.flatMap((set) => set.prefixes)) {
    const below = [mountId, prefix, prefixEnd(prefix)];
    await tx.query(sql.DELETE_PREFIX, below);
    await tx.query(sql.DELETE_WITNESSES_BELOW, below);
  }
  const outcome = await writeEntries(deps, tx, operations);
  const tokens = sets.flatMap((set) => set.tokens);
  if (tokens.length > 0 && (await insertTokens(tx, tokens)).size < tokens.length) {
    throw new Refusal('invalid', 'cannot create a token with a duplicate ID');
  }
  await insertLeases(
    tx,
    sets.flatMap((set) => set.leases),
  );
  await insertIntents(
    tx,
    barrier,
    sets.flatMap((set) => set.intents),
    clock.now(),
    nodeId,
  );
  await settleIntents(
    tx,
    sets.flatMap((set) => set.settled),
  );
  for (const run of sets.flatMap((set) => set.run)) await run(tx);
  const lines = sets.flatMap((set) => set.audit);
  if (lines.length > 0 && auditChain) await auditChain(tx, lines);
  return outcome;
}

interface Split {
  readonly puts: Map<string, { put: EntryPut; authority: undefined }>;
  readonly deletes: Map<string, EntryDelete>;
}

function split(operations: ReadonlyMap<string, EntryPut | EntryDelete>): Split {
  const found: Split = { puts: new Map(), deletes: new Map() };
  for (const [key, operation] of operations) {
    if (isPut(operation)) found.puts.set(key, { put: operation, authority: undefined });
    else found.deletes.set(key, operation);
  }
  return found;
}

/** Notes the entries of written rows. */
function noteWritten(outcome: Map<string, Entry | null>, puts: Split['puts'], rows: readonly WrittenRow[]): void {
  for (const row of rows) {
    const key = cacheKey({ mountId: row.mount_id, path: row.path });
    outcome.set(key, entryOf(puts.get(key)!.put, row.revision));
  }
}

const deletionsOf = (deletes: Split['deletes']) => {
  const all = [...deletes.values()];
  return [all.map((one) => one.mountId), all.map((one) => one.path), all.map(requiredCode)];
};

/**
 * Writes and removes entries with one statement, which is its own transaction; returns them as `writeSets` does. If an
 * entry cannot be changed in this way, throws and changes nothing.
 */
export async function changeEntries(
  { barrier, clock }: Pick<WriteDeps, 'barrier' | 'clock'>,
  database: Queryable,
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const { puts, deletes } = split(operations);
  const columns = putColumns(barrier, puts);
  const values = [...valuesOf(columns), columns.puts.map(requiredCode), clock.now(), ...deletionsOf(deletes)];
  const { rows } = await database.query<WrittenRow>(sql.CHANGE_ENTRIES, values);
  const outcome = new Map<string, Entry | null>();
  if (puts.size > 0) noteWritten(outcome, puts, rows);
  for (const key of deletes.keys()) outcome.set(key, null);
  return outcome;
}

async function writeEntries(
  { barrier, clock }: WriteDeps,
  tx: Tx,
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const outcome = new Map<string, Entry | null>();
  const { puts, deletes } = split(operations);
  if (puts.size > 0) {
    const columns = putColumns(barrier, puts);
    const required = columns.puts.map(requiredCode);
    const rows = required.every((code) => code === null)
      ? await putRows(tx, columns)
      : (await tx.query<WrittenRow>(sql.WRITE_ENTRIES, [...valuesOf(columns), required, clock.now()])).rows;
    noteWritten(outcome, puts, rows);
    if (outcome.size < puts.size)
      throw new PreconditionFailed(new Set(columns.keys.filter((key) => !outcome.has(key))));
  }
  if (deletes.size > 0) {
    const { rows } = await tx.query<WrittenRow>(sql.DELETE_ENTRIES, [...deletionsOf(deletes), clock.now()]);
    // Only rewritten entries have a witness.
    const existing = rows.filter(({ revision }) => revision > 1);
    if (existing.length > 0) {
      await tx.query(sql.DELETE_WITNESSES, [existing.map((row) => row.mount_id), existing.map((row) => row.path)]);
    }
    const found = new Set(rows.map((row) => cacheKey({ mountId: row.mount_id, path: row.path })));
    const missing = [...deletes].filter(([key, one]) => one.require !== undefined && !found.has(key));
    if (missing.length > 0) throw new PreconditionFailed(new Set(missing.map(([key]) => key)));
    for (const key of deletes.keys()) outcome.set(key, null);
  }
  return outcome;
}

/** The condition on a row, encoded for the statements. */
function requiredCode({ require }: { readonly require?: Precondition }): number | null {
  if (require === undefined) return null;
  if (typeof require === 'object') return require.revision;
  return require === 'absent' ? 0 : -1;
}

const valuesOf = ({ mounts, paths, sealed, expiries }: PutColumns) => [mounts, paths, sealed, expiries];

/** Writes entries. Entries of tokens that have ended are not returned. */
export async function putRows(tx: Pick<Tx, 'query'>, columns: PutColumns): Promise<WrittenRow[]> {
  const { authorities } = columns;
  const values = valuesOf(columns);
  if (!columns.underTokens) return (await tx.query<WrittenRow>(sql.PUT_ENTRIES, values)).rows;
  const all = distinct(authorities.filter((hash): hash is Buffer => hash !== null));
  return (await tx.query<WrittenRow>(sql.PUT_ENTRIES_UNDER_TOKENS, [...values, authorities, all])).rows;
}

/** An entry as it was written. */
export function entryOf({ mountId, path, value, memo, expiresAtMs }: EntryPut, revision: number): Entry {
  // A copy, because the caller may reuse its buffer.
  const entry: Entry = { mountId, path, value: Buffer.from(value), memo, revision };
  return expiresAtMs === undefined ? entry : { ...entry, expiresAtMs };
}

const isPut = (operation: EntryPut | EntryDelete): operation is EntryPut => 'value' in operation;

function distinct(hashes: readonly Buffer[]): Buffer[] {
  if (hashes.length < 2) return [...hashes];
  return [...new Map(hashes.map((hash) => [hash.toString('latin1'), hash])).values()];
}

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

/** Seals entries and returns them as parallel arrays, ordered by key. */
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
function authoritiesOf(sets: readonly WriteSet[]): Buffer[] {
  const all = new Map<string, Buffer>();
  const add = (hash: Buffer | undefined) => hash && all.set(hash.toString('latin1'), hash);
  for (const set of sets) {
    for (const hash of set.authorities) add(hash);
    for (const token of set.tokens) add(token.parentHash);
    for (const lease of set.leases) add(lease.tokenHash);
  }
  return [...all.values()];
}

/**
 * Locks tokens until the commit, so that they stay valid. Throws `denied` if one no longer exists or is being revoked.
 */
async function lockTokens(tx: Queryable, hashes: readonly Buffer[]): Promise<void> {
  const { rows } = await tx.query(sql.LOCK_TOKENS, [hashes]);
  if (rows.length < hashes.length) throw new Refusal('denied', 'permission denied');
}

// In the database, paths of tokens and leases end in a slash, so that they sort, list and match prefixes like the ids
// that begin with them.

/**
 * Inserts tokens and returns the hashes (latin1) of the inserted ones. The others have a parent that has ended, or an
 * id that is taken.
 */
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

/** Inserts leases and counts them towards their quotas; throws `limited` if a quota is full. */
async function insertLeases(tx: Queryable, leases: readonly LeaseRow[]): Promise<void> {
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

/**
 * How long after an intent an outside system may still act on a call. After this time the intent is undone once more.
 */
export const INTENT_GRACE_MS = 5 * 60_000;
/** If a call of a living node takes longer than this, its intent is undone. */
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

/** Removes settled intents. Throws if one no longer exists, because its work has then been undone. */
async function settleIntents(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { rowCount } = await tx.query(sql.SETTLE_INTENTS, [ids]);
  if (rowCount !== ids.length) throw new Refusal('timeout', 'the request took too long; its effects were undone');
}
