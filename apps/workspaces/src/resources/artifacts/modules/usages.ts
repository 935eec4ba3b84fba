import { badParameter, hasOne, instant, type Page, type Query, text, toOne } from '@keystead/jsonapi';
import { valid } from 'semver';
import type { Prisma, WorkspaceRequirement } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';
import { endpoints, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { accepts, type Requirement } from '../../runs/runs/requirements';
import { find } from './module';
import { hostOf } from './names';
import { modulePolicy } from './policy';

/** A workspace whose newest plan installed a module or a provider of its organization. */
export interface Usage extends WorkspaceRequirement {
  readonly organizationId: string;
  /** The module or the provider. */
  readonly artifactId: string;
}

/** What a usage of either kind shows. */
export const usageShape = { source: text, version: text, constraint: text, 'used-at': instant } as const;
export const usageRelations = { workspace: hasOne('workspaces'), run: hasOne('runs') } as const;
export const usageAttributes = ({ source, version, constraint, usedAt }: Usage) => ({
  source,
  version,
  constraint,
  'used-at': usedAt,
});
export const usedBy = ({ workspaceId, runId }: Usage) => ({
  workspace: toOne('workspaces', workspaceId),
  run: toOne('runs', runId),
});

interface Artifact {
  readonly id: string;
  readonly organizationId: string;
  readonly registryName: string;
  readonly namespace: string;
  readonly name: string;
  readonly provider?: string;
}

/** Only callers who read all workspaces may see usages, because usages show workspaces of the whole organization. */
const readsAll = (access: Access, { organizationId }: { readonly organizationId: string }): boolean =>
  access.can(organizationId, 'read-workspaces');

/** The properties of a list of usages, apart from its path and target. */
export const usageList = {
  visible: readsAll,
  query: {
    'filter[version]': 'Only of this version.',
    'filter[breaks-with]': 'Only those whose configuration does not accept this version.',
  },
  include: ['workspace', 'run'],
} as const;

/** A page of the usages of a module or a provider, by workspace. */
export async function listUsages(
  { db, env, query, page }: { db: Database; env: Environment; query: Query; page: Page | undefined },
  kind: Requirement['kind'],
  { id: artifactId, organizationId, registryName, namespace, name, provider }: Artifact,
): Promise<{ items: Usage[]; total: number }> {
  const [version, upgrade] = [query.get('filter[version]'), query.get('filter[breaks-with]')];
  if (upgrade !== undefined && valid(upgrade) === null) {
    throw badParameter('filter[breaks-with]', 'filter[breaks-with] must be a version such as 1.2.0');
  }
  const names = [hostOf(registryName, env), namespace, name, ...(provider === undefined ? [] : [provider])];
  const used = { kind, source: names.join('/').toLowerCase(), workspace: { organizationId } };
  const rows = db.prisma.workspaceRequirement;
  const constraints =
    upgrade === undefined
      ? []
      : (await rows.findMany({ where: used, distinct: ['constraint'], select: { constraint: true } })).map(
          ({ constraint }) => constraint,
        );
  const where: Prisma.WorkspaceRequirementWhereInput = {
    ...used,
    ...(version === undefined ? {} : { version }),
    ...(upgrade === undefined ? {} : { constraint: { in: constraints.filter((one) => !accepts(one, upgrade)) } }),
  };
  const found = await rows.findMany({
    where,
    orderBy: [{ workspaceId: 'asc' }, { id: 'asc' }],
    skip: page!.offset,
    take: page!.size,
  });
  const items = found.map((row) => ({ ...row, organizationId, artifactId }));
  return { items, total: await rows.count({ where }) };
}

const usageSerializer = serializerOf<Usage>()({
  type: 'registry-module-usages',
  shape: usageShape,
  relations: { 'registry-module': hasOne('registry-modules'), ...usageRelations },
  id: ({ id }) => id,
  attributes: usageAttributes,
  relationships: (usage) => ({
    'registry-module': toOne('registry-modules', usage.artifactId),
    ...usedBy(usage),
  }),
});

/** Lists the workspaces that use a module. */
export const usageIndex = endpoints(modulePolicy, usageSerializer).list(
  '/registry-modules/:registry_module_id/usages',
  {
    ...usageList,
    summary: 'List the workspaces whose newest plan installed a module, and the versions that they accept.',
    load: ({ db, principal, params }) => find(db, principal, params.registry_module_id),
    run: ({ target, ...call }) => listUsages(call, 'module', target),
  },
);
