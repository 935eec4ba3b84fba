import { invalid, MissingPermission, type Page } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { containing } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Organization } from '../../organizations/organizations/organization';
import { awaitCommits } from '../../runs/vcs/module-fetches';
import { findMany, findVersions, type ModuleVersion, type RegistryModule } from './module';
import { requireNamespace } from './names';
import { offerWithoutCode } from './no-code';
import { modulePolicy } from './policy';
import type { Deprecation, NewModule, NewModuleVersion } from './schema';
import { testColumns, untested } from './test-config';

const mostModules = 10_000;
/** The maximum number of versions of a module. */
export const mostVersions = 2000;

/** The filters of a list of modules. */
export interface ModuleSearch {
  readonly any?: string;
  readonly provider?: string;
  readonly registryName?: string;
  readonly organizationName?: string;
}

/** A page of the modules of an organization, by name. */
export async function list(
  db: Database,
  { id, name: organizationName }: Organization,
  search: ModuleSearch,
  { offset, size }: Page,
): Promise<{ items: RegistryModule[]; total: number }> {
  const own = search.organizationName?.toLowerCase() ?? organizationName.toLowerCase();
  if (own !== organizationName.toLowerCase()) return { items: [], total: 0 };
  const { any, provider, registryName } = search;
  const like = containing(any ?? '');
  const where = Prisma.sql`m.organization_id = ${id}
    AND ${provider === undefined ? Prisma.sql`true` : Prisma.sql`m.provider = ${provider}`}
    AND ${registryName === undefined ? Prisma.sql`true` : Prisma.sql`m.registry_name = ${registryName}`}
    AND (m.name ILIKE ${like} OR m.provider ILIKE ${like} OR m.namespace ILIKE ${like})`;
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT m.id FROM registry_module m WHERE ${where}
     ORDER BY lower(m.name), m.provider, m.id LIMIT ${size} OFFSET ${offset}`;
  const [{ total } = { total: 0 }] = await db.prisma.$queryRaw<{ total: number }[]>`
    SELECT count(*)::int AS total FROM registry_module m WHERE ${where}`;
  return {
    items: await findMany(
      db,
      rows.map((row) => row.id),
    ),
    total,
  };
}

/** Creates a module without versions. Throws `invalid` for a name that is taken, in any spelling. */
export async function create(
  db: Database,
  actor: Actor,
  access: Access,
  organization: Organization,
  input: NewModule,
): Promise<RegistryModule> {
  const registryName = input.registryName ?? 'private';
  const target = { organizationId: organization.id, registryName, readers: [] };
  if (!modulePolicy['can-delete'](access, target)) {
    throw new MissingPermission(registryName === 'public' ? 'can-manage-public-modules' : 'can-create-module');
  }
  const namespace = requireNamespace(registryName, input.namespace ?? undefined, organization.name);
  const { name, provider, noCode, testConfig } = input;
  const tests = await testColumns(db, organization.id, untested, testConfig);
  return addModule(
    db,
    actor,
    organization,
    { name, provider, registryName, namespace, ...tests },
    async (tx, module) => {
      if (noCode) await offerWithoutCode(tx, module, true);
    },
  );
}

/** Writes a new module and its first rows. */
export async function addModule(
  db: Database,
  actor: Actor,
  { id: organizationId }: Organization,
  row: Omit<Prisma.RegistryModuleUncheckedCreateInput, 'id' | 'organizationId'>,
  more: (tx: Database, module: { id: string; organizationId: string }) => Promise<void> = async () => undefined,
): Promise<RegistryModule> {
  const id = newId('mod');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organizationId);
    if ((await tx.prisma.registryModule.count({ where: { organizationId } })) >= mostModules) {
      throw invalid('name', `has reached its limit: an organization can have at most ${mostModules} modules`);
    }
    await tx.prisma.registryModule.create({ data: { ...row, id, organizationId } });
    await more(tx, { id, organizationId });
    const created = still((await findMany(tx, [id]))[0]);
    const { name, provider, registryName, vcsIdentifier } = created;
    const after = { name, provider, registryName, ...(vcsIdentifier === null ? {} : { vcsIdentifier }) };
    await recordChange(tx, actor, { ...changeOf(created, 'create'), after });
    return created;
  });
}

/** Adds a version without files. Throws `invalid` if it exists: a published version never changes. */
export async function createVersion(
  db: Database,
  actor: Actor,
  module: RegistryModule,
  { version, commitSha }: NewModuleVersion,
): Promise<ModuleVersion> {
  const id = newId('modver');
  const { repository, vcsBranch, sourceDirectory } = module;
  if (module.oauthTokenId !== null) {
    if (vcsBranch === null) throw invalid('version', 'comes from the tags of the repository');
    if (!commitSha) throw invalid('commitSha', "can't be blank: the version is a commit in the repository");
    if (!repository?.cloneUrl) throw invalid('version', 'must wait until the repository has been read');
  }
  const follows = module.oauthTokenId === null ? {} : { source: 'tfe-vcs', status: 'cloning', sourceDirectory };
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_module', module.id);
    if ((await tx.prisma.registryModuleVersion.count({ where: { moduleId: module.id } })) >= mostVersions) {
      throw invalid('version', `has reached its limit: a module can have at most ${mostVersions} versions`);
    }
    const createdBy = { type: actor.type, id: actor.id, name: actor.name };
    const data = {
      id,
      moduleId: module.id,
      version,
      commitSha: commitSha?.toLowerCase() ?? null,
      createdBy,
      ...follows,
    };
    await tx.prisma.registryModuleVersion.create({ data });
    if (repository?.cloneUrl && commitSha) {
      const { id: repositoryId, cloneUrl } = repository;
      const commit = { moduleVersionId: id, commitSha: commitSha.toLowerCase(), ref: `refs/heads/${vcsBranch}` };
      await awaitCommits(tx, { id: repositoryId, cloneUrl }, [commit]);
    }
    await recordChange(tx, actor, versionChange(module, version, 'create'));
    const [created] = await findVersions(tx, [id]);
    return still(created);
  });
}

/** Marks a version as deprecated, with the reason, or removes the mark. */
export async function deprecate(
  db: Database,
  actor: Actor,
  { id, module, version }: ModuleVersion,
  { deprecation }: Deprecation,
): Promise<ModuleVersion> {
  const isDeprecated = deprecation.deprecatedStatus === 'Deprecated';
  const data = {
    deprecatedAt: isDeprecated ? new Date() : null,
    deprecationReason: (isDeprecated && deprecation.reason) || null,
    deprecationLink: (isDeprecated && deprecation.link) || null,
  };
  return db.transaction(async (tx) => {
    await tx.prisma.registryModuleVersion.updateMany({ where: { id }, data });
    await recordChange(tx, actor, versionChange(module, version, isDeprecated ? 'deprecate' : 'undeprecate'));
    return still((await findVersions(tx, [id]))[0]);
  });
}

/** Deletes modules, or one version of a module. */
export async function remove(
  db: Database,
  actor: Actor,
  modules: readonly RegistryModule[],
  version: ModuleVersion | undefined,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (version) {
      const { count } = await tx.prisma.registryModuleVersion.deleteMany({ where: { id: version.id } });
      // The tag of a deleted version does not create it again.
      if (count > 0 && version.tag !== null) {
        const data = { withdrawn: { push: version.version.toLowerCase() } };
        await tx.prisma.registryModule.update({ where: { id: version.moduleId }, data });
      }
      if (count > 0) await recordChange(tx, actor, versionChange(version.module, version.version, 'delete'));
      return;
    }
    for (const module of modules) {
      const { count } = await tx.prisma.registryModule.deleteMany({ where: { id: module.id } });
      if (count > 0) await recordChange(tx, actor, changeOf(module, 'delete'));
    }
  });
}

/** An audit event about a module. */
export function changeOf({ id, name, provider, organizationId }: RegistryModule, verb: string) {
  const target = { type: 'registry-modules', id, name: `${name}/${provider}` };
  return { organizationId, action: `registry-module.${verb}`, target };
}

/** An audit event about a version of a module. */
export function versionChange(module: RegistryModule, version: string, verb: string) {
  return { ...changeOf(module, `version-${verb}`), [verb === 'delete' ? 'before' : 'after']: { version } };
}
