import { Refusal } from '@keystead/refusal';
import { cacheKey, prefixEnd } from './entry-rows';
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

/** What committing sets needs. */
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

/** Writes sets in an open transaction, and returns their entries as written; null for removed ones. */
export async function writeSets(
  deps: WriteDeps,
  tx: Tx,
  sets: readonly WriteSet[],
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const { barrier, clock, nodeId, auditChain } = deps;
  const authorities = authoritiesOf(sets);
  if (authorities.length > 0) await lockTokens(tx, authorities);
  // Prefixes first, so that writes after clearing a folder stay.
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

async function writeEntries(
  { barrier, clock }: WriteDeps,
  tx: Tx,
  operations: ReadonlyMap<string, EntryPut | EntryDelete>,
): Promise<Map<string, Entry | null>> {
  const outcome = new Map<string, Entry | null>();
  const puts = new Map<string, { put: EntryPut; authority: undefined }>();
  const deletes = new Map<string, EntryDelete>();
  for (const [key, operation] of operations) {
    if (isPut(operation)) puts.set(key, { put: operation, authority: undefined });
    else deletes.set(key, operation);
  }
  if (puts.size > 0) {
    const columns = putColumns(barrier, puts);
    const required = columns.puts.map(requiredCode);
    const rows = required.every((code) => code === null)
      ? await putRows(tx, columns)
      : (await tx.query<WrittenRow>(sql.WRITE_ENTRIES, [...valuesOf(columns), required, clock.now()])).rows;
    for (const row of rows) {
      const key = cacheKey({ mountId: row.mount_id, path: row.path });
      outcome.set(key, entryOf(puts.get(key)!.put, row.revision));
    }
    if (outcome.size < puts.size)
      throw new PreconditionFailed(new Set(columns.keys.filter((key) => !outcome.has(key))));
  }
  if (deletes.size > 0) {
    const all = [...deletes.values()];
    const values = [all.map((one) => one.mountId), all.map((one) => one.path), all.map(requiredCode), clock.now()];
    const { rows } = await tx.query<WrittenRow>(sql.DELETE_ENTRIES, values);
    // Only rewritten entries have one.
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

/** Writes entries; those of dead tokens are not returned. */
export async function putRows(tx: Pick<Tx, 'query'>, columns: PutColumns): Promise<WrittenRow[]> {
  const { authorities } = columns;
  const values = valuesOf(columns);
  if (!columns.underTokens) return (await tx.query<WrittenRow>(sql.PUT_ENTRIES, values)).rows;
  const all = distinct(authorities.filter((hash): hash is Buffer => hash !== null));
  return (await tx.query<WrittenRow>(sql.PUT_ENTRIES_UNDER_TOKENS, [...values, authorities, all])).rows;
}

/** An entry as it was written. */
export function entryOf({ mountId, path, value, expiresAtMs }: EntryPut, revision: number): Entry {
  // A copy, because the caller may reuse its buffer.
  const entry: Entry = { mountId, path, value: Buffer.from(value), revision };
  return expiresAtMs === undefined ? entry : { ...entry, expiresAtMs };
}

const isPut = (operation: EntryPut | EntryDelete): operation is EntryPut => 'value' in operation;

function distinct(hashes: readonly Buffer[]): Buffer[] {
  if (hashes.length < 2) return [...hashes];
  return [...new Map(hashes.map((hash) => [hash.toString('latin1'), hash])).values()];
}
