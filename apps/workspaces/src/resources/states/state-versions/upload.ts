import { invalid } from '@keystead/jsonapi';
import { isRefusal, notFound, Refusal } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import { gatherBlob, keepBlob, removeBlob, storeBlob, type WrittenBlob, writeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { requireWorkspace, type Workspace } from '../../workspaces/workspaces/workspace';
import * as quarantine from './quarantine';
import { type Claim, requireLock, requireOwnClaim, requireSuccessor } from './rules';
import { jsonObject } from './scanner/json-scanner';
import type { ParsedState } from './scanner/parse-state';
import { watch } from './scanner/state-threads';
import { find, findCurrent, type StateVersion } from './state-version';
import { finalize, tryFinalize } from './writes';

/** Locks the row of a workspace until the transaction ends, and reads it as it is then. */
export async function lockWorkspace(tx: Database, id: string): Promise<Workspace> {
  await lockRow(tx, 'workspace', id);
  return requireWorkspace(tx, id);
}

/** The bytes of a state, provisional until they are accepted, and their content. */
export interface Offered {
  readonly blob: WrittenBlob;
  readonly parsed: ParsedState | undefined;
  /** The blob with the tool's JSON of the same state. */
  readonly jsonBlobId?: string;
  /**
   * The quarantined state from which the bytes come. It is removed from quarantine if they are accepted, and kept if
   * they are refused.
   */
  readonly quarantinedId?: string;
  /** Whether the bytes were derived from stored bytes, so that nothing is lost if they are refused. */
  readonly derived?: boolean;
}

/**
 * Makes content current if the lock and the history allow this, which is decided while the workspace's row is locked.
 * Otherwise quarantines the content and throws the refusal. Returns the id of the state version.
 */
export async function accept(
  db: Database,
  { keyring }: Pick<Environment, 'keyring'>,
  actor: Actor,
  workspace: Workspace,
  claim: Claim,
  { blob, parsed, jsonBlobId, quarantinedId, derived }: Offered,
  versionOf: (tx: Database) => Promise<StateVersion>,
): Promise<string> {
  try {
    return await db.transaction(async (tx) => {
      const locked = await lockWorkspace(tx, workspace.id);
      await requireLock(tx, actor, locked);
      const current = await findCurrent(tx, workspace.id);
      requireSuccessor({ ...claim, lineage: claim.lineage ?? (parsed?.lineage || null) }, current);
      const version = await versionOf(tx);
      if (jsonBlobId) await keepBlob(tx, jsonBlobId);
      await finalize(tx, keyring, actor, version, { blob, parsed, jsonBlobId });
      if (quarantinedId) {
        const { count } = await tx.prisma.quarantinedState.deleteMany({ where: { id: quarantinedId } });
        if (count === 0) throw notFound();
      }
      return version.id;
    });
  } catch (error) {
    if (jsonBlobId) await removeBlob(db, jsonBlobId);
    if (isRefusal(error) && !quarantinedId) {
      if (error.kind === 'conflict' && !derived)
        await quarantine.keep(db, actor, workspace, claim, blob, error.message);
      else await removeBlob(db, blob.id);
    }
    throw error;
  }
}

type KeyringEnv = Pick<Environment, 'keyring'>;

/** The actor who announced a state version; only their upload is accepted. */
const announcer = (version: StateVersion): Actor => ({
  type: version.createdByType as Actor['type'],
  id: version.createdById,
  name: version.createdById,
});

/**
 * Receives the bytes of an announced state version as a stream. They are accepted only once. Refuses a second upload,
 * an upload that differs from the announced MD5, and an upload after the announcer has lost the lock.
 */
export async function uploadRaw(
  db: Database,
  env: KeyringEnv,
  version: StateVersion,
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<void> {
  const discarded = version.status === 'discarded' && version.rawBlobId === null;
  if (!discarded) requireMissing(version, 'raw');
  const watched = await watch(db, (onPiece) =>
    gatherBlob(db, env.keyring, source, { limit, onPiece, provisional: true }),
  );
  const { md5, parsed, result: gathered } = watched;
  const actor = announcer(version);
  const claim = { serial: version.serial, lineage: version.lineage, md5: version.md5, force: version.forced };
  const problem = parsed && md5 === version.md5 ? claimProblem(claim, parsed) : undefined;
  const sound = !discarded && parsed && md5 === version.md5 && !problem;
  if (sound && (await tryFinalize(db, env.keyring, actor, version, claim, { blob: gathered, parsed }))) return;
  const blob = await storeBlob(db, gathered, { provisional: true });
  const workspace = await requireWorkspace(db, version.workspaceId);
  if (discarded) {
    const reason = 'the lock under which the upload was announced was removed';
    await quarantine.keep(db, actor, workspace, { ...claim, md5 }, blob, reason);
    throw new Refusal('conflict', `${reason}; the state is kept in quarantine`);
  }
  if (md5 !== version.md5) {
    const reason = 'the MD5 hash of the uploaded state is not the announced one';
    await quarantine.keep(db, actor, workspace, { ...claim, md5 }, blob, reason);
    throw invalid('md5', 'does not match the uploaded state');
  }
  if (!parsed) {
    await quarantine.keep(db, actor, workspace, claim, blob, 'the upload is not a state file');
    throw invalid('state', 'is not a state file');
  }
  if (problem) {
    const problems = problem.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ');
    await quarantine.keep(db, actor, workspace, claim, blob, problems);
    throw problem;
  }
  await accept(db, env, actor, workspace, claim, { blob, parsed }, async (tx) => {
    await lockRow(tx, 'state_version', version.id);
    const current = await find(tx, version.id);
    if (!current) throw notFound();
    requireMissing(current, 'raw');
    return current;
  });
}

/**
 * Receives the JSON format of a state version. It can arrive before, after or together with the state itself. Throws
 * `conflict` for a second upload, and `invalid` for anything other than a JSON object.
 */
export async function uploadJson(
  db: Database,
  env: KeyringEnv,
  version: StateVersion,
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<void> {
  requireMissing(version, 'json');
  const blob = await writeBlob(db, env.keyring, jsonObject(source, 'jsonState'), { limit, provisional: true });
  const isUpdated = await db.transaction(async (tx) => {
    const { count } = await tx.prisma.stateVersion.updateMany({
      where: { id: version.id, jsonBlobId: null, status: { in: ['pending', 'finalized'] } },
      data: { jsonBlobId: blob.id },
    });
    if (count > 0) await keepBlob(tx, blob.id);
    return count > 0;
  });
  if (isUpdated) return;
  await removeBlob(db, blob.id);
  throw uploadedAlready();
}

/** The error of `requireOwnClaim`, if any. The upload is quarantined before it is refused. */
function claimProblem(claim: Claim, parsed: ParsedState): Refusal | undefined {
  try {
    requireOwnClaim(claim, parsed);
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}

function requireMissing(version: StateVersion, form: 'raw' | 'json'): void {
  const open = form === 'raw' ? version.status === 'pending' : ['pending', 'finalized'].includes(version.status);
  const there = form === 'raw' ? version.rawBlobId : version.jsonBlobId;
  if (!open || there !== null) throw uploadedAlready();
}

const uploadedAlready = () => new Refusal('conflict', 'this upload URL was already used or is no longer valid');
