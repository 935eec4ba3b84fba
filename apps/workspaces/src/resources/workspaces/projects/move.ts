import { Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { type Actor, recordChanges } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { requireAllowed } from './allowed';
import { mayMove } from './policy';
import type { Project } from './project';

/**
 * Moves workspaces into a project, all or none. Throws `denied` with the workspaces that are unknown or that the caller
 * may not move.
 */
export async function moveWorkspaces(
  db: Database,
  actor: Actor,
  access: Access,
  project: Project,
  workspaceIds: readonly string[],
): Promise<void> {
  const { id: projectId, organizationId } = project;
  await db.transaction(async (tx) => {
    const rows = await tx.prisma.$queryRaw<{ id: string; name: string; project_id: string }[]>`
      SELECT id, name, project_id FROM workspace
       WHERE id = ANY(${workspaceIds}) AND organization_id = ${organizationId} ORDER BY id FOR UPDATE`;
    const movable = rows.filter((row) => mayMove(access, { id: row.project_id, organizationId }, project));
    const refused = workspaceIds.filter((id) => !movable.some((row) => row.id === id));
    if (refused.length > 0) {
      const list = refused.join(', ');
      throw new Refusal('denied', `Workspace(s) not found, or you are not authorized to move them: ${list}`);
    }
    const moving = movable.filter((row) => row.project_id !== projectId);
    const settings = await tx.prisma.workspace.findMany({
      where: {
        id: { in: moving.map(({ id }) => id) },
        OR: [{ agentPoolId: { not: null } }, { oauthTokenId: { not: null } }],
      },
      select: {
        id: true,
        organizationId: true,
        agentPoolId: true,
        oauthTokenId: true,
        vcsInstallationId: true,
        vcsIdentifier: true,
      },
    });
    for (const one of settings) await requireAllowed(tx, { ...one, projectId }, 'moved', one);
    await tx.prisma.workspace.updateMany({
      where: { id: { in: moving.map(({ id }) => id) } },
      data: { projectId, updatedAt: new Date() },
    });
    await recordChanges(
      tx,
      actor,
      moving.map((row) => ({
        organizationId,
        action: 'workspace.move',
        target: { type: 'workspaces', id: row.id, name: row.name },
        before: { projectId: row.project_id },
        after: { projectId },
      })),
    );
  });
}
