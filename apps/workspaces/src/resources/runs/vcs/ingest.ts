import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Reached } from '../../connections/repositories/repository';
import { effectiveMode, type Workspace } from '../../workspaces/workspaces/workspace';
import { type CommitSeen, isProposed, keepCommit } from '../runs/configuration';
import { concerns } from './triggers';
import { noteUntriggered } from './untriggered-statuses';

/** A commit that may concern a workspace. */
export interface Arrival extends CommitSeen {
  /** The reference that moved: `branch:main`, `tag:v1`, `pull:12`, or `queue:` followed by a branch. */
  readonly ref: string;
  /** The previous commit of the reference, if the host named it. */
  readonly before: string | null;
  /** The files that differ between a commit and this one; undefined if the list is incomplete. */
  changesSince(base: string | null): Promise<readonly string[] | undefined>;
  /** Whether the commit was found by polling, not by a webhook. */
  readonly looked?: boolean;
  /** Whether the host gets a passing status if the commit does not concern the workspace. */
  readonly sendsPassing?: boolean;
}

/**
 * Whether a push starts runs: if the workspace queues all runs, or after its first run. The first check after
 * connecting starts a run only if the workspace queues all runs.
 */
async function startsByItself(tx: Database, workspace: Workspace, isFirst: boolean): Promise<boolean> {
  if (workspace.queueAllRuns || isFirst) return workspace.queueAllRuns;
  return (await tx.prisma.run.count({ where: { workspaceId: workspace.id, planOnly: false } })) > 0;
}

/**
 * Creates configurations for a commit, to be fetched, in the workspaces that have not seen it yet and that the change
 * concerns. Any number of callers may report the same commit.
 */
export async function ingest(
  db: Database,
  reached: Reached,
  workspaces: readonly Workspace[],
  arrival: Arrival,
): Promise<void> {
  const remote = workspaces.filter((one) => effectiveMode(one).mode !== 'local');
  const where = { ref: arrival.ref, workspaceId: { in: remote.map(({ id }) => id) } };
  const heads = await db.prisma.vcsHead.findMany({ where });
  const commits = new Map(heads.map(({ workspaceId, commit }) => [workspaceId, commit]));
  const behind = remote.filter(({ id }) => commits.get(id) !== arrival.commit.sha);
  for (const workspace of behind) await ingestFor(db, reached, workspace, arrival, commits.get(workspace.id));
}

/** Creates the configuration for one workspace. `lastCommit` is the last commit that the workspace has seen. */
async function ingestFor(
  db: Database,
  { row }: Reached,
  workspace: Workspace,
  arrival: Arrival,
  lastCommit: string | undefined,
): Promise<void> {
  const { ref, commit, pull, queued } = arrival;
  const where = { workspaceId_ref: { workspaceId: workspace.id, ref } };
  const files = await arrival.changesSince(lastCommit ?? arrival.before);
  const isFirst = lastCommit === undefined && arrival.looked === true;
  // No plan is made for pull requests older than the connection.
  const isConcerned = arrival.tag !== undefined || (await concerns(workspace, files));
  const isPlanned = isConcerned && !(isFirst && pull);
  await db.transaction(async (tx) => {
    if (!(await lockRow(tx, 'workspace', workspace.id))) return;
    const now = await tx.prisma.vcsHead.findUnique({ where });
    // Another node recorded a commit first. Later events are compared with that commit.
    if (now?.commit !== lastCommit) return;
    const head = { workspaceId: workspace.id, ref, commit: commit.sha };
    await tx.prisma.vcsHead.upsert({ where, create: head, update: { commit: commit.sha } });
    if (!isPlanned) {
      const number = (pull ?? queued)?.number;
      if (number !== undefined && arrival.sendsPassing)
        await noteUntriggered(tx, row.id, workspace, { commit: commit.sha, number });
      return;
    }
    const speculative = isProposed(arrival);
    const autoQueueRuns = speculative || (await startsByItself(tx, workspace, isFirst));
    await keepCommit(tx, system, row, workspace, arrival, { autoQueueRuns, files });
  });
}
