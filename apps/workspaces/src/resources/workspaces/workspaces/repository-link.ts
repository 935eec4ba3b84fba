import type { Database } from '../../../kernel/database/database';
import type { HostRepository } from '../../connections/git-hosts/git-host';
import { checkRepository } from '../../connections/repositories/check';
import { keepRepository } from '../../connections/repositories/repository';
import type { WorkspaceSettings } from './attributes';
import type { WorkspaceCaller } from './workspace';

/** The repository that a workspace will be connected to, as its host describes it. */
export interface RepositoryLink {
  readonly tokenId: string;
  readonly identifier: string;
  readonly found: HostRepository | undefined;
}

type Linked = Pick<WorkspaceSettings, 'oauthTokenId' | 'vcsIdentifier' | 'vcsBranch'>;

const isSame = (a: Linked, b: Linked): boolean =>
  a.oauthTokenId === b.oauthTokenId && a.vcsIdentifier === b.vcsIdentifier && a.vcsBranch === b.vcsBranch;

/**
 * Asks the host for the repository in new settings; undefined if it does not change, or no host is called. Throws
 * `invalid`. Call it outside any transaction.
 */
export async function checkLink(
  db: Database,
  { vcs }: WorkspaceCaller,
  organizationId: string,
  before: Linked,
  after: Linked,
): Promise<RepositoryLink | undefined> {
  const { oauthTokenId: tokenId, vcsIdentifier: identifier, vcsBranch: branch } = after;
  if (!vcs.reach || tokenId === null || identifier === null || isSame(before, after)) return undefined;
  const deps = { db, keyring: vcs.keyring, reach: vcs.reach };
  return { tokenId, identifier, found: await checkRepository(deps, { organizationId, tokenId, identifier, branch }) };
}

/**
 * Records a repository that the host described, if the settings still name it. Call it when the settings are written.
 */
export async function keepLink(
  tx: Database,
  { vcs }: WorkspaceCaller,
  link: RepositoryLink | undefined,
  after: Linked,
): Promise<void> {
  if (link && link.tokenId === after.oauthTokenId && link.identifier === after.vcsIdentifier) {
    await keepRepository(tx, vcs.keyring, link, link.found);
  }
}
