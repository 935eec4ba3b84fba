import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { invalid } from '@keystead/jsonapi';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { Actor } from '../../kernel/audit';
import { readWholeBlob, writeBlob } from '../../kernel/blobs';
import type { Database } from '../../kernel/database';
import type { Environment } from '../../kernel/environment';
import { newId } from '../../kernel/ids';
import { requireWorkspace } from '../workspaces/service';
import type { Workspace } from '../workspaces/workspace';
import { finalize } from './finalize';
import * as outputs from './outputs';
import { NoState, type ParsedOutput, type ParsedState, parseOutputs, parseState } from './parse-state';
import * as quarantine from './quarantine';
import { type Claim, requireLock, requireSuccessor } from './rules';
import { inlineLimitBytes } from './schema';
import { find, findCurrent, type StateVersion } from './state-version';

/** What a request says of a new state version. */
export interface NewState {
  readonly serial: number;
  readonly md5: string;
  readonly lineage?: string | null;
  readonly force?: boolean | null;
  readonly intermediate?: boolean | null;
  /** These three in base64. */
  readonly state?: string | null;
  readonly jsonState?: string | null;
  readonly jsonStateOutputs?: string | null;
  readonly run?: string | null;
}

type Keep = Pick<Environment, 'keyring'>;

/** Parses a state. Throws `invalid` naming `attribute`. */
function parsedState(bytes: Uint8Array, attribute: string): ParsedState {
  try {
    return parseState(bytes);
  } catch (error) {
    if (error instanceof NoState) throw invalid(attribute, error.message);
    throw error;
  }
}

function givenOutputs(text: string | null | undefined): ParsedOutput[] | undefined {
  if (!text) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
  } catch {
    throw invalid('jsonStateOutputs', 'must be base64 of a JSON object');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw invalid('jsonStateOutputs', 'must be base64 of a JSON object');
  }
  return parseOutputs(parsed as Record<string, unknown>);
}

const md5Of = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

/** Takes the row of a workspace until the transaction ends, and reads it as it is then. */
async function holdWorkspace(tx: Database, id: string): Promise<Workspace> {
  await tx.prisma.$queryRaw`SELECT id FROM workspace WHERE id = ${id} FOR UPDATE`;
  return requireWorkspace(tx, id);
}

/**
 * Announces a state version (pending, to be uploaded), or creates it with its content (finalized). The caller must hold
 * the workspace's lock. Throws `conflict` for a lock or a history that does not fit, `invalid` for bytes that are no
 * state; what was refused with its content is kept in quarantine.
 */
export async function create(
  db: Database,
  env: Keep,
  actor: Actor,
  workspace: Workspace,
  input: NewState,
): Promise<StateVersion> {
  const claim: Claim = {
    serial: BigInt(input.serial),
    lineage: input.lineage ?? null,
    md5: input.md5,
    force: input.force === true,
  };
  await requireLock(db, actor, await requireWorkspace(db, workspace.id));
  const outputList = givenOutputs(input.jsonStateOutputs);
  const announce = (tx: Database) => insert(tx, env, actor, workspace, claim, input, outputList);
  if (!input.state) {
    return db.transaction(async (tx) => {
      const held = await holdWorkspace(tx, workspace.id);
      await requireLock(tx, actor, held);
      requireSuccessor(claim, await findCurrent(tx, workspace.id));
      return announce(tx);
    });
  }
  const state = Buffer.from(input.state, 'base64');
  if (state.length > inlineLimitBytes) {
    throw new Refusal('too-large', 'inline state may be 16 MiB; leave state out and use hosted-state-upload-url');
  }
  if (md5Of(state) !== claim.md5) throw invalid('md5', 'does not match the state');
  const parsed = parsedState(state, 'state');
  const json = input.jsonState
    ? await writeBlob(db, env.keyring, Readable.from([Buffer.from(input.jsonState, 'base64')]), unlimited)
    : undefined;
  const blob = await writeBlob(db, env.keyring, Readable.from([state]), unlimited);
  return accept(db, env, actor, workspace, claim, { blob, parsed }, async (tx) => {
    const version = await announce(tx);
    if (json) await tx.prisma.stateVersion.update({ where: { id: version.id }, data: { jsonBlobId: json.id } });
    return version;
  });
}

