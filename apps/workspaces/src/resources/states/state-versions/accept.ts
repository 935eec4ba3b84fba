import { isRefusal, notFound } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import { keepBlob, removeBlob, type WrittenBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { requireWorkspace } from '../../workspaces/workspaces/workspace';
import * as quarantine from './quarantine';
import { type Claim, requireLock, requireSuccessor } from './rules';
import type { ParsedState } from './scanner/parse-state';
import { findCurrent, type StateVersion } from './state-version';
import { finalize } from './writes';

/** Locks the row of a workspace until the transaction ends, and reads it as it is then. */
export async function lockWorkspace(tx: Database, id: string): Promise<Workspace> {
  await lockRow(tx, 'workspace', id);
  return requireWorkspace(tx, id);
}

/** The bytes of a state, provisional until they are accepted, and their content. */
export interface Offered {
  readonly blob: WrittenBlob;
  readonly parsed: ParsedState | undefined;
  /** The tool's JSON of the same state. */
  readonly jsonBlobId?: string;
  /**
   * The quarantined state from which the bytes come. It is removed from quarantine if they are accepted, and kept if
   * they are refused.
   */
  readonly quarantinedId?: string;
  /** They were derived from stored bytes, so nothing is lost if they are refused. */
  readonly derived?: boolean;
}

/**
 * Makes content current if the lock and the history still allow this; this is decided while the workspace's row is
 * locked. Otherwise quarantines it and refuses. Returns the id of the state version.
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
