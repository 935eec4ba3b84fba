import { invalid } from '@keystead/jsonapi';
import { valid } from 'semver';
import { z } from 'zod';
import { Prisma } from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { belonging } from '../../organizations/organizations/service';

/** A name that the tools accept in addresses of modules and providers. */
export const artifactName = z
  .string()
  .regex(
    /^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$/,
    'must be letters, digits, - and _, at most 64, and begin and end with a letter or digit',
  );

/** The name of the provider that a module is for. */
export const moduleProvider = z.string().regex(/^[0-9a-z]{1,64}$/, 'must be lowercase letters and digits, at most 64');

/**
 * The registry of an artifact: the organization's own, or the public one. Of an artifact in the public one, only the
 * name is stored.
 */
export const registryNames = ['private', 'public'] as const;

/** The host in the addresses of the public registry. */
export const publicHost = 'registry.terraform.io';

/**
 * The host in the addresses of a registry's artifacts: our own, the public registry, or another registry that is named
 * by its host.
 */
export const hostOf = (registryName: string, { publicUrl }: Pick<Environment, 'publicUrl'>): string =>
  registryName === 'private' ? new URL(publicUrl).host : registryName === 'public' ? publicHost : registryName;

/** A version. Everything after the three numbers, such as build metadata, is stored as it was sent. */
export const versionText = z
  .string()
  .max(128)
  .refine((text) => valid(text) !== null && /^\d\S*$/.test(text), 'must be a semantic version such as 1.2.0');

/** The namespace of a new artifact. Throws `invalid`. */
export function requireNamespace(
  registryName: string,
  namespace: string | undefined,
  organizationName: string,
): string {
  if (registryName !== 'private') {
    if (!namespace) throw invalid('namespace', 'is required for the public registry');
    return namespace;
  }
  if (namespace && namespace.toLowerCase() !== organizationName.toLowerCase()) {
    throw invalid('namespace', 'must be the name of the organization');
  }
  return '';
}

/** The owner of a shared artifact, with the epoch of its permissions; see `SharedArtifact`. */
export interface SharedModule {
  readonly organizationId: string;
  readonly epoch: string;
  readonly readers: readonly string[];
}

/** SQL: whether organization `o` may read artifacts of a kind that organization `p` owns. */
const sharing = {
  modules: Prisma.sql`p.global_module_sharing OR EXISTS (
    SELECT 1 FROM module_consumer c WHERE c.producer_id = p.id AND c.consumer_id = o.id)`,
  providers: Prisma.sql`p.global_provider_sharing`,
} as const;

/** The organizations other than the owner through which the caller may read what the owner shares. */
export async function readersOf(
  db: Database,
  principal: Principal,
  ownerId: string,
  kind: keyof typeof sharing,
): Promise<string[]> {
  const found = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT o.id FROM organization o JOIN organization p ON p.id = ${ownerId}
     WHERE ${belonging(principal)} AND o.id <> p.id AND o.removed_at IS NULL
       AND (${sharing[kind]})`;
  return found.map(({ id }) => id);
}

/** SQL: whether a column equals this text, ignoring case. */
export const named = (column: string, text: string): Prisma.Sql =>
  Prisma.sql`lower(${Prisma.raw(column)}) = ${text.toLowerCase()}`;
