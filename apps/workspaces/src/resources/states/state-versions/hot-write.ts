import type { Keyring } from '@keystead/keyring';
import { isRefusal } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import type { GatheredBlob } from '../../../kernel/blobs/blobs';
import type { Database, Statement } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { auditColumns, auditJson } from '../../workspaces/workspaces/hot-write';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { described } from './finalize';
import { findGround, type Ground } from './ground';
import { sealedOutputs } from './outputs';
import type { ParsedState } from './parse-state';
import { type Claim, requireSuccessor } from './rules';
import { addedVersion, type StateVersion } from './state-version';

/** More outputs, or larger ones, are stored by the long way. */
const fewOutputs = 200;
const smallOutputsBytes = 256 * 1024;

// What was decided holds only for the revision it was decided at: a lock that was given back meanwhile, or another state,
// has moved it. The time is taken when the row is ours, so that versions are in the order in which they came to be.
const announceOne = {
  name: 'state_announce',
  text: `WITH held AS (SELECT id FROM workspace WHERE id = $1 AND revision = $2 FOR UPDATE)
    INSERT INTO state_version (id, workspace_id, serial, lineage, md5, status, intermediate, run_id, created_by_type,
                               created_by_id, forced, created_at)
    SELECT $3, id, $4::bigint, $5, $6, 'pending', $7::boolean, $8, $9, $10, $11::boolean, clock_timestamp() FROM held RETURNING *`,
};

// All of it or nothing: `held` is empty where anything is not as it has to be.
const finalizing = (blob: { name: string; ready: string; kept: string }) => ({
  name: blob.name,
  text: `WITH held AS (
    SELECT s.id, s.created_at FROM workspace w, state_version s ${blob.ready}
     WHERE w.id = $1 AND w.revision = $2 AND s.id = $3 AND s.workspace_id = w.id AND s.status = 'pending'
       AND s.raw_blob_id IS NULL FOR UPDATE),
  ${blob.kept},
  taken AS (
    UPDATE state_version s SET status = 'finalized', raw_blob_id = $4, size = $5, finalized_at = clock_timestamp(),
           format = $6, infra_version = $7, lineage = $8, resource_count = $9, resources_processed = true,
           modules = $10, providers = $11, resources = $12
      FROM held WHERE s.id = held.id),
  moved AS (
    UPDATE workspace w SET current_state_version_id = $3, latest_change_at = held.created_at, resource_count = $9
      FROM held WHERE w.id = $1),
  told AS (
    INSERT INTO state_output (id, state_version_id, name, sensitive, type, detailed_type, value)
    SELECT o.id, held.id, o.name, o.sensitive, o.type, o.detailed_type, decode(o.value, 'base64')
      FROM held, jsonb_to_recordset($13::jsonb)
             AS o(id text, name text, sensitive boolean, type text, detailed_type jsonb, value text)),
  discarded AS (
    UPDATE state_version s SET status = 'discarded' FROM held
     WHERE s.workspace_id = $1 AND s.status = 'pending' AND s.created_at < held.created_at),
  audited AS (
    INSERT INTO audit_event (${auditColumns})
    SELECT ${auditColumns} FROM held, jsonb_populate_recordset(NULL::audit_event, $14::jsonb))
  SELECT id FROM held`,
});

/** Where the bytes are stored already. */
const finalizeStored = finalizing({
  name: 'state_finalize',
  ready: 'JOIN blob b ON b.id = $4',
  kept: 'kept AS (UPDATE blob b SET provisional = false FROM held WHERE b.id = $4)',
});
/** Where they are one chunk, stored with all else. */
const finalizeWhole = finalizing({
  name: 'state_finalize_whole',
  ready: '',
  kept: `kept AS (
    INSERT INTO blob (id, size, chunks, completed_at, provisional) SELECT $4, $5, 1, now(), false FROM held RETURNING id),
  filled AS (INSERT INTO blob_chunk (blob_id, position, sealed) SELECT id, 0, $15 FROM kept)`,
});

/** Lost to another one, or what it refers to is gone: the long way finds out. */
const lost = new Set(['40001', '40P01', '23503']);

async function attempted(db: Database, statement: Statement): Promise<Record<string, unknown> | undefined> {
  try {
    return (await db.rows(statement))[0];
  } catch (error) {
    if (lost.has((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}

/** The ground, where it takes the state of this caller as it is now. */
async function goodGround(db: Database, actor: Actor, workspaceId: string, claim: Claim): Promise<Ground | undefined> {
  const ground = db.inTransaction ? undefined : await findGround(db, workspaceId);
  if (ground?.holder?.type !== actor.type || ground.holder.id !== actor.id) return undefined;
  try {
    requireSuccessor(claim, ground.current);
    return ground;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** What a request says of a version that it announces. */
export interface Announced {
  readonly intermediate?: boolean | null;
  readonly run?: string | null;
}

/** Announces a state version in one statement; undefined where something is in the way, which the long way tells. */
export async function announceAtOnce(
  db: Database,
  actor: Actor,
  workspace: Workspace,
  claim: Claim,
  input: Announced,
): Promise<StateVersion | undefined> {
  const ground = await goodGround(db, actor, workspace.id, claim);
  if (!ground) return undefined;
  const values = [
    workspace.id,
    ground.revision,
    newId('sv'),
    claim.serial.toString(),
    claim.lineage,
    claim.md5,
    input.intermediate === true,
    input.run ?? null,
    actor.type,
    actor.id,
    claim.force,
  ];
  const row = await attempted(db, { ...announceOne, values });
  return row && addedVersion(row, workspace);
}

/** Makes an announced version current in one statement; false where something is in the way, which the long way tells. */
export async function finalizeAtOnce(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  version: StateVersion,
  claim: Claim,
  { blob, parsed }: { blob: GatheredBlob; parsed: ParsedState },
): Promise<boolean> {
  const outputs = version.outputsGiven ? [] : parsed.outputs;
  if (outputs.length > fewOutputs) return false;
  const sealed = sealedOutputs(keyring, outputs);
  if (sealed.reduce((sum, { value }) => sum + value.length, 0) > smallOutputsBytes) return false;
  const lineage = claim.lineage ?? (parsed.lineage || null);
  const ground = await goodGround(db, actor, version.workspaceId, { ...claim, lineage });
  if (!ground) return false;
  const is = described(parsed, version);
  const event = auditJson(actor, {
    organizationId: version.organizationId,
    action: 'state-version.create',
    target: { type: 'state-versions', id: version.id, name: version.workspaceId },
    after: { serial: Number(version.serial), lineage: version.lineage, md5: version.md5, size: blob.size },
  });
  const rows = sealed.map(({ detailedType, value, ...output }) => ({
    ...output,
    detailed_type: detailedType,
    value: Buffer.from(value).toString('base64'),
  }));
  const values = [
    version.workspaceId,
    ground.revision,
    version.id,
    blob.id,
    blob.size,
    is.format,
    is.infraVersion,
    is.lineage,
    is.resourceCount,
    JSON.stringify(is.modules),
    JSON.stringify(is.providers),
    JSON.stringify(is.resources),
    JSON.stringify(rows),
    JSON.stringify([event]),
  ];
  const statement = blob.sealed
    ? { ...finalizeWhole, values: [...values, blob.sealed] }
    : { ...finalizeStored, values };
  return (await attempted(db, statement)) !== undefined;
}
