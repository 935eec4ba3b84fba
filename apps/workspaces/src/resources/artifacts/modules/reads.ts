import type { Principal } from '../../../kernel/access/principal';
import type { Database, KeyedRead, PackedRow } from '../../../kernel/database/database';
import { readersOf, type SharedModule } from './names';

// The reads that every `init` of a tool causes. Each read is one statement, which reads only the data for the
// permission check and the answer.

const owner = `o.id, e.epoch::text,
    o.global_module_sharing OR EXISTS (SELECT 1 FROM module_consumer c WHERE c.producer_id = o.id)`;
const named = `
  FROM unnest($1::text[]) AS k(key)
  JOIN organization o ON lower(o.name) = split_part(k.key, '/', 1) AND o.removed_at IS NULL
  JOIN access_epoch e ON e.organization_id = o.id
  JOIN registry_module m ON m.organization_id = o.id AND m.registry_name = 'private' AND lower(m.namespace) = ''
   AND lower(m.name) = split_part(k.key, '/', 2) AND lower(m.provider) = split_part(k.key, '/', 3)`;

const readVersions: KeyedRead = {
  name: 'module_versions_for_tools',
  text: `SELECT json_agg(json_build_array(k.key, ${owner}, o.name || '/' || m.name || '/' || m.provider, (
           SELECT coalesce(json_agg(json_build_array(v.version, v.deprecated_at IS NOT NULL, v.deprecation_reason,
                    v.deprecation_link) ORDER BY v.created_at DESC, v.id), '[]'::json)
             FROM registry_module_version v WHERE v.module_id = m.id AND v.status = 'ok')))::text AS packed ${named}`,
  packed: true,
};

const readVersion: KeyedRead = {
  name: 'module_version_for_tools',
  text: `SELECT json_agg(json_build_array(k.key, ${owner}, v.id, v.source_directory))::text AS packed ${named}
    JOIN registry_module_version v ON v.module_id = m.id AND v.status = 'ok'
     AND lower(v.version) = split_part(k.key, '/', 4)`,
  quick: true,
  packed: true,
};

const readArchive: KeyedRead = {
  name: 'module_archive',
  text: `SELECT json_agg(json_build_array(v.id, ${owner}, v.blob_id, v.read_at IS NOT NULL))::text AS packed
    FROM registry_module_version v JOIN registry_module m ON m.id = v.module_id
    JOIN organization o ON o.id = m.organization_id AND o.removed_at IS NULL
    JOIN access_epoch e ON e.organization_id = o.id
   WHERE v.id = ANY($1)`,
  quick: true,
  packed: true,
};

type OwnerColumns = [organizationId: string, epoch: string, isShared: boolean];
type ListedColumns = [version: string, isDeprecated: boolean, reason: string | null, link: string | null];
type OwnedModule = SharedModule & { readonly isShared: boolean };

/** The owner of a module, with all data that access to the module depends on, except the caller. */
const ownerOf = ([organizationId, epoch, isShared]: OwnerColumns): OwnedModule => ({
  organizationId,
  epoch,
  isShared,
  readers: [],
});

/** The result of a read, with the organizations through which the caller may read it. */
export function withReaders<T extends OwnedModule>(
  { db, principal }: { readonly db: Database; readonly principal: Principal },
  found: T,
): Promise<T> | T {
  if (!found.isShared) return found;
  return readersOf(db, principal, found.organizationId, 'modules').then((readers) => ({ ...found, readers }));
}

/** A key of these reads; undefined if no module can have these names. */
const keyOf = (...names: readonly string[]): string | undefined =>
  names.some((name) => name.includes('/')) ? undefined : names.join('/').toLowerCase();

/** A private module by its address, with its published versions, newest first. */
export async function findPublished(db: Database, namespace: string, name: string, provider: string) {
  const key = keyOf(namespace, name, provider);
  const row = key && (await db.readOne<PackedRow<[...OwnerColumns, string, ListedColumns[]]>>(readVersions, key));
  if (!row) return undefined;
  const [, organizationId, epoch, isShared, address, versions] = row.columns;
  return { ...ownerOf([organizationId, epoch, isShared]), address, versions };
}

/** A published version of a private module by its address. */
export async function findAddressed(db: Database, namespace: string, name: string, provider: string, version: string) {
  const key = keyOf(namespace, name, provider, version);
  const row = key && (await db.readOne<PackedRow<[...OwnerColumns, string, string]>>(readVersion, key));
  if (!row) return undefined;
  const [, organizationId, epoch, isShared, id, sourceDirectory] = row.columns;
  return { ...ownerOf([organizationId, epoch, isShared]), id, sourceDirectory };
}

/** The archive of a version by the id of the version. */
export async function findArchive(db: Database, versionId: string) {
  const row = await db.readOne<PackedRow<[...OwnerColumns, string | null, boolean]>>(readArchive, versionId);
  if (!row) return undefined;
  const [id, organizationId, epoch, isShared, blobId, isRead] = row.columns;
  return { ...ownerOf([organizationId, epoch, isShared]), id, blobId, isRead };
}

/** The archive of a version, and its owner. */
export type FoundArchive = NonNullable<Awaited<ReturnType<typeof findArchive>>>;
