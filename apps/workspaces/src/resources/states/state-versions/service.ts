import { ExactNumber, parseExact } from '@keystead/envelope';
import { invalid } from '@keystead/jsonapi';
import { isRefusal, notFound, Refusal } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import { type BackingDataAction, changeBackingData, deletedStatus } from '../../../kernel/blobs/backing-data';
import { readBlob, writeBlob } from '../../../kernel/blobs/blobs';
import { type Database, still } from '../../../kernel/database/database';
import { patienceMs, tooMany } from '../../../kernel/database/keyed-mutex';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { requireWorkspace } from '../../workspaces/workspaces/workspace';
import * as outputs from './outputs';
import type * as quarantine from './quarantine';
import { type Claim, requireLock, requireOwnClaim, requireSuccessor } from './rules';
import { jsonObject } from './scanner/json-scanner';
import { type ParsedOutput, parseOutputs, serialAfter } from './scanner/parse-state';
import { watch } from './scanner/state-threads';
import { withSerial } from './scanner/with-serial';
import { type Base64, decoded, inlineLimitBytes } from './schema';
import { find, findCurrent, type StateVersion } from './state-version';
import { accept, lockWorkspace } from './upload';
import { type Announced, announce, tryAnnounce } from './writes';

/** The content of a request for a new state version. */
export interface NewState {
  readonly serial: bigint;
  readonly md5: string;
  readonly lineage?: string | null;
  readonly force?: boolean | null;
  readonly intermediate?: boolean | null;
  /** `state`, `jsonState` and `jsonStateOutputs` are in base64. */
  readonly state?: Base64 | null;
  readonly jsonState?: Base64 | null;
  readonly jsonStateOutputs?: Base64 | null;
  readonly run?: string | null;
}

type KeyringEnv = Pick<Environment, 'keyring'>;

async function givenOutputs(text: Base64 | null | undefined): Promise<ParsedOutput[] | undefined> {
  if (!text) return undefined;
  let parsed: unknown;
  try {
    const pieces: Uint8Array[] = [];
    // Refuses values that are nested too deep to be written and read again.
    for await (const piece of jsonObject(decoded(text), 'jsonStateOutputs')) pieces.push(piece);
    parsed = parseExact(Buffer.concat(pieces).toString('utf8'));
  } catch {
    throw invalid('jsonStateOutputs', 'must be a JSON object in base64');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || parsed instanceof ExactNumber) {
    throw invalid('jsonStateOutputs', 'must be a JSON object in base64');
  }
  return parseOutputs(Object.entries(parsed));
}

/**
 * Creates a state version without content (pending, to be uploaded) or with content (finalized). The caller must hold
 * the workspace's lock. Throws `conflict` for a lock or history that does not match, and `invalid` for bytes that are
 * not a state. Refused content is quarantined.
 */
export async function create(
  db: Database,
  env: KeyringEnv,
  actor: Actor,
  workspace: Workspace,
  input: NewState,
): Promise<StateVersion> {
  const claim: Claim = {
    serial: input.serial,
    lineage: input.lineage ?? null,
    md5: input.md5,
    force: input.force === true,
  };
  if (input.run) await requireRun(db, workspace, input.run);
  if (!input.state) {
    const announced = input.jsonStateOutputs ? undefined : await tryAnnounce(db, actor, workspace, claim, input);
    if (announced) return announced;
    return db.transaction(async (tx) => {
      const locked = await lockWorkspace(tx, workspace.id);
      await requireLock(tx, actor, locked);
      requireSuccessor(claim, await findCurrent(tx, workspace.id));
      return insert(tx, env, actor, workspace, claim, input, await givenOutputs(input.jsonStateOutputs));
    });
  }
  // Checked before the bytes are processed, and again when they are accepted.
  await requireLock(db, actor, await requireWorkspace(db, workspace.id));
  const outputList = await givenOutputs(input.jsonStateOutputs);
  const state = input.state;
  const { md5, parsed } = await watch(db, async (onPiece) => {
    let size = 0;
    for await (const piece of decoded(state)) {
      size += piece.length;
      if (size > inlineLimitBytes) {
        throw new Refusal(
          'too-large',
          'inline state can be at most 16 MiB; omit state and use hosted-state-upload-url',
        );
      }
      await onPiece(piece);
    }
  });
  if (md5 !== claim.md5) throw invalid('md5', 'does not match the state');
  if (!parsed) throw invalid('state', 'is not a state file');
  requireOwnClaim(claim, parsed);
  const json = input.jsonState ? await written(db, env, jsonObject(decoded(input.jsonState), 'jsonState')) : undefined;
  const blob = await written(db, env, decoded(input.state));
  const content = { blob, parsed, jsonBlobId: json?.id };
  const id = await accept(db, env, actor, workspace, claim, content, (tx) =>
    insert(tx, env, actor, workspace, claim, input, outputList),
  );
  return still(await find(db, id));
}

async function requireRun(db: Database, { id: workspaceId }: Workspace, id: string): Promise<void> {
  const found = await db.prisma.run.findFirst({ where: { id, workspaceId }, select: { id: true } });
  if (!found) throw invalid('run', 'is not a run of this workspace');
}

const unlimited = Number.MAX_SAFE_INTEGER;
const written = (db: Database, { keyring }: KeyringEnv, source: AsyncIterable<Uint8Array>) =>
  writeBlob(db, keyring, source, { limit: unlimited, provisional: true });

