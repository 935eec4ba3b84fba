import type { Actor } from '../../../kernel/audit/audit';
import { type BackingDataAction, changeBackingData, gone } from '../../../kernel/blobs/backing-data';
import { type Database, still } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { find, type StateVersion } from './state-version';

/** Hides, restores or removes the content of a state version; never of the one its workspace is at. */
export async function changeContent(
  db: Database,
  actor: Actor,
  version: StateVersion,
  action: BackingDataAction,
): Promise<StateVersion> {
  const { id, organizationId, status, workspaceId } = version;
  return db.transaction(async (tx) => {
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
          data: { ...change, ...(change.status === gone ? { rawBlobId: null, jsonBlobId: null } : {}) },
        }),
    } as const;
    await changeBackingData(tx, actor, item, action);
    return still(await find(tx, id));
  });
}
