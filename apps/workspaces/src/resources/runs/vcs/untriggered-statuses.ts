import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds, type Taken } from '../../connections/git-hosts/claims';
import { pauseSeconds } from '../../connections/git-hosts/pause';
import { Turns } from '../../connections/git-hosts/turns';
import { reachRepository, type VcsDeps } from '../../connections/repositories/repository';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { contextOf, workspacePage } from './commit-status';

const mostAttempts = 20;

/**
 * Records that a proposed commit does not concern a workspace. This is reported, so that its merge does not wait for a
 * plan.
 */
export async function noteUntriggered(
  tx: Database,
  repositoryId: string,
  { id: workspaceId }: Workspace,
  { commit, number }: { commit: string; number: number },
): Promise<void> {
  await tx.prisma.vcsPassing.createMany({
    data: [{ workspaceId, repositoryId, commit, number }],
    skipDuplicates: true,
  });
}

interface Passing {
  readonly number: number;
  readonly workspace: string;
  readonly organization: string;
  readonly isAggregated: boolean;
  /** Whether another workspace of the organization plans the commit. */
  readonly concernsAnother: boolean;
}

const claims = new Claims({
  table: 'vcs_passing',
  keys: ['workspace_id', 'repository_id', 'commit'],
  lease: "interval '1 minute'",
  owner: 'workspace y ON y.id = x.workspace_id JOIN organization o ON o.id = y.organization_id',
});

const columns = Prisma.sql`
  x.number, y.name AS workspace, o.name AS organization, o.aggregated_commit_status_enabled AS "isAggregated",
  EXISTS (SELECT 1 FROM ingress_attributes i JOIN configuration_version c ON c.id = i.configuration_version_id
            JOIN workspace w ON w.id = c.workspace_id
           WHERE i.repository_id = x.repository_id AND i.commit_sha = x.commit AND w.organization_id = o.id) AS "concernsAnother"`;

/** Reports to hosts that commits do not concern some workspaces. Any number of callers may call it. */
export function reportUntriggered(deps: VcsDeps, turns = new Turns()): Promise<void> {
  const { db } = deps;
  return turns.each(
    100,
    (busy) => claims.take<Passing>(db, busy, columns),
    (due) => reportOne(deps, due),
  );
}

async function reportOne(
  deps: VcsDeps,
  due: Taken<'workspace_id' | 'repository_id' | 'commit', Passing>,
): Promise<void> {
  const { db, publicUrl } = deps;
  const { repository_id: id, commit } = due;
  try {
    // All workspaces share one status: the status of the workspace that plans the commit.
    if (due.isAggregated && due.concernsAnother) {
      await claims.remove(db, due);
      return;
    }
    const row = await db.prisma.vcsRepository.findUnique({ where: { id } });
    const reached = row && (await reachRepository(deps, row));
    await reached?.host.setStatus(reached.api, reached.row.identifier, commit, {
      state: 'success',
      context: contextOf(due),
      description: `No plan: none of these changes concern ${due.isAggregated ? 'a workspace' : 'this workspace'}`,
      url: workspacePage(publicUrl, due),
      number: due.number,
    });
    await claims.remove(db, due);
  } catch {
    if (due.attempts >= mostAttempts) await claims.remove(db, due);
    else await claims.end(db, due, inSeconds(pauseSeconds(due.attempts)));
  }
}
