import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../kernel/audit';
import { removeBlob } from '../../kernel/blobs';
import type { Database } from '../../kernel/database';
import { find, type StateVersion } from './state-version';

const soft = 'backing_data_soft_deleted';
const gone = 'backing_data_permanently_deleted';

/** What may be done to the content of a state version, from which status and to which. */
const moves = {
  soft_delete_backing_data: { from: 'finalized', to: soft },
  restore_backing_data: { from: soft, to: 'finalized' },
  permanently_delete_backing_data: { from: soft, to: gone },
} as const;

export type BackingDataAction = keyof typeof moves;
export const backingDataActions = Object.keys(moves) as BackingDataAction[];

/**
 * Hides, restores or removes the content of a state version. Throws `malformed` with the words `transition not allowed`
 * for the current version of a workspace and for a wrong status.
 */
export async function changeBackingData(
  db: Database,
  actor: Actor,
  version: StateVersion,
  action: BackingDataAction,
): Promise<StateVersion> {
  const { from, to } = moves[action];
  const blobs = [version.rawBlobId, version.jsonBlobId].filter((id) => id !== null);
  return db.transaction(async (tx) => {
    const workspace = await tx.prisma.workspace.findUnique({ where: { id: version.workspaceId } });
    const { count } = await tx.prisma.stateVersion.updateMany({
      where: { id: version.id, status: from },
      data: {
        status: to,
        deletedAt: to === 'finalized' ? null : new Date(),
        ...(to === gone ? { rawBlobId: null, jsonBlobId: null } : {}),
      },
    });
    if (count === 0) throw notAllowed(`the state version is ${version.status}, not ${from}`);
    if (workspace?.currentStateVersionId === version.id) throw notAllowed('it is the current state of its workspace');
    if (to === gone) for (const id of blobs) await removeBlob(tx, id);
    await recordChange(tx, actor, {
      organizationId: version.organizationId,
      action: `state-version.${action.replace(/_/g, '-')}`,
      target: { type: 'state-versions', id: version.id },
      before: { status: from },
      after: { status: to },
    });
    return (await find(tx, version.id))!;
  });
}

function notAllowed(why: string): Refusal {
  return new Refusal('malformed', `transition not allowed: ${why}`);
}