/**
 * Creates a pending version in the transaction that locks the row of its workspace, with the outputs that came with it.
 */
async function insert(
  tx: Database,
  { keyring }: KeyringEnv,
  actor: Actor,
  workspace: Workspace,
  claim: Claim,
  input: Announced,
  outputList?: readonly ParsedOutput[],
): Promise<StateVersion> {
  const outputsGiven = outputList !== undefined;
  const added = still(await announce(tx, actor, workspace, null, claim, { ...input, outputsGiven }));
  if (!outputList) return added;
  await outputs.store(tx, keyring, added.id, outputList);
  return still(await find(tx, added.id));
}

/**
 * Creates a new version with the next serial and the content of an earlier state version. Throws `conflict` without the
 * lock, `invalid` if the content of the earlier version no longer exists.
 */
export async function rollback(
  db: Database,
  env: KeyringEnv,
  actor: Actor,
  workspace: Workspace,
  earlierId: string,
): Promise<StateVersion> {
  await requireLock(db, actor, await requireWorkspace(db, workspace.id));
  const earlier = await find(db, earlierId);
  const blobId = earlier?.workspaceId === workspace.id && earlier.status === 'finalized' ? earlier.rawBlobId : null;
  if (!earlier || blobId === null) {
    throw invalid('rollbackStateVersion', 'is not a state version of this workspace that can be restored');
  }
  const untilMs = performance.now() + patienceMs;
  if (earlier.format === null) throw invalid('rollbackStateVersion', sealedSerial);
  for (;;) {
    const current = await findCurrent(db, workspace.id);
    const serial = serialAfter(current?.serial ?? earlier.serial);
    const content = withSerial(() => readBlob(db, env.keyring, blobId), serial);
    const watched = await watch(db, (onPiece) =>
      writeBlob(db, env.keyring, content, { limit: unlimited, onPiece, provisional: true }),
    );
    const { md5, parsed, result: blob } = watched;
    const claim = { serial, lineage: earlier.lineage, md5, force: false };
    try {
      const id = await accept(db, env, actor, workspace, claim, { blob, parsed, derived: true }, (tx) =>
        insert(tx, env, actor, workspace, claim, { rollbackOfId: earlier.id }),
      );
      return still(await find(db, id));
    } catch (error) {
      // Another state became current in the meantime. Try again, with the serial after that state.
      const isOvertaken = isRefusal(error) && (await findCurrent(db, workspace.id))?.id !== current?.id;
      if (!isOvertaken) throw error;
      if (performance.now() > untilMs) throw tooMany(error);
    }
  }
}

/** The reason why the serial of an encrypted state cannot be changed. */
const sealedSerial = 'is encrypted, and only the tool that encrypted it can give it another serial: use its state push';

/**
 * Makes a quarantined state the current one, without lineage or serial checks. Throws `conflict` without the lock,
 * `invalid` for bytes that are not a state, and `missing` if they no longer exist.
 */
export async function promote(
  db: Database,
  env: KeyringEnv,
  actor: Actor,
  workspace: Workspace,
  quarantined: quarantine.QuarantinedState,
): Promise<StateVersion> {
  const read = () => readBlob(db, env.keyring, quarantined.blobId);
  const stream = await read();
  if (!stream) throw notFound();
  const found = await watch(db, async (onPiece) => {
    for await (const piece of stream) await onPiece(piece as Buffer);
  });
  if (!found.parsed) throw invalid('state', 'is not a state file');
  const { parsed } = found;
  const current = await findCurrent(db, workspace.id);
  const own = parsed.serial;
  const serial = current && current.serial >= own ? serialAfter(current.serial) : own;
  if (serial !== own && parsed.format === null) throw invalid('state', sealedSerial);
  const renumbered =
    serial === own
      ? undefined
      : await watch(db, (onPiece) =>
          writeBlob(db, env.keyring, withSerial(read, serial), { limit: unlimited, onPiece, provisional: true }),
        );
  const claim = { serial, lineage: parsed.lineage || null, md5: renumbered?.md5 ?? found.md5, force: true };
  const blob = renumbered?.result ?? { id: quarantined.blobId, size: Number(quarantined.size) };
  const id = await accept(db, env, actor, workspace, claim, { blob, parsed, quarantinedId: quarantined.id }, (tx) =>
    insert(tx, env, actor, workspace, claim, {}),
  );
  return still(await find(db, id));
}

/** Hides, restores or removes the content of a state version, but never of the current version of its workspace. */
export async function changeContent(
  db: Database,
  actor: Actor,
  version: StateVersion,
  action: BackingDataAction,
): Promise<void> {
  const { id, organizationId, status, workspaceId } = version;
  await db.transaction(async (tx) => {
    const item = {
      type: 'state-versions',
      id,
      organizationId,
      status,
      readable: 'finalized',
      blobIds: [version.rawBlobId, version.jsonBlobId],
      async needed() {
        await lockRow(tx, 'workspace', workspaceId);
        const current = await tx.prisma.workspace.count({ where: { id: workspaceId, currentStateVersionId: id } });
        return current > 0 ? 'it is the current state of its workspace' : undefined;
      },
      move: (from: string, change: { status: string }) =>
        tx.prisma.stateVersion.updateMany({
          where: { id, status: from },
          data: { ...change, ...(change.status === deletedStatus ? { rawBlobId: null, jsonBlobId: null } : {}) },
        }),
    } as const;
    await changeBackingData(tx, actor, item, action);
  });
}
