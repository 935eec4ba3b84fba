import type { Keyring } from '@keystead/keyring';
import type { VcsRepository } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { workerSilenceSeconds } from '../../../kernel/installation/infra-versions';
import { isOwnHost } from '../../connections/forwarding/host-call';
import { hostOf } from '../../connections/git-hosts/hosts';
import { pauseSeconds, quickTries } from '../../connections/git-hosts/pause';
import { accessTo } from '../../connections/repositories/repository';

/** A commit to fetch, with its credential, which only the fetching program may see. */
export interface Fetch {
  /** The purpose of the commit: a configuration version, or a version of a module. */
  readonly configurationVersionId: string;
  /** Empty if the commit is not for a workspace. */
  readonly workspaceId: string;
  readonly attempt: number;
  readonly cloneUrl: string;
  readonly commit: string;
  /** The branch or tag at which the commit was seen. Some hosts serve a commit only by this name. */
  readonly ref: string | undefined;
  readonly submodules: boolean;
  /** An HTTP header for the host of the repository. */
  readonly authorization: string;
  /** A private key for submodules that are fetched over SSH. */
  readonly sshKey: string | undefined;
}

/** A commit that a worker claimed, identified by its purpose and the number of the claim. */
export type TakenFetch = Pick<Fetch, 'configurationVersionId' | 'workspaceId' | 'attempt'>;

/** How long a worker may take to fetch a commit, in seconds. */
export const leaseSeconds = 900;
/** How long a host may be down before its commits are no longer fetched. */
export const patienceHours = 6;
const longestPauseSeconds = 60;

/** The number of seconds until the fetch of a commit is retried. */
export const pauseAfter = (failures: number): number => pauseSeconds(failures - quickTries, longestPauseSeconds);

/** SQL: whether the worker that claimed a commit is dead. Workers send heartbeats even if they are not fetching. */
export const workerIsGone = (row: string): string => `(${row}.fetch_worker_id IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM run_worker k WHERE k.id = ${row}.fetch_worker_id AND k.ended_at IS NULL
     AND k.seen_at > now() - interval '${workerSilenceSeconds} seconds'))`;

/** SQL: the pool whose agents call the host of the repository of a row `j`, according to its connection now. */
export const poolOf = `(SELECT CASE WHEN o.id IS NULL THEN v.agent_pool_id ELSE o.agent_pool_id END
   FROM vcs_repository v LEFT JOIN oauth_token t ON t.id = v.oauth_token_id LEFT JOIN oauth_client o ON o.id = t.oauth_client_id
  WHERE v.id = j.repository_id)`;

/** The credentials for fetching a commit, or the reason why it cannot be fetched. */
export async function credentialsFor(
  db: Database,
  keyring: Keyring,
  repository: VcsRepository | null,
  { cloneUrl, agentPoolId }: { readonly cloneUrl: string; readonly agentPoolId: string | null },
): Promise<Pick<Fetch, 'authorization' | 'sshKey'> | string> {
  const host = repository && hostOf(repository.serviceProvider);
  if (!repository || !host) return 'the workspace is no longer connected to the repository';
  const access = await accessTo({ db, keyring }, repository);
  if (agentPoolId !== null && !isOwnHost(access, cloneUrl)) {
    return `the clone URL of the repository is ${cloneUrl}, which is not at the host of its connection`;
  }
  const token = await db.prisma.oauthToken.findUnique({ where: { id: repository.oauthTokenId } });
  const sshKey =
    token?.sshKey &&
    keyring.open(token.sshKey, { table: 'oauth_token', row: token.id, column: 'ssh_key' }).toString('utf8');
  return { authorization: host.gitAuthorization(access.credential), sshKey: sshKey || undefined };
}