const unlimited = { limit: Number.MAX_SAFE_INTEGER };

async function insert(
  tx: Database,
  { keyring }: Keep,
  actor: Actor,
  workspace: Workspace,
  claim: Claim,
  input: Pick<NewState, 'intermediate' | 'run'>,
  outputList: readonly ParsedOutput[] | undefined,
  rollbackOfId: string | null = null,
): Promise<StateVersion> {
  const id = newId('sv');
  await tx.prisma.stateVersion.create({
    data: {
      id,
      workspaceId: workspace.id,
      serial: claim.serial,
      lineage: claim.lineage,
      md5: claim.md5,
      status: 'pending',
      intermediate: input.intermediate === true,
      runId: input.run ?? null,
      createdByType: actor.type,
      createdById: actor.id,
      forced: claim.force,
      outputsGiven: outputList !== undefined,
      rollbackOfId,
    },
  });
  if (outputList) await outputs.store(tx, keyring, id, outputList);
  return (await find(tx, id))!;
}

/**
 * Makes content current if the lock and the history still allow it, decided under the workspace's row; otherwise keeps it
 * in quarantine and refuses.
 */
async function accept(
  db: Database,
  { keyring }: Keep,
  actor: Actor,
  workspace: Workspace,
  claim: Claim,
  content: { blob: { id: string; size: number }; parsed: ParsedState | undefined },
  versionOf: (tx: Database) => Promise<StateVersion>,
): Promise<StateVersion> {
  try {
    return await db.transaction(async (tx) => {
      const held = await holdWorkspace(tx, workspace.id);
      await requireLock(tx, actor, held);
      const current = await findCurrent(tx, workspace.id);
      requireSuccessor({ ...claim, lineage: claim.lineage ?? (content.parsed?.lineage || null) }, current);
      const version = await versionOf(tx);
      const { id: blobId, size } = content.blob;
      await finalize(tx, keyring, actor, version, { blobId, size, parsed: content.parsed });
      return (await find(tx, version.id))!;
    });
  } catch (error) {
    if (isRefusal(error) && error.kind === 'conflict') {
      await quarantine.keep(db, actor, workspace, claim, content.blob, error.message);
    }
    throw error;
  }
}

/** The actor who announced a state version: the only one whose upload counts. */
const announcer = (version: StateVersion): Actor => ({
  type: version.createdByType as Actor['type'],
  id: version.createdById,
  name: version.createdById,
});

/**
 * Takes the bytes of an announced state version, as they come. They count once: a second upload is refused, as is one
 * that differs from the announced MD5 or comes when the announcer has lost the lock.
 */
