import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Reached } from '../../connections/repositories/repository';
import { effectiveMode, type Workspace } from '../../workspaces/workspaces/workspace';
import { type CommitSeen, keepCommit } from '../runs/commits';
import { notePassing } from './passing';
import { concerns } from './triggers';

/** A commit that a workspace may have to look at. */
export interface Arrival extends CommitSeen {
  /** What moved there: `branch:main`, `tag:v1`, `pull:12`. */
  readonly ref: string;
  /** Where it was before, as far as the host said. */
  readonly before: string | null;
  /** Files that differ from a commit; undefined where not all are known. */
  changesSince(base: string | null): Promise<readonly string[] | undefined>;
  /** Nobody told of it: it was found by looking. */
  readonly looked?: boolean;
  /** Where it does not concern the workspace, the host is told that nothing is wrong with it. */
  readonly passing?: boolean;
}

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
  const isConcerned = arrival.tag !== undefined || concerns(workspace, files);
  const wanted = isConcerned && !(isFirst && pull);
  await db.transaction(async (tx) => {
    if (!(await lockRow(tx, 'workspace', workspace.id))) return;
    const now = await tx.prisma.vcsHead.findUnique({ where });
    // Somebody else was faster; what they saw is looked at again by whoever tells of it.
    if (now?.commit !== seen?.commit) return;
    const head = { workspaceId: workspace.id, ref, commit: commit.sha };
    await tx.prisma.vcsHead.upsert({ where, create: head, update: { commit: commit.sha } });
    if (!wanted) {
      if (pull && arrival.passing)
        await notePassing(tx, row.id, workspace, { commit: commit.sha, number: pull.number });
      return;
    }
    const speculative = pull !== undefined;
    const autoQueueRuns = speculative || (await startsByItself(tx, workspace, isFirst));
    await keepCommit(tx, system, row, workspace, arrival, { autoQueueRuns, files });
  });
}
