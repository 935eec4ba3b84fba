import { invalid } from '@keystead/jsonapi';
import { isRefusal } from '@keystead/refusal';
import type { VcsRepository } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { HostCommit, PullRequest, QueuedMerge, Sender } from '../../connections/git-hosts/git-host';
import { HostRefused } from '../../connections/git-hosts/host-api';
import { refusedByHost } from '../../connections/repositories/check';
import { reachRepository, type VcsDeps } from '../../connections/repositories/repository';
import type { Workspace } from '../../workspaces/workspaces/workspace';

/** The properties of a configuration that runs need. */
export interface Configuration {
  readonly id: string;
  readonly speculative: boolean;
}

/** The newest configuration of a workspace that was uploaded for its ordinary runs. */
export async function newestUsable(db: Database, workspaceId: string): Promise<string | undefined> {
  const found = await db.prisma.configurationVersion.findFirst({
    where: { workspaceId, status: 'uploaded', speculative: false, provisional: false },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    select: { id: true },
  });
  return found?.id;
}

/**
 * The configuration of a run: the configuration in the request, otherwise the current configuration of the workspace,
 * otherwise the newest uploaded configuration. Throws `invalid`.
 */
export async function requireConfiguration(
  db: Database,
  { id: workspaceId, currentConfigurationId }: Workspace,
  named: string | null | undefined,
): Promise<Configuration> {
  const id = named ?? currentConfigurationId;
  const found = id ? await db.prisma.configurationVersion.findUnique({ where: { id } }) : null;
  if (named && found?.workspaceId !== workspaceId) {
    throw invalid('configurationVersion', 'was not found in the workspace');
  }
  if (found?.status === 'uploaded') return found;
  if (named && found) {
    throw invalid('configurationVersion', `is ${found.status.replace(/_/g, ' ')}; runs need an uploaded one`);
  }
  const newest = await newestUsable(db, workspaceId);
  if (!newest)
    throw invalid('configurationVersion', 'is required: no configuration has been uploaded to the workspace');
  return { id: newest, speculative: false };
}

/**
 * The configuration of a destroy run. Undefined in a workspace without a configuration and a state, because there is
 * nothing to destroy.
 */
export async function configurationToDestroy(
  db: Database,
  workspace: Workspace,
  named: string | null | undefined,
): Promise<Configuration | undefined> {
  const isEmpty = !named && workspace.currentConfigurationId === null && workspace.currentStateVersionId === null;
  if (isEmpty && !(await newestUsable(db, workspace.id))) return undefined;
  return requireConfiguration(db, workspace, named);
}

/** Creates a configuration that a worker will fetch from a repository; returns its id. */
async function createFetched(
  tx: Database,
  actor: Actor,
  workspace: Pick<Workspace, 'id' | 'organizationId'>,
  options: { source: string; speculative: boolean; autoQueueRuns: boolean },
): Promise<string> {
  const id = newId('cv');
  const data = { id, workspaceId: workspace.id, status: 'fetching', createdByType: actor.type, creatorApplies: true };
  await tx.prisma.configurationVersion.create({ data: { ...data, ...options } });
  await recordChange(tx, actor, {
    organizationId: workspace.organizationId,
    action: 'configuration-version.create',
    target: { type: 'configuration-versions', id, name: workspace.id },
    after: options,
  });
  return id;
}

/** Records when a configuration reached a status. */
export async function stamp(tx: Database, id: string, name: string): Promise<void> {
  await tx.prisma.$executeRaw`
    UPDATE configuration_version SET timestamps = timestamps || jsonb_build_object(${name}::text,
             to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'))
     WHERE id = ${id}`;
}

/** A commit of a repository, and the event that reported it. */
export interface CommitSeen {
  readonly commit: HostCommit;
  readonly branch: string | null;
  readonly tag?: string;
  readonly pull?: PullRequest;
  readonly queued?: QueuedMerge;
  readonly sender?: Sender;
}

const longestText = 10_000;

/** The display names of the sources of configurations. */
const sourceOf = (serviceProvider: string): string => serviceProvider.replace(/_.*$/, '');

/** Whether a commit is only proposed. A proposed commit is only planned, never applied. */
export const isProposed = ({ pull, queued }: CommitSeen): boolean => pull !== undefined || queued !== undefined;

