import { invalid } from '@keystead/jsonapi';
import { isRefusal } from '@keystead/refusal';
import { type CallDeps, callOf } from '../forwarding/host-call';
import type { GitHost, HostCommit, HostRepository } from '../git-hosts/git-host';
import { type HostApi, HostRefused } from '../git-hosts/host-api';
import { apiOf, hostOf } from '../git-hosts/hosts';
import { tokenText } from './repository';

/** The reason why a repository cannot be used although its host answered. The message follows the repository's name. */
export const refusedByHost = (error: HostRefused): string => {
  if (error.status === 401) return 'cannot be read: the host rejects the token of the connection';
  if (error.status === 403) return 'cannot be read: the token of the connection does not have access to it';
  if (error.status === 404) return 'was not found with the token of the connection';
  if (error.status < 400) return 'has moved: the host redirects to another address, so correct api-url';
  return `cannot be read: ${error.message}`;
};

/**
 * The host of a connection, ready for calls; undefined if this kind of host is not supported, or the connection no
 * longer exists.
 */
export async function openConnection(
  deps: CallDeps,
  { organizationId, tokenId }: { readonly organizationId: string; readonly tokenId: string },
): Promise<{ readonly host: GitHost; readonly api: HostApi } | undefined> {
  const { db, keyring } = deps;
  const client = await db.prisma.oauthClient.findFirst({
    where: { organizationId, tokens: { some: { id: tokenId } } },
  });
  const host = client && hostOf(client.serviceProvider);
  if (!host) return undefined;
  const token = await tokenText(db, keyring, tokenId);
  return token === undefined ? undefined : { host, api: apiOf(host, client.apiUrl, token, callOf(deps, client)) };
}

/** A repository, and the current commit of its branch; undefined if no branch was requested. */
export interface CheckedRepository extends HostRepository {
  readonly head: HostCommit | undefined;
}

/**
 * Asks the host for a repository and its branch. Throws `invalid` if the host does not have them, or cannot be called.
 * Undefined if this service cannot call this kind of host. Call it outside any transaction.
 */
export async function checkRepository(
  deps: CallDeps,
  {
    organizationId,
    tokenId,
    identifier,
    branch,
  }: { organizationId: string; tokenId: string; identifier: string; branch: string | null },
): Promise<CheckedRepository | undefined> {
  const opened = await openConnection(deps, { organizationId, tokenId });
  if (!opened) return undefined;
  const { host, api } = opened;
  try {
    const found = await host.findRepository(api, identifier);
    if (found.id === '' || found.cloneUrl === '') {
      throw invalid(['vcsRepo', 'identifier'], 'cannot be read: the host did not answer with a repository');
    }
    const head = branch === null ? undefined : await host.findHead(api, identifier, branch);
    if (branch !== null && head === undefined) throw invalid(['vcsRepo', 'branch'], 'was not found in the repository');
    return { ...found, head };
  } catch (error) {
    if (error instanceof HostRefused) throw invalid(['vcsRepo', 'identifier'], refusedByHost(error));
    if (isRefusal(error) && error.kind === 'upstream')
      throw invalid(['vcsRepo', 'identifier'], `cannot be read: ${error.message}`);
    throw error;
  }
}