export async function uploadRaw(
  db: Database,
  env: Keep,
  version: StateVersion,
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<StateVersion> {
  const discarded = version.status === 'discarded' && version.rawBlobId === null;
  if (!discarded) requireMissing(version, 'raw');
  const hash = createHash('md5');
  const pieces: Uint8Array[] = [];
  let held = 0;
  const seen = (piece: Uint8Array) => {
    hash.update(piece);
    held += piece.length;
    if (held <= inlineLimitBytes) pieces.push(piece);
    else pieces.length = 0;
  };
  const blob = await writeBlob(db, env.keyring, source, { limit, seen });
  const actor = announcer(version);
  const workspace = await requireWorkspace(db, version.workspaceId);
  const claim = { serial: version.serial, lineage: version.lineage, md5: version.md5, force: version.forced };
  const md5 = hash.digest('hex');
  if (discarded) {
    const reason = 'the lock under which the upload was announced was taken away';
    await quarantine.keep(db, actor, workspace, { ...claim, md5 }, blob, reason);
    throw new Refusal('conflict', `${reason}; the state is kept in quarantine`);
  }
  if (md5 !== version.md5) {
    const reason = 'the MD5 hash of the uploaded state is not the announced one';
    await quarantine.keep(db, actor, workspace, { ...claim, md5 }, blob, reason);
    throw invalid('md5', 'does not match the uploaded state');
  }
  const parsed = held <= inlineLimitBytes ? parsedOrKept(Buffer.concat(pieces)) : undefined;
  if (held <= inlineLimitBytes && !parsed) {
    await quarantine.keep(db, actor, workspace, claim, blob, 'the upload is no state file');
    throw invalid('state', 'is not a state file');
  }
  return accept(db, env, actor, workspace, claim, { blob, parsed }, async (tx) => {
    await tx.prisma.$queryRaw`SELECT id FROM state_version WHERE id = ${version.id} FOR UPDATE`;
    const current = await find(tx, version.id);
    if (!current) throw new Refusal('missing', '');
    requireMissing(current, 'raw');
    return current;
  });
}

function parsedOrKept(bytes: Buffer): ParsedState | undefined {
  try {
    return parseState(bytes);
  } catch {
    return undefined;
  }
}

/** Takes the JSON form of a state version; before, after or beside the state itself. */
export async function uploadJson(
  db: Database,
  env: Keep,
  version: StateVersion,
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<void> {
  requireMissing(version, 'json');
  const blob = await writeBlob(db, env.keyring, source, { limit });
  const { count } = await db.prisma.stateVersion.updateMany({
    where: { id: version.id, jsonBlobId: null, status: { in: ['pending', 'finalized'] } },
    data: { jsonBlobId: blob.id },
  });
  if (count === 0) throw uploadedAlready();
}

function requireMissing(version: StateVersion, form: 'raw' | 'json'): void {
  const open = form === 'raw' ? version.status === 'pending' : ['pending', 'finalized'].includes(version.status);
  const there = form === 'raw' ? version.rawBlobId : version.jsonBlobId;
  if (!open || there !== null) throw uploadedAlready();
}

const uploadedAlready = () => new Refusal('conflict', 'this upload URL was used already, or is no longer wanted');

/**
 * Goes back to the content of an earlier state version, as a new one with the next serial. Throws `conflict` without the
 * lock, `invalid` for a version whose content is gone.
 */
export async function rollback(
  db: Database,
  env: Keep,
  actor: Actor,
  workspace: Workspace,
  earlierId: string,
): Promise<StateVersion> {
  await requireLock(db, actor, await requireWorkspace(db, workspace.id));
  const earlier = await find(db, earlierId);
  const bytes =
    earlier?.workspaceId === workspace.id && earlier.status === 'finalized' && earlier.rawBlobId
      ? await readWholeBlob(db, env.keyring, earlier.rawBlobId)
      : undefined;
  if (!earlier || !bytes) throw invalid('rollbackStateVersion', 'is no state of this workspace that can be restored');
  const current = await findCurrent(db, workspace.id);
  const serial = (current?.serial ?? earlier.serial) + 1n;
  const state = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  const content = Buffer.from(JSON.stringify({ ...state, serial: Number(serial) }, null, 2));
  const parsed = parsedState(content, 'state');
  const blob = await writeBlob(db, env.keyring, Readable.from([content]), unlimited);
  const claim = { serial, lineage: parsed.lineage || null, md5: md5Of(content), force: false };
  return accept(db, env, actor, workspace, claim, { blob, parsed }, (tx) =>
    insert(tx, env, actor, workspace, claim, {}, undefined, earlier.id),
  );
}

/** Makes a quarantined state the current one, whatever its history. The caller must hold the lock. */
export async function promote(
  db: Database,
  env: Keep,
  actor: Actor,
  workspace: Workspace,
  kept: quarantine.QuarantinedState,
): Promise<StateVersion> {
  const bytes = await readWholeBlob(db, env.keyring, kept.blobId);
  if (!bytes) throw new Refusal('missing', '');
  const parsed = parsedState(bytes, 'state');
  const current = await findCurrent(db, workspace.id);
  const serial = current && current.serial >= kept.serial ? current.serial + 1n : kept.serial;
  const blob = await writeBlob(db, env.keyring, Readable.from([bytes]), unlimited);
  const claim = { serial, lineage: parsed.lineage || null, md5: md5Of(bytes), force: true };
  await requireLock(db, actor, await requireWorkspace(db, workspace.id));
  const version = await accept(db, env, actor, workspace, claim, { blob, parsed }, (tx) =>
    insert(tx, env, actor, workspace, claim, {}, undefined),
  );
  await db.prisma.quarantinedState.deleteMany({ where: { id: kept.id } });
  return version;
}
