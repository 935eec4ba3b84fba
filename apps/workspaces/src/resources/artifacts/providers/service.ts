import { invalid, MissingPermission, type Page } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { containing } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { Organization } from '../../organizations/organizations/organization';
import { bindingsOf, bindTagsTo, tagText } from '../../workspaces/projects/tag-bindings';
import { requireNamespace } from '../modules/names';
import { providerPolicy } from './policy';
import {
  findMany,
  findPlatforms,
  findVersions,
  type ProviderPlatform,
  type ProviderVersion,
  type RegistryProvider,
} from './provider';
import {
  type NewPlatform,
  type NewProvider,
  type NewProviderVersion,
  type ProviderChanges,
  requireRegistryName,
} from './schema';
import { contradicted } from './sums';

const mostProviders = 10_000;
const mostVersions = 2000;
const mostPlatforms = 100;

const full = (attribute: string, what: string) => invalid(attribute, `is one too many: ${what} at most`);

/** A page of the providers of an organization, by name. */
export async function list(
  db: Database,
  { id, name }: Organization,
  search: { readonly any?: string; readonly registryName?: string; readonly organizationName?: string },
  { offset, size }: Page,
): Promise<{ items: RegistryProvider[]; total: number }> {
  const { any = '', registryName, organizationName = name } = search;
  const where = Prisma.sql`p.organization_id = ${id} AND ${organizationName.toLowerCase() === name.toLowerCase()}
    AND ${registryName === undefined ? Prisma.sql`true` : Prisma.sql`p.registry_name = ${registryName}`}
    AND (p.name ILIKE ${containing(any)} OR p.namespace ILIKE ${containing(any)})`;
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT p.id FROM registry_provider p WHERE ${where} ORDER BY lower(p.name), p.id LIMIT ${size} OFFSET ${offset}`;
  const [counted] = await db.prisma.$queryRaw<{ total: number }[]>`
    SELECT count(*)::int AS total FROM registry_provider p WHERE ${where}`;
  const ids = rows.map((row) => row.id);
  return { items: await findMany(db, ids), total: counted?.total ?? 0 };
}

/** Creates a provider without versions. Throws `invalid` for a name that is taken, in any spelling. */
export async function create(
  db: Database,
  env: Pick<Environment, 'publicUrl'>,
  actor: Actor,
  access: Access,
  organization: Organization,
  input: NewProvider,
): Promise<RegistryProvider> {
  const { name, registryName } = input;
  requireRegistryName(registryName, env);
  if (!providerPolicy['can-delete'](access, { organizationId: organization.id, registryName, readers: [] })) {
    throw new MissingPermission(registryName === 'private' ? 'can-create-provider' : 'can-manage-public-providers');
  }
  const namespace = requireNamespace(registryName, input.namespace ?? undefined, organization.name);
  const id = newId('prov');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organization.id);
    if ((await tx.prisma.registryProvider.count({ where: { organizationId: organization.id } })) >= mostProviders) {
      throw full('name', `an organization has ${mostProviders} providers`);
    }
    await tx.prisma.registryProvider.create({
      data: { id, organizationId: organization.id, registryName, namespace, name },
    });
    const provider = still((await findMany(tx, [id]))[0]);
    await recordChange(tx, actor, { ...changeOf(provider, 'create'), after: { name, registryName } });
    return provider;
  });
}

/** Replaces the tags of a provider, if they are sent. */
export function change(
  db: Database,
  actor: Actor,
  provider: RegistryProvider,
  { tagBindings }: ProviderChanges,
): Promise<RegistryProvider> {
  const { id } = provider;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_provider', id);
    if (tagBindings) {
      await bindTagsTo(tx, { providerId: id }, tagBindings, 'replace');
      await tx.prisma.registryProvider.update({ where: { id }, data: { updatedAt: new Date() } });
      const after = { tagBindings: (await bindingsOf(tx, { providerId: id }, '')).map(tagText) };
      await recordChange(tx, actor, { ...changeOf(provider, 'update'), after });
    }
    return { ...still((await findMany(tx, [id]))[0]), readers: provider.readers };
  });
}

/** Creates a version without files. Throws `invalid` if it exists. */
export async function createVersion(
  db: Database,
  actor: Actor,
  provider: RegistryProvider,
  { version, keyId, protocols }: NewProviderVersion,
): Promise<ProviderVersion> {
  const id = newId('provver');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_provider', provider.id);
    if ((await tx.prisma.registryProviderVersion.count({ where: { providerId: provider.id } })) >= mostVersions) {
      throw full('version', `a provider has ${mostVersions} versions`);
    }
    const data = { id, providerId: provider.id, version, keyId, protocols: protocols ?? ['5.0'] };
    await tx.prisma.registryProviderVersion.create({ data });
    await recordChange(tx, actor, { ...changeOf(provider, 'version-create'), after: { version, keyId } });
    return still((await findVersions(tx, [id]))[0]);
  });
}

/**
 * Creates a platform without its archive. Throws `invalid` if it exists, or if its checksum differs from the checksums
 * of the version.
 */
export async function createPlatform(
  db: Database,
  actor: Actor,
  version: ProviderVersion,
  { os, arch, shasum, filename }: NewPlatform,
): Promise<ProviderPlatform> {
  const id = newId('provpltfrm');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_provider', version.providerId);
    if ((await tx.prisma.registryProviderPlatform.count({ where: { versionId: version.id } })) >= mostPlatforms) {
      throw full('os', `a version has ${mostPlatforms} platforms`);
    }
    const row = await tx.prisma.registryProviderVersion.findUnique({ where: { id: version.id } });
    const data = { id, versionId: version.id, os, arch, shasum: shasum.toLowerCase(), filename };
    const wrong = contradicted(still(row ?? undefined).sums, data);
    if (wrong) throw invalid(wrong, 'does not match SHA256SUMS of the version');
    await tx.prisma.registryProviderPlatform.create({ data });
    await recordChange(tx, actor, partChange(version, 'platform-create', `${os}_${arch}`));
    return still((await findPlatforms(tx, [id]))[0]);
  });
}

/** Deletes a provider with everything in it. */
export async function remove(db: Database, actor: Actor, provider: RegistryProvider): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.registryProvider.deleteMany({ where: { id: provider.id } });
    await recordChange(tx, actor, changeOf(provider, 'delete'));
  });
}

/** Deletes a version with its platforms. */
export async function removeVersion(db: Database, actor: Actor, { id, provider, version }: ProviderVersion) {
  await db.transaction(async (tx) => {
    await tx.prisma.registryProviderVersion.deleteMany({ where: { id } });
    await recordChange(tx, actor, { ...changeOf(provider, 'version-delete'), before: { version } });
  });
}

/** Deletes a platform. */
export async function removePlatform(db: Database, actor: Actor, { id, version, os, arch }: ProviderPlatform) {
  await db.transaction(async (tx) => {
    await tx.prisma.registryProviderPlatform.deleteMany({ where: { id } });
    await recordChange(tx, actor, partChange(version, 'platform-delete', `${os}_${arch}`));
  });
}

function changeOf({ id, name, organizationId }: RegistryProvider, verb: string) {
  return { organizationId, action: `registry-provider.${verb}`, target: { type: 'registry-providers', id, name } };
}

/** An audit event about a part of a version. */
export function partChange({ provider, version }: ProviderVersion, verb: string, part: string) {
  return { ...changeOf(provider, verb), after: { version, part } };
}
