import type {
  RegistryProviderPlatform as PlatformRow,
  Prisma,
  RegistryProvider as Row,
  RegistryProviderVersion as VersionRow,
} from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import type { Database } from '../../../kernel/database/database';
import { inOrder } from '../../../kernel/database/in-order';
import { named, readersOf } from '../modules/names';

/** A provider of an organization, or a provider of another registry that the organization recommends or mirrors. */
export interface RegistryProvider extends Row {
  readonly organizationName: string;
  readonly versionIds: readonly string[];
  /** Those of the caller's organizations that the provider is shared with. */
  readonly readers: readonly string[];
}

interface InProvider {
  readonly organizationId: string;
  readonly readers: readonly string[];
  readonly provider: RegistryProvider;
}

/** A version of a provider. */
export interface ProviderVersion extends VersionRow, InProvider {
  readonly platforms: readonly PlatformRow[];
  /** Only for callers who may upload. */
  readonly links?: Readonly<Record<string, string>>;
}

/** The archive of a provider for one operating system and architecture. */
export interface ProviderPlatform extends PlatformRow, InProvider {
  readonly version: ProviderVersion;
  readonly links?: Readonly<Record<string, string>>;
}

/** The path parameters that name a provider. */
export interface ProviderName {
  readonly registryName: string;
  readonly namespace: string;
  readonly name: string;
}

const include = {
  organization: { select: { name: true } },
  versions: { select: { id: true }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] },
} satisfies Prisma.RegistryProviderInclude;

/** Providers by id, in the order of the ids; `readers` are copied from the ids. */
export async function findMany(
  db: Database,
  ids: readonly string[],
  readers: readonly string[] = [],
): Promise<RegistryProvider[]> {
  const references = ids.map((id) => ({ id }));
  const where = { id: { in: [...ids] }, organization: { removedAt: null } };
  const rows = await db.prisma.registryProvider.findMany({ where, include });
  const found = rows.map(({ organization, versions, ...row }) => ({
    ...row,
    organizationName: organization.name,
    namespace: row.registryName === 'private' ? organization.name : row.namespace,
    versionIds: versions.map(({ id }) => id),
    readers,
  }));
  return inOrder(references, async () => found);
}

/** One provider. */
export async function find(db: Database, principal: Principal, id: string): Promise<RegistryProvider | undefined> {
  const [found] = await findMany(db, [id]);
  return found && { ...found, readers: await readersOf(db, principal, found.organizationId, 'providers') };
}

/** The provider of an organization with a name. */
export async function findNamed(
  db: Database,
  principal: Principal,
  organization: { readonly id: string; readonly name: string } | undefined,
  { registryName, namespace, name }: ProviderName,
): Promise<RegistryProvider | undefined> {
  if (!organization) return undefined;
  const own = namespace.toLowerCase() === organization.name.toLowerCase();
  if (registryName === 'private' && !own) return undefined;
  const [row] = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT p.id FROM registry_provider p
     WHERE p.organization_id = ${organization.id} AND p.registry_name = ${registryName}
       AND ${named('p.namespace', registryName === 'private' ? '' : namespace)} AND ${named('p.name', name)}`;
  return row && (await findMany(db, [row.id], await readersOf(db, principal, organization.id, 'providers')))[0];
}

/** Versions by id with their platforms, as the caller sees them. */
export async function findVersions(
  db: Database,
  ids: readonly string[],
  principal?: Principal,
): Promise<ProviderVersion[]> {
  const rows = await db.prisma.registryProviderVersion.findMany({
    where: { id: { in: [...ids] } },
    include: { platforms: { orderBy: [{ os: 'asc' }, { arch: 'asc' }] } },
  });
  const providers = await findMany(
    db,
    rows.map(({ providerId }) => providerId),
  );
  const found: ProviderVersion[] = [];
  for (const row of rows) {
    const provider = providers.find(({ id }) => id === row.providerId);
    if (!provider) continue;
    const { organizationId } = provider;
    found.push({
      ...row,
      organizationId,
      readers: principal ? await readersOf(db, principal, organizationId, 'providers') : [],
      provider,
    });
  }
  return inOrder(
    ids.map((id) => ({ id })),
    async () => found,
  );
}

/** One version of a provider, in any spelling. */
export async function findVersion(
  db: Database,
  principal: Principal,
  provider: RegistryProvider | undefined,
  version: string,
): Promise<ProviderVersion | undefined> {
  if (!provider) return undefined;
  const [row] = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT v.id FROM registry_provider_version v WHERE v.provider_id = ${provider.id} AND ${named('v.version', version)}`;
  return row && (await findVersions(db, [row.id], principal))[0];
}

/** A platform of a version. */
export function platformOf(
  version: ProviderVersion | undefined,
  os: string,
  arch: string,
): ProviderPlatform | undefined {
  const row = version?.platforms.find((one) => one.os === os && one.arch === arch);
  return version && row && inVersion(version, row);
}

const inVersion = (version: ProviderVersion, row: PlatformRow): ProviderPlatform => {
  const { organizationId, readers, provider } = version;
  return { ...row, organizationId, readers, provider, version };
};

/** The platforms of a version. */
export const platformsOf = (version: ProviderVersion): ProviderPlatform[] =>
  version.platforms.map((row) => inVersion(version, row));

/** Platforms by id, as the caller sees them. */
export async function findPlatforms(
  db: Database,
  ids: readonly string[],
  principal?: Principal,
): Promise<ProviderPlatform[]> {
  const rows = await db.prisma.registryProviderPlatform.findMany({ where: { id: { in: [...ids] } } });
  const versions = await findVersions(db, [...new Set(rows.map(({ versionId }) => versionId))], principal);
  return rows.flatMap((row) => {
    const version = versions.find(({ id }) => id === row.versionId);
    return version ? [inVersion(version, row)] : [];
  });
}

/**
 * Whether a platform can be installed: its archive and the signed list of its version exist, and the list names the
 * archive.
 */
export const isInstallable = ({ version, blobId }: ProviderPlatform): boolean =>
  blobId !== null && version.signedBy !== null;
