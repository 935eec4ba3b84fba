import { Prisma, type ConfigurationVersion as Row } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';
import { rowMapper } from '../../../kernel/database/rows';

/** A bundle of configuration with the workspace whose rules protect it. */
export interface ConfigurationVersion extends Omit<Row, 'workspaceId' | 'moduleId'> {
  readonly workspaceId: string;
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
  /** The id of its commit; null for an uploaded configuration. */
  readonly ingressId: string | null;
  readonly changedFiles: readonly string[];
  /** Present only in the response to its creation. */
  readonly uploadUrl?: string;
}

/** A bundle of configuration of a module, to test. */
export interface ModuleConfiguration extends Omit<Row, 'workspaceId' | 'moduleId'> {
  readonly workspaceId: null;
  readonly moduleId: string;
  readonly organizationId: string;
  readonly uploadUrl?: string;
}

/** A configuration version of a workspace or a module. */
export type AnyConfiguration = ConfigurationVersion | ModuleConfiguration;

// One statement instead of one for each table, because clients poll this after an upload.
const select = Prisma.sql`
  SELECT c.*, w.project_id, w.organization_id, i.id AS ingress_id, coalesce(i.changed_files, '{}') AS changed_files
    FROM configuration_version c JOIN workspace w ON w.id = c.workspace_id
    JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
    LEFT JOIN ingress_attributes i ON i.configuration_version_id = c.id`;

const mapped = rowMapper<Omit<ConfigurationVersion, 'workspace'> & { readonly projectId: string }>(['size']);

function configurationOf(found: Record<string, unknown>): ConfigurationVersion {
  const { projectId, ...row } = mapped(found);
  const { workspaceId: id, organizationId } = row;
  return { ...row, workspace: { id, projectId, organizationId } };
}

/** Configuration versions by id, in no particular order; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<ConfigurationVersion[]> {
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`${select} WHERE c.id = ANY(${[...ids]})`;
  return rows.map(configurationOf);
}

/** The configuration version with a `cv-…` id. */
export async function find(db: Database, id: string): Promise<ConfigurationVersion | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The configuration version with an id, if it belongs to a module. */
export async function findOfModule(db: Database, id: string): Promise<ModuleConfiguration | undefined> {
  const where = { id, module: { organization: { removedAt: null } } };
  const row = await db.prisma.configurationVersion.findFirst({
    where,
    include: { module: { select: { organizationId: true } } },
  });
  if (!row?.module || row.moduleId === null) return undefined;
  const { module, moduleId, ...found } = row;
  return { ...found, workspaceId: null, moduleId, organizationId: module.organizationId };
}

/** The configuration version of a run; also undefined for a run without a configuration version. */
export async function findOfRun(db: Database, runId: string): Promise<ConfigurationVersion | undefined> {
  const run = await db.prisma.run.findFirst({
    where: { id: runId, isAssessment: false },
    select: { configurationVersionId: true },
  });
  return run?.configurationVersionId ? find(db, run.configurationVersionId) : undefined;
}

/** A page of a workspace's configuration versions, newest first. */
export async function list(
  db: Database,
  workspaceId: string,
  page: { offset: number; size: number },
): Promise<{ items: ConfigurationVersion[]; total: number }> {
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
    ${select} WHERE c.workspace_id = ${workspaceId} ORDER BY c.created_at DESC, c.id DESC LIMIT ${page.size} OFFSET ${page.offset}`;
  return {
    items: rows.map(configurationOf),
    total: await db.prisma.configurationVersion.count({ where: { workspaceId } }),
  };
}
