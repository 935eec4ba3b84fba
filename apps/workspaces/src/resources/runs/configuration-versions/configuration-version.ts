import type { Prisma } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';

const whole = {
  ingress: { select: { id: true, changedFiles: true } },
  workspace: { select: { projectId: true, organizationId: true, organization: { select: { removedAt: true } } } },
} as const;

type ConfigurationVersionRow = Prisma.ConfigurationVersionGetPayload<{ include: typeof whole }>;

/** A bundle of configuration with the workspace whose rules protect it. */
export interface ConfigurationVersion extends Omit<ConfigurationVersionRow, 'workspace' | 'ingress'> {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
  /** Of the commit it came from; null for one that was uploaded. */
  readonly ingressId: string | null;
  readonly changedFiles: readonly string[];
  /** Only when it was just created. */
  readonly uploadUrl?: string;
}

function configurationOf({ workspace, ingress, ...row }: ConfigurationVersionRow): ConfigurationVersion {
  const { projectId, organizationId } = workspace;
  const more = { ingressId: ingress?.id ?? null, changedFiles: ingress?.changedFiles ?? [] };
  return { ...row, ...more, organizationId, workspace: { id: row.workspaceId, projectId, organizationId } };
}

/** Configuration versions by id, in no order; unknown ones are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<ConfigurationVersion[]> {
  const rows = await db.prisma.configurationVersion.findMany({ where: { id: { in: [...ids] } }, include: whole });
  return rows.filter((row) => row.workspace.organization.removedAt === null).map(configurationOf);
}

/** The configuration version with a `cv-…` id. */
export async function find(db: Database, id: string): Promise<ConfigurationVersion | undefined> {
  return (await findMany(db, [id]))[0];
}

/** A page of a workspace's configuration versions, newest first. */
export async function list(
  db: Database,
  workspaceId: string,
  page: { offset: number; size: number },
): Promise<{ items: ConfigurationVersion[]; total: number }> {
  const rows = await db.prisma.configurationVersion.findMany({
    where: { workspaceId },
    include: whole,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: page.offset,
    take: page.size,
  });
  return {
    items: rows.map(configurationOf),
    total: await db.prisma.configurationVersion.count({ where: { workspaceId } }),
  };
}
