import type { Keyring } from '@keystead/keyring';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { Prisma } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import { type Actor, auditColumns, auditJson } from '../../../kernel/audit/audit';
import type { GatheredBlob } from '../../../kernel/blobs/blobs';
import type { Database, KeyedRead, PackedRow } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import type { LockHolder } from '../../workspaces/workspaces/lock';
import * as outputs from './outputs';
import { type Claim, type History, requireSuccessor } from './rules';
import { type ParsedOutput, type ParsedState, shownSerial } from './scanner/parse-state';
import { addedVersion, type StateVersion } from './state-version';

/**
 * The maximum number of outputs that are stored in the same statement. More or larger outputs are stored in several
 * statements.
 */
const fewOutputs = 200;
const smallOutputsBytes = 256 * 1024;

// A decision is valid only for the revision at which it was made, because a released lock or another state changes the
// revision. A caller who holds the row's lock needs no revision. The time is read when the row is locked, so that
// versions are ordered by their creation.
const atRevision = 'revision = coalesce($2::bigint, revision)';

const announcing = {
  name: 'state_announce',
  text: `WITH held AS (SELECT id FROM workspace WHERE id = $1 AND ${atRevision} FOR UPDATE)
    INSERT INTO state_version (id, workspace_id, serial, lineage, md5, status, intermediate, run_id, created_by_type,
                               created_by_id, forced, outputs_given, rollback_of_id, created_at)
    SELECT $3, id, $4::bigint, $5, $6, 'pending', $7::boolean, $8, $9, $10, $11::boolean, $12::boolean, $13,
           clock_timestamp() FROM held RETURNING *`,
};

// If any condition fails, `held` is empty and the statement changes nothing.
const finalizing = (blob: { name: string; ready: string; keep: string }) => ({
  name: blob.name,
  text: `WITH held AS (
    SELECT s.id, s.created_at FROM workspace w, state_version s ${blob.ready}
     WHERE w.id = $1 AND w.revision = coalesce($2::bigint, w.revision) AND s.id = $3 AND s.workspace_id = w.id AND s.status = 'pending'
       AND s.raw_blob_id IS NULL FOR UPDATE),
  ${blob.keep},
  taken AS (
    UPDATE state_version s SET status = 'finalized', raw_blob_id = $4, size = $5, finalized_at = clock_timestamp(),
           format = coalesce($6, s.format), infra_version = coalesce($7, s.infra_version), lineage = coalesce($8, s.lineage),
           resource_count = coalesce($9, s.resource_count), resources_processed = $10::boolean,
           modules = coalesce($11::jsonb, s.modules), providers = coalesce($12::jsonb, s.providers),
           resources = coalesce($13::json, s.resources), json_blob_id = coalesce($14, s.json_blob_id)
      FROM held WHERE s.id = held.id),
  moved AS (
    UPDATE workspace w SET current_state_version_id = $3, latest_change_at = held.created_at,
           resource_count = coalesce($9, w.resource_count)
      FROM held WHERE w.id = $1),
  shown AS (
    INSERT INTO state_output (id, state_version_id, name, sensitive, type, detailed_type, value)
    SELECT o.id, held.id, o.name, o.sensitive, o.type, o.detailed_type, decode(o.value, 'base64')
      FROM held, jsonb_to_recordset($15::jsonb)
             AS o(id text, name text, sensitive boolean, type text, detailed_type jsonb, value text)),
  discarded AS (
    UPDATE state_version s SET status = 'discarded' FROM held
     WHERE s.workspace_id = $1 AND s.status = 'pending' AND s.created_at < held.created_at),
  audited AS (
    INSERT INTO audit_event (${auditColumns})
    SELECT ${auditColumns} FROM held, jsonb_populate_recordset(NULL::audit_event, $16::jsonb))
  SELECT id FROM held`,
});

/** The statement for bytes that are already stored. */
const finalizeStored = finalizing({
  name: 'state_finalize',
  ready: 'JOIN blob b ON b.id = $4',
  keep: 'kept AS (UPDATE blob b SET provisional = false FROM held WHERE b.id = $4)',
});
/** The statement for a single chunk, which it also stores. */
const finalizeWhole = finalizing({
  name: 'state_finalize_whole',
  ready: '',
  keep: `kept AS (
    INSERT INTO blob (id, size, chunks, completed_at, provisional) SELECT $4, $5, 1, now(), false FROM held RETURNING id),
  filled AS (INSERT INTO blob_chunk (blob_id, position, sealed) SELECT id, 0, $17 FROM kept)`,
});