/** Creates a configuration for a commit that will be fetched; returns its id. Call it while the workspace is locked. */
export async function keepCommit(
  tx: Database,
  actor: Actor,
  row: VcsRepository,
  workspace: Workspace,
  commitDetails: CommitSeen,
  options: { autoQueueRuns: boolean; files: readonly string[] | undefined },
): Promise<string> {
  const { commit, branch, tag, pull, sender } = commitDetails;
  const speculative = isProposed(commitDetails);
  const { autoQueueRuns, files } = options;
  const source = sourceOf(row.serviceProvider);
  const id = await createFetched(tx, actor, workspace, { source, speculative, autoQueueRuns });
  await tx.prisma.ingressAttributes.create({
    data: {
      id: newId('ia'),
      configurationVersionId: id,
      repositoryId: row.id,
      identifier: row.displayIdentifier ?? row.identifier,
      branch,
      tag,
      cloneUrl: pull?.from?.cloneUrl ?? row.cloneUrl ?? '',
      commitSha: commit.sha,
      commitMessage: commit.message.slice(0, longestText),
      commitUrl: commit.url,
      isPullRequest: pull !== undefined,
      onDefaultBranch: !speculative && branch === row.defaultBranch,
      pullRequestNumber: pull?.number,
      pullRequestUrl: pull?.url,
      pullRequestTitle: pull?.title.slice(0, longestText),
      pullRequestBody: pull?.body.slice(0, longestText),
      senderUsername: sender?.username ?? commit.author,
      senderAvatarUrl: sender?.avatarUrl,
      senderHtmlUrl: sender?.url,
      fromFork: pull?.fromFork === true,
      submodules: workspace.vcsIngressSubmodules,
      changedFiles: [...(files ?? [])].slice(0, 1000),
    },
  });
  await stamp(tx, id, 'fetching-at');
  return id;
}

/** The configuration of a commit in a workspace, whether or not it has been fetched. */
async function configurationOf(tx: Database, workspaceId: string, commitSha: string): Promise<string | undefined> {
  const found = await tx.prisma.configurationVersion.findFirst({
    where: {
      workspaceId,
      speculative: false,
      status: { in: ['uploaded', 'fetching'] },
      ingress: { commitSha, isPullRequest: false },
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    select: { id: true },
  });
  return found?.id;
}

/**
 * The newest commit of the branch that a workspace follows, as a configuration that exists or will be fetched. It is
 * for runs that users start, and works even if no webhook reported the commit. Undefined if the workspace follows tags
 * or no repository, or if its host is down. In these cases the run uses the newest fetched commit. Throws `invalid` if
 * the host answers that the branch or repository does not exist, or that the token may not read it. Call it outside any
 * transaction.
 */
export async function newestCommit(
  deps: VcsDeps,
  actor: Actor,
  workspace: Workspace,
): Promise<Configuration | undefined> {
  const { oauthTokenId, vcsIdentifier: identifier, vcsTagsRegex } = workspace;
  if (oauthTokenId === null || identifier === null || vcsTagsRegex !== null) return undefined;
  const row = await deps.db.prisma.vcsRepository.findUnique({
    where: { oauthTokenId_identifier: { oauthTokenId, identifier } },
  });
  const branch = workspace.vcsBranch ?? row?.defaultBranch;
  if (!row?.cloneUrl || !branch) return undefined;
  const commit = await findHead(deps, row, branch);
  if (commit === 'away') return undefined;
  const id = await deps.db.transaction(async (tx) => {
    if (!(await lockRow(tx, 'workspace', workspace.id))) return undefined;
    const existing = await configurationOf(tx, workspace.id, commit.sha);
    if (existing !== undefined) return existing;
    const head = { workspaceId: workspace.id, ref: `branch:${branch}`, commit: commit.sha };
    const where = { workspaceId_ref: { workspaceId: head.workspaceId, ref: head.ref } };
    await tx.prisma.vcsHead.upsert({ where, create: head, update: { commit: commit.sha } });
    const settings = { autoQueueRuns: false, files: undefined };
    return keepCommit(tx, actor, row, workspace, { commit, branch }, settings);
  });
  return id === undefined ? undefined : { id, speculative: false };
}

async function findHead(deps: VcsDeps, row: VcsRepository, branch: string): Promise<HostCommit | 'away'> {
  try {
    const reached = await reachRepository(deps, row);
    if (!reached) return 'away';
    const found = await reached.host.findHead(reached.api, row.identifier, branch);
    if (found) return found;
  } catch (error) {
    if (isRefusal(error) && error.kind === 'upstream') return 'away';
    if (error instanceof HostRefused) throw noNewestCommit(`its repository ${row.identifier} ${refusedByHost(error)}`);
    throw error;
  }
  throw noNewestCommit(`its repository ${row.identifier} has no branch ${branch}`);
}

const noNewestCommit = (why: string) =>
  invalid('workspace', `has no newest commit to run: ${why}. To run an older one, set a configuration version`);
