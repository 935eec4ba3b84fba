import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { mayForceDelete } from './policy';
import { requireWorkspace, type Workspace, type WorkspaceCaller } from './workspace';

async function erase(db: Database, actor: Actor, workspace: Workspace, action: string): Promise<void> {
  const { count } = await db.prisma.workspace.deleteMany({ where: { id: workspace.id } });
  if (count === 0) throw notFound();
  await recordChange(db, actor, {
    organizationId: workspace.organizationId,
    action,
    target: { type: 'workspaces', id: workspace.id, name: workspace.name },
    before: { name: workspace.name, projectId: workspace.projectId, resourceCount: workspace.resourceCount },
  });
}

/**
 * Deletes a workspace even if it manages resources. Throws `denied` if it manages resources and its project, or the
 * organization, allows only owners to delete it.
 */
export async function remove(db: Database, caller: WorkspaceCaller, workspace: Workspace): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspace.id);
    const current = await requireWorkspace(tx, workspace.id);
    if (current.resourceCount > 0 && !mayForceDelete(caller.access, current)) {
      throw new Refusal(
        'denied',
        'This workspace still manages resources, and its project or organization allows only owners to delete such workspaces',
      );
    }
    await erase(tx, caller.actor, current, 'workspace.delete');
  });
}

/** Deletes a workspace only if nothing would be lost. Throws `conflict` while it is locked or manages resources. */
export async function safeRemove(db: Database, caller: WorkspaceCaller, workspace: Workspace): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspace.id);
    const current = await requireWorkspace(tx, workspace.id);
    if (current.lockedAt !== null) {
      throw new Refusal(
        'conflict',
        'Workspace is currently locked. Workspace must be unlocked before it can be safely deleted',
      );
    }
    const waiting = {
      workspaceId: current.id,
      OR: [{ status: 'pending' }, { id: current.currentStateVersionId ?? '', resourcesProcessed: false }],
    };
    if ((await tx.prisma.stateVersion.count({ where: waiting })) > 0) {
      throw new Refusal(
        'conflict',
        'Latest workspace state is being processed to discover resources, please try again later',
      );
    }
    if (current.resourceCount > 0) {
      throw new Refusal('conflict', 'Workspace cannot be safely deleted because it is still managing resources');
    }
    await erase(tx, caller.actor, current, 'workspace.safe-delete');
  });
}
