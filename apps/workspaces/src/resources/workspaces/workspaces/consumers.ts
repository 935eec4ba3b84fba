import { invalid, type Page, type SentReference } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { fromWorkspaces, selectWorkspaces, type Workspace, workspaceOf } from './workspace';

/**
 * The workspaces that may read this workspace's state: the chosen ones, or all workspaces of the project or
 * organization.
 */
export async function listConsumers(
  db: Database,
  access: Access,
  workspace: Workspace,
  page: Page,
): Promise<{ items: Workspace[]; total: number }> {
  const { id, organizationId, projectId } = workspace;
  const chosen = workspace.globalRemoteState
    ? Prisma.sql`w.organization_id = ${organizationId} AND w.id <> ${id}`
    : workspace.projectRemoteState
      ? Prisma.sql`w.project_id = ${projectId} AND w.id <> ${id}`
      : Prisma.sql`w.id IN (SELECT consumer_id FROM remote_state_consumer WHERE workspace_id = ${id})`;
  const where = Prisma.sql`${chosen} AND ${visibleWorkspaces(access, organizationId)}`;
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
    ${Prisma.raw(selectWorkspaces + fromWorkspaces())} WHERE ${where}
    ORDER BY w.name COLLATE "C", w.id LIMIT ${page.size} OFFSET ${page.offset}`;
  const [count] = await db.prisma.$queryRaw<[{ total: number }]>`
    SELECT count(*)::int AS total FROM workspace w WHERE ${where}`;
  return { items: rows.map(workspaceOf), total: count.total };
}

/**
 * The ids in a request. Each must be a workspace of the same organization that the caller can see. Throws `missing` or
 * `invalid`.
 */
async function requireConsumers(
  db: Database,
  access: Access,
  workspace: Workspace,
  sent: readonly SentReference[],
): Promise<string[]> {
  const ids = [...new Set(sent.map(({ id }) => id ?? ''))];
  if (ids.includes(workspace.id)) throw invalid(['data'], 'A workspace cannot be its own remote state consumer');
  const { organizationId } = workspace;
  const found = await db.prisma.workspace.findMany({
    where: { id: { in: ids }, organizationId },
    select: { id: true, projectId: true, organizationId: true },
  });
  const visible = found.filter((other) => access.has(other, 'runs:read'));
  if (visible.length < ids.length) throw notFound();
  return ids;
}

/**
 * Adds, replaces or removes consumers. Refused (`invalid`) while the state is open to the whole project or
 * organization.
 */
export async function changeConsumers(
  db: Database,
  caller: { access: Access; actor: Actor },
  workspace: Workspace,
  sent: readonly SentReference[],
  how: 'add' | 'replace' | 'remove',
): Promise<void> {
  if (workspace.globalRemoteState) {
    throw new Refusal('invalid', 'Remote state consumers cannot be changed while global remote state is on');
  }
  if (workspace.projectRemoteState) {
    throw new Refusal('invalid', 'Remote state consumers cannot be changed while project remote state is on');
  }
  const ids = await requireConsumers(db, caller.access, workspace, sent);
  await db.transaction(async ({ prisma, ...rest }) => {
    const ownRows = { workspaceId: workspace.id };
    if (how === 'replace') {
      await prisma.remoteStateConsumer.deleteMany({ where: { ...ownRows, consumerId: { notIn: ids } } });
    }
    if (how === 'remove') {
      await prisma.remoteStateConsumer.deleteMany({ where: { ...ownRows, consumerId: { in: ids } } });
    } else {
      await prisma.remoteStateConsumer.createMany({
        data: ids.map((consumerId) => ({ ...ownRows, consumerId })),
        skipDuplicates: true,
      });
    }
    await recordChange({ prisma, ...rest }, caller.actor, {
      organizationId: workspace.organizationId,
      action: `workspace.${how}-state-consumers`,
      target: { type: 'workspaces', id: workspace.id, name: workspace.name },
      after: { consumers: ids },
    });
  });
}
