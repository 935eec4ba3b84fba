import { Refusal } from '@keystead/refusal';
import { cacheKey, entryCell, prefixEnd } from './entry-rows';
import {
  authoritiesOf,
  insertIntents,
  insertLeases,
  insertTokens,
  lockTokens,
  type PutColumns,
  putColumns,
  settleIntents,
} from './rows';
import * as sql from './statements';
import type { Barrier, Clock, Entry, EntryDelete, EntryPut, Precondition, Tx, WriteSet } from './types';
import { PreconditionFailed } from './write-set';

/** Turns the audit lines of a batch into rows of the chained table; made by `kernel/audit`. */
export type AuditChain = (tx: Tx, lines: readonly string[]) => Promise<void>;

/** What writing sets stands on. */
export interface Ground {
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly auditChain: AuditChain | undefined;
}

/** A row of the entry table as it was just written. */
export interface WrittenRow {
  mount_id: string;
  path: string;
  revision: number;
}

/** What becomes of each entry that sets write or remove, by its key: the last word counts. */
export function lastOperations(sets: readonly WriteSet[]): Map<string, EntryPut | EntryDelete> {
  const operations = new Map<string, EntryPut | EntryDelete>();
  for (const set of sets) {
    for (const put of set.puts) operations.set(cacheKey(put), put);
    for (const gone of set.deletes) operations.set(cacheKey(gone), gone);
  }
  return new Map([...operations].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** Writes sets in an open transaction, and answers what their entries are then; null for those removed. */
export async function writeSets(
  ground: Ground,
  tx: Tx,
  sets: readonly WriteSet[],
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const { barrier, clock, nodeId, auditChain } = ground;
  const authorities = authoritiesOf(sets);
  if (authorities.length > 0) await lockTokens(tx, authorities);
  // Prefixes first: what a call writes after clearing a folder stays.
  for (const { mountId, prefix } of sets.flatMap((set) => set.prefixes)) {
    await tx.query(sql.DELETE_PREFIX, [mountId, prefix, prefixEnd(prefix)]);
  }
  const outcome = await writeEntries(ground, tx, operations);
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

async function writeEntries(
  ground: Ground,
  tx: Tx,
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const outcome = new Map<string, Entry | null>();
  const puts = new Map<string, { put: EntryPut; authority: undefined }>();
  const deletes: EntryDelete[] = [];
  for (const [key, operation] of operations) {
    if (operation.require !== undefined) outcome.set(key, await conditional(ground, tx, operation, operation.require));
    else if (isPut(operation)) puts.set(key, { put: operation, authority: undefined });
    else deletes.push(operation);
  }
  if (puts.size > 0) {
    const columns = putColumns(ground.barrier, puts);
    for (const row of await putRows(tx, columns)) {
      const key = `${row.mount_id}/${row.path}`;
      outcome.set(key, entryOf(puts.get(key)!.put, row.revision));
    }
  }
  if (deletes.length > 0) {
    await tx.query(sql.DELETE_ENTRIES, [deletes.map((one) => one.mountId), deletes.map((one) => one.path)]);
    for (const one of deletes) outcome.set(cacheKey(one), null);
  }
  return outcome;
}

async function conditional(
  { barrier, clock }: Ground,
  tx: Tx,
  operation: EntryPut | EntryDelete,
  required: Precondition,
): Promise<Entry | null> {
  const { mountId, path } = operation;
  const now = clock.now();
  const revision = typeof required === 'object' ? required.revision : null;
  if (!isPut(operation)) {
    const { rows } = await tx.query(sql.DELETE_ENTRY, [mountId, path, now, revision]);
    if (required === 'absent' ? rows.length > 0 : rows.length === 0) {
      throw new PreconditionFailed(mountId, path, required);
    }
    return null;
  }
  const values = [
    mountId,
    path,
    barrier.seal(operation.value, entryCell(operation)),
    operation.expiresAtMs ?? null,
    now,
  ];
  const { rows } = await (required === 'absent'
    ? tx.query<WrittenRow>(sql.CREATE_ENTRY, values)
    : tx.query<WrittenRow>(sql.REPLACE_ENTRY, [...values, revision]));
  if (!rows[0]) throw new PreconditionFailed(mountId, path, required);
  return entryOf(operation, rows[0].revision);
}

/** Writes entries, whole; those of dead tokens do not come back. */
export async function putRows(tx: Pick<Tx, 'query'>, columns: PutColumns): Promise<WrittenRow[]> {
  const { mounts, paths, sealed, expiries, authorities } = columns;
  const values = [mounts, paths, sealed, expiries];
  if (!columns.underTokens) return (await tx.query<WrittenRow>(sql.PUT_ENTRIES, values)).rows;
  const all = distinct(authorities.filter((hash): hash is Buffer => hash !== null));
  return (await tx.query<WrittenRow>(sql.PUT_ENTRIES_UNDER_TOKENS, [...values, authorities, all])).rows;
}

/** An entry as it was written. */
export function entryOf({ mountId, path, value, expiresAtMs }: EntryPut, revision: number): Entry {
  // An own copy: the caller may use its buffer again.
  const entry: Entry = { mountId, path, value: Buffer.from(value), revision };
  return expiresAtMs === undefined ? entry : { ...entry, expiresAtMs };
}

const isPut = (operation: EntryPut | EntryDelete): operation is EntryPut => 'value' in operation;

function distinct(hashes: readonly Buffer[]): Buffer[] {
  if (hashes.length < 2) return [...hashes];
  return [...new Map(hashes.map((hash) => [hash.toString('latin1'), hash])).values()];
}
