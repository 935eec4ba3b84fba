import type { Prisma } from '../../generated/prisma/client';
import type { WorkspaceTarget } from '../../kernel/access';
import type { Database } from '../../kernel/database';

const whole = {
  workspace: { select: { projectId: true, organizationId: true, organization: { select: { removedAt: true } } } },
  outputs: { select: { id: true }, orderBy: { name: 'asc' } },
} as const;

type Row = Prisma.StateVersionGetPayload<{ include: typeof whole }>;

/** A state version with the workspace whose rules protect it. */
export interface StateVersion extends Omit<Row, 'workspace' | 'outputs'> {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
  readonly outputIds: readonly string[];
}

function stateVersionOf({ workspace, outputs, ...row }: Row): StateVersion {
  const { projectId, organizationId } = workspace;
  return {
    ...row,
    organizationId,
    workspace: { id: row.workspaceId, projectId, organizationId },
    outputIds: outputs.map(({ id }) => id),
  };
}

/** State versions by id, in no order; unknown ones are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<StateVersion[]> {
  const rows = await db.prisma.stateVersion.findMany({ where: { id: { in: [...ids] } }, include: whole });
  return rows.filter((row) => row.workspace.organization.removedAt === null).map(stateVersionOf);
}

/** The state version with an `sv-…` id. */
export async function find(db: Database, id: string): Promise<StateVersion | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The state version a workspace is at. */
export async function findCurrent(db: Database, workspaceId: string): Promise<StateVersion | undefined> {
  const where = { id: workspaceId };
  const workspace = await db.prisma.workspace.findUnique({ where, select: { currentStateVersionId: true } });
  return workspace?.currentStateVersionId ? find(db, workspace.currentStateVersionId) : undefined;
}

/** A page of a workspace's state versions, newest first. */
export async function list(
  db: Database,
  workspaceId: string,
  status: string | undefined,
  page: { offset: number; size: number },
): Promise<{ items: StateVersion[]; total: number }> {
  const where = { workspaceId, ...(status ? { status } : {}) };
  const rows = await db.prisma.stateVersion.findMany({
    where,
    include: whole,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: page.offset,
    take: page.size,
  });
  return { items: rows.map(stateVersionOf), total: await db.prisma.stateVersion.count({ where }) };
}
