import { rcompare } from 'semver';
import {
  Prisma,
  type RegistryModule as Row,
  type VcsRepository,
  type RegistryModuleVersion as VersionRow,
} from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import type { Database } from '../../../kernel/database/database';
import { inOrder } from '../../../kernel/database/in-order';
import { followedBy } from '../../connections/repositories/follow';
import { named, readersOf } from './names';

const listed = {
  version: true,
  status: true,
  error: true,
  deprecatedAt: true,
  deprecationReason: true,
  deprecationLink: true,
} as const;

/** A version in a list of versions. */
export type ListedVersion = Pick<VersionRow, keyof typeof listed>;

/** The repository of a module's versions, with the data known from its host. */
type ModuleRepository = Pick<VcsRepository, 'id' | 'displayIdentifier' | 'cloneUrl' | 'httpUrl' | 'serviceProvider'>;

/** A module with its versions, newest first. */
export interface RegistryModule extends Row {
  readonly organizationName: string;
  readonly versions: readonly ListedVersion[];
  /** The repository of its versions; undefined if they are uploaded. */
  readonly repository: ModuleRepository | undefined;
  /** Whether its connection is an installation of a GitHub app. */
  readonly isInstallation: boolean;
  /** Whether people can create workspaces from it without writing configuration. */
  readonly noCode: boolean;
  readonly noCodeId: string | undefined;
  /** Those of the caller's organizations that the module is shared with. */
  readonly readers: readonly string[];
}

/** A version of a private module. */
export interface ModuleVersion extends VersionRow {
  readonly organizationId: string;
  readonly readers: readonly string[];
  readonly module: RegistryModule;
  /** Only for callers who may upload. */
  readonly uploadUrl?: string;
}

/** The path parameters that name a module. */
export interface ModuleName {
  readonly registryName: string;
  readonly namespace: string;
  readonly name: string;
  readonly provider?: string;
}

const include = {
  organization: { select: { name: true } },
  versions: { select: listed },
  oauthToken: { select: { installation: { select: { id: true } } } },
  noCodeModule: { select: { id: true, enabled: true } },
} as const;

/** Modules by id, in the order of the ids; `readers` are copied from the ids. */
export async function findMany(
  db: Database,
  ids: readonly string[],
  readers: readonly string[] = [],
): Promise<RegistryModule[]> {
  const references = ids.map((id) => ({ id }));
  const where = { id: { in: [...ids] }, organization: { removedAt: null } };
  const rows = await db.prisma.registryModule.findMany({ where, include });
  const repositoryOf = await followedBy(db, rows);
  const found = rows.map(({ organization, versions, oauthToken, noCodeModule, ...row }) => ({
    ...row,
    repository: repositoryOf(row),
    isInstallation: Boolean(oauthToken?.installation),
    noCode: noCodeModule?.enabled === true,
    noCodeId: noCodeModule?.id,
    organizationName: organization.name,
    namespace: row.registryName === 'private' ? organization.name : row.namespace,
    versions: versions.sort((one, other) => rcompare(one.version, other.version)),
    readers,
  }));
  return inOrder(references, async () => found);
}

/** One module. */
export async function find(db: Database, principal: Principal, id: string): Promise<RegistryModule | undefined> {
  const [found] = await findMany(db, [id]);
  return found && { ...found, readers: await readersOf(db, principal, found.organizationId, 'modules') };
}

/** The modules of an organization with a given name: one for each provider, or only the module for one provider. */
export async function findNamed(
  db: Database,
  principal: Principal,
  organization: { readonly id: string; readonly name: string } | undefined,
  { registryName, namespace, name, provider }: ModuleName,
): Promise<RegistryModule[]> {
  if (!organization) return [];
  const own = namespace.toLowerCase() === organization.name.toLowerCase();
  if (registryName === 'private' && !own) return [];
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT m.id FROM registry_module m
     WHERE m.organization_id = ${organization.id} AND m.registry_name = ${registryName}
       AND ${named('m.namespace', registryName === 'private' ? '' : namespace)} AND ${named('m.name', name)}
       AND ${provider === undefined ? Prisma.sql`true` : named('m.provider', provider)}
     ORDER BY m.id`;
  const ids = rows.map(({ id }) => id);
  return ids.length === 0 ? [] : findMany(db, ids, await readersOf(db, principal, organization.id, 'modules'));
}

/**
 * The public modules of an organization with a given name, in any namespace. With a provider: only those for this
 * provider.
 */
export async function findPublic(
  db: Database,
  principal: Principal,
  organization: { readonly id: string } | undefined,
  name: string,
  provider: string | undefined,
): Promise<RegistryModule[]> {
  if (!organization) return [];
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT m.id FROM registry_module m
     WHERE m.organization_id = ${organization.id} AND m.registry_name = 'public' AND ${named('m.name', name)}
       AND ${provider === undefined ? Prisma.sql`true` : named('m.provider', provider)}
     ORDER BY m.id`;
  const ids = rows.map(({ id }) => id);
  return ids.length === 0 ? [] : findMany(db, ids, await readersOf(db, principal, organization.id, 'modules'));
}

/** One version of a module, in any spelling. */
export async function findVersion(
  db: Database,
  module: RegistryModule | undefined,
  version: string,
): Promise<ModuleVersion | undefined> {
  if (!module) return undefined;
  const [row] = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT v.id FROM registry_module_version v WHERE v.module_id = ${module.id} AND ${named('v.version', version)}`;
  const found = row && (await db.prisma.registryModuleVersion.findUnique({ where: { id: row.id } }));
  return found ? { ...found, organizationId: module.organizationId, readers: module.readers, module } : undefined;
}

/** Versions by id, as the caller sees them. */
export async function findVersions(
  db: Database,
  ids: readonly string[],
  principal?: Principal,
): Promise<ModuleVersion[]> {
  const rows = await db.prisma.registryModuleVersion.findMany({ where: { id: { in: [...ids] } } });
  const modules = new Map(
    (
      await findMany(
        db,
        rows.map(({ moduleId }) => moduleId),
      )
    ).map((one) => [one.id, one]),
  );
  const found: ModuleVersion[] = [];
  for (const row of rows) {
    const module = modules.get(row.moduleId);
    if (!module) continue;
    const { organizationId } = module;
    const readers = principal ? await readersOf(db, principal, organizationId, 'modules') : [];
    found.push({ ...row, organizationId, readers, module });
  }
  return found;
}
