import { notFound } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { requireWorkspace, type Workspace } from './workspace';

/** Gives a workspace an SSH key of its organization, or removes it. Throws `missing` for any other key. */
export async function assignSshKey(
  db: Database,
  actor: Actor,
  workspace: Workspace,
  keyId: string | null,
): Promise<Workspace> {
  const { id, organizationId } = workspace;
  return db.transaction(async (tx) => {
    if (keyId !== null) {
      const key = await tx.prisma.sshKey.findFirst({ where: { id: keyId, organizationId }, select: { id: true } });
      if (key === null) throw notFound();
    }
    await tx.prisma.workspace.update({ where: { id }, data: { sshKeyId: keyId, updatedAt: new Date() } });
    await recordChange(tx, actor, {
      organizationId,
      action: 'workspace.assign-ssh-key',
      target: { type: 'workspaces', id, name: workspace.name },
      before: { sshKeyId: workspace.sshKeyId },
      after: { sshKeyId: keyId },
    });
    return requireWorkspace(tx, id);
  });
}