/** The request's data about a pending version. */
export interface Announced {
  readonly intermediate?: boolean | null;
  readonly run?: string | null;
  /** Whether its outputs were sent separately, and are not those of the state. */
  readonly outputsGiven?: boolean;
  readonly rollbackOfId?: string;
}

/**
 * Creates a pending version; undefined if the workspace is no longer at the revision. Without a revision, the caller
 * must hold the lock of the workspace's row.
 */
export async function announce(
  db: Database,
  actor: Actor,
  workspace: WorkspaceTarget,
  revision: string | null,
  claim: Claim,
  { intermediate, run, outputsGiven, rollbackOfId }: Announced,
): Promise<StateVersion | undefined> {
  const values = [
    workspace.id,
    revision,
    newId('sv'),
    claim.serial.toString(),
    claim.lineage,
    claim.md5,
    intermediate === true,
    run ?? null,
    actor.type,
    actor.id,
    claim.force,
    outputsGiven === true,
    rollbackOfId ?? null,
  ];
  const [row] = await db.execute({ ...announcing, values });
  return row && addedVersion(row, workspace);
}

/**
 * The data about a state whose bytes have arrived. `parsed` is undefined for bytes that are not a state, which only a
 * rollback to an older version can contain.
 */
export interface Content {
  readonly blob: GatheredBlob;
  readonly parsed: ParsedState | undefined;
  /** The blob with the tool's JSON, if it was sent, too. */
  readonly jsonBlobId?: string;
}

/** Outputs to store together with the version, sealed; undefined if they are too many or too large for that. */
function fewSealed(keyring: Keyring, found: readonly ParsedOutput[]) {
  if (found.length > fewOutputs) return undefined;
  const sealed = outputs.sealedOutputs(keyring, found);
  return sealed.reduce((sum, { value }) => sum + value.length, 0) > smallOutputsBytes ? undefined : sealed;
}

/**
 * Makes an announced version the current one, and updates everything that the workspace shows of its current state.
 * Older announced versions without an upload are discarded. Returns false if the workspace is no longer at the
 * revision, or the version does not meet the conditions.
 */
async function finalizeAt(
  db: Database,
  actor: Actor,
  version: StateVersion,
  revision: string | null,
  { blob, parsed, jsonBlobId }: Content,
  sealed: NonNullable<ReturnType<typeof fewSealed>>,
): Promise<boolean> {
  const is = parsed && described(parsed, version);
  const event = auditJson(actor, {
    organizationId: version.organizationId,
    action: 'state-version.create',
    target: { type: 'state-versions', id: version.id, name: version.workspaceId },
    after: { serial: shownSerial(version.serial), lineage: version.lineage, md5: version.md5, size: blob.size },
  });
  const rows = sealed.map(({ detailedType, value, ...output }) => ({
    ...output,
    detailed_type: detailedType,
    value: Buffer.from(value).toString('base64'),
  }));
  const values = [
    version.workspaceId,
    revision,
    version.id,
    blob.id,
    blob.size,
    is?.format ?? null,
    is?.infraVersion ?? null,
    is?.lineage ?? null,
    is?.resourceCount ?? null,
    is !== undefined,
    is ? JSON.stringify(is.modules) : null,
    is ? JSON.stringify(is.providers) : null,
    is ? JSON.stringify(is.resources) : null,
    jsonBlobId ?? null,
    JSON.stringify(rows),
    JSON.stringify([event]),
  ];
  const statement = blob.sealed
    ? { ...finalizeWhole, values: [...values, blob.sealed] }
    : { ...finalizeStored, values };
  return (await db.execute(statement)).length > 0;
}

/**
 * Makes an announced version the current one, inside the transaction that holds the row of the workspace. Throws
 * `unavailable` if the bytes were already removed.
 */
