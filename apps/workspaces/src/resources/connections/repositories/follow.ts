import { invalid, text } from '@keystead/jsonapi';
import { z } from 'zod';
import type { VcsRepository } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { type CheckedRepository, checkRepository } from './check';
import { webhookUrl } from './repository';

/** A connection, as requests name it. */
interface SentConnection {
  readonly oauthTokenId?: string | null;
  readonly vcshostAppInstallationId?: string | null;
}

/** A followed repository, by the columns that identify it. */
interface Followed {
  readonly oauthTokenId: string | null;
  readonly vcsIdentifier: string | null;
}

/** Whether a string is the full hash of a commit, because a host may return any string. */
export const isHash = (sha: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(sha);

/** The name of a repository at its host. */
export const repositoryName = z
  .string()
  .max(512)
  .regex(/^[^/\s]+(?:\/[^/\s]+)+$/, 'must have the form :org/:repo');

/** A folder without leading and trailing slashes and without a leading dot. */
export const folderOf = (folder: string): string => folder.replace(/^(?:\.?\/)+/, '').replace(/(?<!\/)\/+$/, '');

/** A folder of a repository; empty for its root. */
export const repositoryFolder = z
  .string()
  .max(512)
  .transform(folderOf)
  .refine(
    (folder) => folder.split('/').every((part) => !['.', '..'].includes(part) && !/[\s?#\\\0]/.test(part)),
    'must be a folder of the repository',
  )
  .refine((folder) => folder === '' || !folder.split('/').includes(''), 'must be a folder of the repository');

/**
 * The connection that a request names, and its organization. An object that follows a repository belongs to the whole
 * organization, so its connection must be open to all of it. Throws `invalid` if both or neither are given, and for a
 * connection that `may` refuses.
 */
export async function requireConnection<Owner>(
  { prisma }: Database,
  { oauthTokenId, vcshostAppInstallationId }: SentConnection,
  may: (organizationId: string) => Promise<Owner | undefined>,
): Promise<{ readonly tokenId: string; readonly owner: Owner }> {
  if (vcshostAppInstallationId && oauthTokenId)
    throw invalid(['vcsRepo', 'oauthTokenId'], 'must not be given together with an app installation');
  const tokenId = vcshostAppInstallationId || oauthTokenId;
  if (!tokenId) throw invalid(['vcsRepo', 'oauthTokenId'], "can't be blank");
  const token = await prisma.oauthToken.findFirst({
    where: {
      id: tokenId,
      oauthClient: { organizationScoped: true },
      installation: vcshostAppInstallationId ? { isNot: null } : { is: null },
    },
    select: { oauthClient: { select: { organizationId: true } } },
  });
  const owner = token && (await may(token.oauthClient.organizationId));
  if (!owner) {
    const named = vcshostAppInstallationId ? 'vcshostAppInstallationId' : 'oauthTokenId';
    throw invalid(
      ['vcsRepo', named],
      'was not found among the connections that are available to the whole organization',
    );
  }
  return { tokenId, owner };
}

/** Asks the host for the repository to follow, and its branch. Throws `invalid`. Call it outside any transaction. */
export async function askForRepository(
  { db, env }: { readonly db: Database; readonly env: Environment },
  place: { readonly organizationId: string; readonly tokenId: string; readonly identifier: string },
  branch: string | null,
): Promise<CheckedRepository> {
  const { vcsReach: reach, keyring } = env;
  const found = reach && (await checkRepository({ db, keyring, reach }, { ...place, branch }));
  if (!found) throw invalid(['vcsRepo', 'identifier'], 'cannot be read: this service does not call Git hosts');
  return found;
}

/** Schedules a repository to be read soon. */
export async function lookAtRepository(tx: Database, { oauthTokenId, vcsIdentifier }: Followed): Promise<void> {
  if (oauthTokenId === null || vcsIdentifier === null) return;
  const where = { oauthTokenId, identifier: vcsIdentifier };
  await tx.prisma.vcsRepository.updateMany({ where, data: { nextAt: new Date(0), attempts: 0 } });
}

/** The repositories that rows follow, if their hosts have already described them. */
export async function followedBy(
  { prisma }: Database,
  rows: readonly Followed[],
): Promise<(row: Followed) => VcsRepository | undefined> {
  const places = rows.flatMap(({ oauthTokenId, vcsIdentifier: identifier }) =>
    oauthTokenId === null || identifier === null ? [] : [{ oauthTokenId, identifier }],
  );
  const found = places.length === 0 ? [] : await prisma.vcsRepository.findMany({ where: { OR: places } });
  return ({ oauthTokenId, vcsIdentifier }) =>
    found.find((one) => one.oauthTokenId === oauthTokenId && one.identifier === vcsIdentifier);
}

/** The part of a followed repository that answers show. */
export const followedShape = {
  branch: text.nullable(),
  'display-identifier': text,
  identifier: text,
  'oauth-token-id': text.nullable(),
  'vcshost-app-installation-id': text.nullable(),
  'repository-http-url': text.nullable(),
  'service-provider': text.nullable(),
  'webhook-url': text.nullable(),
};

/** The shown form of a followed repository; undefined if none is followed. */
export function showFollowed(
  { oauthTokenId, vcsIdentifier, vcsBranch }: Followed & { readonly vcsBranch: string | null },
  isInstallation: boolean,
  repository: Pick<VcsRepository, 'id' | 'displayIdentifier' | 'httpUrl' | 'serviceProvider'> | undefined,
  publicUrl: string,
) {
  if (oauthTokenId === null || vcsIdentifier === null) return undefined;
  return {
    branch: vcsBranch,
    'display-identifier': repository?.displayIdentifier ?? vcsIdentifier,
    identifier: vcsIdentifier,
    'oauth-token-id': isInstallation ? null : oauthTokenId,
    'vcshost-app-installation-id': isInstallation ? oauthTokenId : null,
    'repository-http-url': repository?.httpUrl ?? null,
    'service-provider': repository?.serviceProvider ?? null,
    'webhook-url': repository && !isInstallation ? webhookUrl(publicUrl, repository.id) : null,
  };
}
