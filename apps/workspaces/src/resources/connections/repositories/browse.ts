import { isRefusal, notFound, Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { ListedRepository } from '../git-hosts/git-host';
import { HostRefused } from '../git-hosts/host-api';
import { repositoriesPerPage } from '../git-hosts/reading';
import { oauthPolicy } from '../oauth/policy';
import { openConnection, refusedByHost } from './check';

/**
 * The maximum number of the host's pages for one of our pages, which have at most 100 items and may begin in the middle
 * of a page of the host.
 */
const mostPages = 3;

/** The connection used to browse a host. */
interface Browsing {
  readonly db: Database;
  readonly env: Pick<Environment, 'keyring' | 'vcsReach'>;
  readonly access: Access;
  readonly organizationId: string;
  readonly tokenId: string;
}

/** Whether the caller could connect a workspace with the connection, which may be limited to some projects. */
async function isOpen({ db, access, organizationId, tokenId }: Browsing): Promise<boolean> {
  if (oauthPolicy['can-update'](access, { organizationId })) return true;
  const client = await db.prisma.oauthClient.findFirst({
    where: { organizationId, tokens: { some: { id: tokenId } } },
    select: { organizationScoped: true, projects: { select: { projectId: true } } },
  });
  if (!client) return false;
  return (
    client.organizationScoped ||
    client.projects.some(({ projectId: id }) => access.administersIn({ id, organizationId }))
  );
}

/**
 * Calls the host of a connection. Throws `missing` if the host is not called from here or the connection is not open to
 * the caller, `invalid` if the host refuses.
 */
async function withHost<T>(
  from: Browsing,
  what: string,
  ask: (opened: NonNullable<Awaited<ReturnType<typeof openConnection>>>) => Promise<T>,
): Promise<T> {
  const { db, env, organizationId, tokenId } = from;
  const { vcsReach: reach, keyring } = env;
  const opened =
    reach && (await isOpen(from)) && (await openConnection({ db, keyring, reach }, { organizationId, tokenId }));
  if (!opened) throw notFound();
  return ask(opened).catch((error) => {
    if (error instanceof HostRefused) throw new Refusal('invalid', `${what} ${refusedByHost(error)}`);
    const isAway = isRefusal(error) && error.kind === 'upstream';
    throw isAway ? new Refusal('invalid', `${what} cannot be read: ${error.message}`) : error;
  });
}

/** Some of the repositories that a connection can use, in the order of its host. */
export function listRepositories(
  from: Browsing,
  owner: string,
  { offset, size }: { readonly offset: number; readonly size: number },
): Promise<{ readonly items: ListedRepository[]; readonly more: boolean; readonly total: number | undefined }> {
  return withHost(from, 'the list of repositories', async ({ host, api }) => {
    const first = Math.floor(offset / repositoriesPerPage);
    const skipped = offset - first * repositoriesPerPage;
    const found: ListedRepository[] = [];
    let last: Awaited<ReturnType<typeof host.listRepositories>> | undefined;
    for (let page = first + 1; page <= first + mostPages; page++) {
      last = await host.listRepositories(api, page, owner);
      found.push(...last.repositories);
      if (!last.more || found.length >= skipped + size) break;
    }
    const more = last?.more === true || found.length > skipped + size;
    return { items: found.slice(skipped, skipped + size), more, total: last?.total };
  });
}

/** Whether a connection can use a repository. */
export function hasRepository(from: Browsing, identifier: string): Promise<boolean> {
  return withHost(from, identifier, async ({ host, api }) => {
    try {
      return (await host.findRepository(api, identifier)).id !== '';
    } catch (error) {
      if (error instanceof HostRefused && error.status === 404) return false;
      throw error;
    }
  });
}

/** The top-level folders of a branch, a tag or a commit. Default: the default branch. */
export function listFolders(from: Browsing, identifier: string, ref: string | undefined): Promise<readonly string[]> {
  return withHost(from, identifier, async ({ host, api }) => {
    const refName = ref ?? (await host.findRepository(api, identifier)).defaultBranch;
    const commit =
      (await host.findHead(api, identifier, refName)) ??
      (await host.findTag(api, identifier, refName)) ??
      (await host.findCommit(api, identifier, refName));
    if (!commit) throw new Refusal('invalid', `${identifier} has no branch, tag or commit ${refName}`);
    return host.listFolders(api, identifier, commit.sha);
  });
}
