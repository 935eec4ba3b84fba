import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { HostCommit, PullRequest, Sender } from '../../connections/git-hosts/git-host';
import type { Reached } from '../../connections/repositories/repository';
import { effectiveMode, type Workspace } from '../../workspaces/workspaces/workspace';
import { createFetched, stamp } from '../configuration-versions/service';
import { concerns } from './triggers';

/** A commit that a workspace may have to look at. */
export interface Arrival {
  /** What moved there: `branch:main`, `tag:v1`, `pull:12`. */
  readonly ref: string;
  readonly commit: HostCommit;
  readonly branch: string | null;
  readonly tag?: string;
  readonly pull?: PullRequest;
  readonly sender?: Sender;
  /** Where it was before, as far as the host said. */
  readonly before: string | null;
  /** Files that differ from a commit; undefined where not all are known. */
  changesSince(base: string | null): Promise<readonly string[] | undefined>;
  /** Nobody told of it: it was found by looking. */
  readonly looked?: boolean;
}

const longestText = 10_000;

/** Runs of a workspace begin by themselves when it says so, or once somebody has started one; then not by connecting it. */
async function startsByItself(tx: Database, workspace: Workspace, isFirst: boolean): Promise<boolean> {
  if (workspace.queueAllRuns || isFirst) return workspace.queueAllRuns;
  return (await tx.prisma.run.count({ where: { workspaceId: workspace.id, planOnly: false } })) > 0;
}

/**
 * Makes a configuration of a commit that a workspace has not looked at yet, to be fetched; nothing where it has, or where
 * the change does not concern it. Any number of callers may tell the same.
 */
export async function ingest(db: Database, { row }: Reached, workspace: Workspace, arrival: Arrival): Promise<void> {
  if (effectiveMode(workspace).mode === 'local') return;
  const { ref, commit, pull } = arrival;
  const where = { workspaceId_ref: { workspaceId: workspace.id, ref } };
  const seen = await db.prisma.vcsHead.findUnique({ where });
  if (seen?.commit === commit.sha) return;
  const files = await arrival.changesSince(seen?.commit ?? arrival.before);
  const isFirst = seen === null && arrival.looked === true;
  // Of pull requests that were there before the workspace was connected, nobody waits for a plan.
  const wanted = arrival.tag !== undefined || (!(isFirst && pull) && concerns(workspace, files));
  await db.transaction(async (tx) => {
    if (!(await lockRow(tx, 'workspace', workspace.id))) return;
    const now = await tx.prisma.vcsHead.findUnique({ where });
    // Somebody else was faster; what they saw is looked at again by whoever tells of it.
    if (now?.commit !== seen?.commit) return;
    const head = { workspaceId: workspace.id, ref, commit: commit.sha };
    await tx.prisma.vcsHead.upsert({ where, create: head, update: { commit: commit.sha } });
    if (!wanted) return;
    const speculative = pull !== undefined;
    const autoQueueRuns = speculative || (await startsByItself(tx, workspace, isFirst));
    const id = await createFetched(tx, system, workspace, {
      source: sourceOf(row.serviceProvider),
      speculative,
      autoQueueRuns,
    });
    await tx.prisma.ingressAttributes.create({
      data: {
        id: newId('ia'),
        configurationVersionId: id,
        repositoryId: row.id,
        identifier: row.displayIdentifier ?? row.identifier,
        branch: arrival.branch,
        tag: arrival.tag,
        cloneUrl: row.cloneUrl ?? '',
        commitSha: commit.sha,
        commitMessage: commit.message.slice(0, longestText),
        commitUrl: commit.url,
        isPullRequest: speculative,
        onDefaultBranch: pull === undefined && arrival.branch === row.defaultBranch,
        pullRequestNumber: pull?.number,
        pullRequestUrl: pull?.url,
        pullRequestTitle: pull?.title.slice(0, longestText),
        pullRequestBody: pull?.body.slice(0, longestText),
        senderUsername: arrival.sender?.username ?? commit.author,
        senderAvatarUrl: arrival.sender?.avatarUrl,
        senderHtmlUrl: arrival.sender?.url,
        fromFork: pull?.fromFork === true,
        submodules: workspace.vcsIngressSubmodules,
        changedFiles: [...(files ?? [])].slice(0, 1000),
      },
    });
    await stamp(tx, id, 'fetching-at');
  });
}

/** What configurations are said to come from. */
const sourceOf = (serviceProvider: string): string => serviceProvider.replace(/_.*$/, '');
