import { freeForm } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { requireWorkspace, type Workspace } from './workspace';

const Assignment = z.object({
  data: z.union([
    z.object({ type: z.literal('workspaces'), attributes: z.object({ id: z.string().nullable() }) }),
    z.object({ type: z.literal('ssh-keys'), id: z.string().nullable() }),
    z.null(),
  ]),
});

/** Body of an SSH key assignment: the key's id, or null to remove it. */
export const AssignSshKey = freeForm(
  (raw): string | null => {
    const result = Assignment.safeParse(raw);
    if (!result.success) {
      throw new Refusal('invalid', '', [{ path: ['data'], message: 'must name an SSH key, or null' }]);
    }
    const { data } = result.data;
    return data === null ? null : 'attributes' in data ? data.attributes.id : data.id;
  },
  { type: 'object', required: ['data'], properties: { data: { type: 'object', nullable: true } } },
  false,
);

/**
 * Gives a workspace an SSH key of its organization, or removes it. Throws `missing` for a key that does not exist
 * there.
 */
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