export async function finalize(
  tx: Database,
  keyring: Keyring,
  actor: Actor,
  version: StateVersion,
  content: Content,
): Promise<void> {
  const found = version.outputsGiven ? [] : (content.parsed?.outputs ?? []);
  const sealed = fewSealed(keyring, found);
  const done = await finalizeAt(tx, actor, version, null, content, sealed ?? []);
  // The version was checked under the lock, so a sweep must have removed the bytes.
  if (!done) throw new Refusal('unavailable', 'the upload took too long; try again');
  if (!sealed) await outputs.store(tx, keyring, version.id, found);
}

/**
 * Errors of a conflict with another request, or of a missing reference. The transaction that locks the row then finds
 * the reason.
 */
const lost = new Set(['40001', '40P01', '23503']);

async function attempted<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (lost.has((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}

/** The state of the workspace, if it would accept this caller's state now. */
async function goodBase(db: Database, actor: Actor, workspaceId: string, claim: Claim): Promise<StateBase | undefined> {
  const base = db.inTransaction ? undefined : await findBase(db, workspaceId);
  if (base?.holder?.type !== actor.type || base.holder.id !== actor.id) return undefined;
  try {
    requireSuccessor(claim, base.current);
    return base;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/**
 * Creates a pending version without a transaction; undefined if this is not possible. The attempt with the lock then
 * finds the reason.
 */
export async function tryAnnounce(
  db: Database,
  actor: Actor,
  workspace: WorkspaceTarget,
  claim: Claim,
  input: Announced,
): Promise<StateVersion | undefined> {
  const base = await goodBase(db, actor, workspace.id, claim);
  return base && attempted(announce(db, actor, workspace, base.revision, claim, input));
}

/**
 * Makes a version current without a transaction; false if this is not possible. The attempt with the lock then finds
 * the reason.
 */
export async function tryFinalize(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  version: StateVersion,
  claim: Claim,
  content: Content & { readonly parsed: ParsedState },
): Promise<boolean> {
  const { parsed } = content;
  const sealed = fewSealed(keyring, version.outputsGiven ? [] : parsed.outputs);
  if (!sealed) return false;
  const lineage = claim.lineage ?? (parsed.lineage || null);
  const base = await goodBase(db, actor, version.workspaceId, { ...claim, lineage });
  if (!base) return false;
  return (await attempted(finalizeAt(db, actor, version, base.revision, content, sealed))) === true;
}

/** The content of a state, as columns. */
export function described(parsed: ParsedState, version: Pick<StateVersion, 'lineage'>) {
  return {
    format: parsed.format,
    infraVersion: parsed.infraVersion,
    lineage: version.lineage ?? (parsed.lineage || null),
    resourceCount: parsed.managedCount,
    resourcesProcessed: true,
    modules: parsed.modules,
    providers: parsed.providers,
    resources: parsed.resources as unknown as Prisma.InputJsonValue,
  };
}

/** The data that determines whether a workspace accepts a state: the holder of its lock, and its current state. */
export interface StateBase {
  /** Changes with the workspace, including its lock and its current state. */
  readonly revision: string;
  readonly holder: LockHolder | undefined;
  readonly current: History | undefined;
}

type StateBaseRow = PackedRow<
  [
    revision: string,
    locked: boolean,
    holderType: string,
    holderId: string,
    serial: string | null,
    md5: string,
    lineage: string | null,
  ]
>;

const read: KeyedRead = {
  name: 'state_base',
  text: `SELECT json_agg(json_build_array(w.id, w.revision::text, w.locked_at IS NOT NULL, w.locked_by_type,
                w.locked_by_id, s.serial::text, s.md5, s.lineage))::text AS packed
    FROM unnest($1::text[]) AS k(key)
    CROSS JOIN LATERAL (SELECT * FROM workspace x WHERE x.id = k.key LIMIT 1) w
    LEFT JOIN LATERAL (SELECT * FROM state_version x WHERE x.id = w.current_state_version_id LIMIT 1) s ON true`,
  quick: true,
  packed: true,
};

/** The current state, which a new state would follow. */
async function findBase(db: Database, workspaceId: string): Promise<StateBase | undefined> {
  const row = await db.readOne<StateBaseRow>(read, workspaceId);
  if (!row) return undefined;
  const [, revision, locked, type, id, serial, md5, lineage] = row.columns;
  return {
    revision,
    holder: locked ? { type, id } : undefined,
    current: serial === null ? undefined : { serial: BigInt(serial), md5, lineage },
  };
}
