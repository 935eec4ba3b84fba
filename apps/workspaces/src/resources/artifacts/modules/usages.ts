import { hasOne, instant, text, toOne } from '@keystead/jsonapi';
import type { RegistryModuleUsage as Row } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import type { Principal } from '../../../kernel/access/principal';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { endpoints, includable, serializerOf } from '../../../kernel/endpoints/endpoint';
import { find, type ModuleVersion, type RegistryModule } from './module';
import { modulePolicy } from './policy';

/** A workspace that uses a version of a module of its organization. */
interface Usage extends Row {
  readonly organizationId: string;
  readonly moduleId: string;
  readonly versionText: string;
}

const usageSerializer = serializerOf<Usage>()({
  type: 'registry-module-usages',
  shape: { version: text, 'used-at': instant },
  relations: { 'registry-module': hasOne('registry-modules'), workspace: hasOne('workspaces'), run: hasOne('runs') },
  id: ({ id }) => id,
  attributes: ({ versionText, usedAt }) => ({ version: versionText, 'used-at': usedAt }),
  relationships: ({ moduleId, workspaceId, runId }) => ({
    'registry-module': toOne('registry-modules', moduleId),
    workspace: toOne('workspaces', workspaceId),
    run: toOne('runs', runId),
  }),
});

const include = {
  version: { select: { version: true, moduleId: true } },
  workspace: { select: { organizationId: true } },
};
type UsageRow = Row & {
  version: { version: string; moduleId: string };
  workspace: { organizationId: string };
};
const shown = ({ version, workspace, ...row }: UsageRow): Usage => ({
  ...row,
  organizationId: workspace.organizationId,
  moduleId: version.moduleId,
  versionText: version.version,
});

const readsAll = (access: Access, { organizationId }: Pick<RegistryModule, 'organizationId'>): boolean =>
  access.can(organizationId, 'read-workspaces');

/** Lists the workspaces that use a module. */
export const usageIndex = endpoints(modulePolicy, usageSerializer).list(
  '/registry-modules/:registry_module_id/usages',
  {
    summary: 'List the workspaces of the organization whose newest run installed a version of a module.',
    visible: readsAll,
    query: { 'filter[version]': 'Only of this version.' },
    include: ['workspace', 'run'],
    load: ({ db, principal, params }) => find(db, principal, params.registry_module_id),
    run: async ({ db, target, query, page }) => {
      const version = query.get('filter[version]');
      const where = {
        version: { moduleId: target.id, ...(version === undefined ? {} : { version }) },
        workspace: { organizationId: target.organizationId },
      };
      const rows = await db.prisma.registryModuleUsage.findMany({
        where,
        include,
        orderBy: [{ workspaceId: 'asc' }, { id: 'asc' }],
        skip: page!.offset,
        take: page!.size,
      });
      return { items: rows.map(shown), total: await db.prisma.registryModuleUsage.count({ where }) };
    },
  },
);

/** Usages where answers include them. */
export const usageIncluded = includable<Usage>({
  serializer: usageSerializer,
  load: async (db, ids) =>
    (await db.prisma.registryModuleUsage.findMany({ where: { id: { in: [...ids] } }, include })).map(shown),
  visible: readsAll,
});

/**
 * Records which versions a run installs: its workspace uses those, and none that only earlier runs installed. Plan-only
 * runs change nothing.
 */
export async function noteUsage(
  db: Database,
  principal: Principal,
  { id: versionId }: Pick<ModuleVersion, 'id'>,
): Promise<void> {
  if (principal.kind !== 'run') return;
  // The principal's name is the id of the run.
  await db.prisma.$executeRaw`
    WITH using_run AS (SELECT id, workspace_id FROM run WHERE id = ${principal.name} AND NOT plan_only AND NOT is_assessment),
         left_behind AS (
           DELETE FROM registry_module_usage u USING using_run r
            WHERE u.workspace_id = r.workspace_id AND u.run_id <> r.id AND u.module_version_id <> ${versionId})
    INSERT INTO registry_module_usage (id, module_version_id, workspace_id, run_id)
    SELECT ${newId('modusage')}, ${versionId}, r.workspace_id, r.id FROM using_run r
    ON CONFLICT (module_version_id, workspace_id) DO UPDATE SET run_id = excluded.run_id, used_at = now()`;
}
