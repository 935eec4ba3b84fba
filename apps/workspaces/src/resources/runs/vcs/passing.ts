import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds } from '../../connections/git-hosts/claims';
import { pauseSeconds } from '../../connections/git-hosts/pause';
import { type OwnedWork, Turns } from '../../connections/git-hosts/turns';
import { reachRepository, type VcsMeans } from '../../connections/repositories/repository';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { contextOf, workspacePage } from './standing';

const mostAttempts = 20;

/** Remembers to tell that a proposed commit does not concern a workspace: its merge need not wait for a plan of it. */
export async function notePassing(
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

interface PassingDue extends OwnedWork {
  readonly workspace_id: string;
  readonly repository_id: string;
  readonly commit: string;
  readonly number: number;
  readonly attempts: number;
  readonly claim: number;
  readonly workspace: string;
  readonly organization: string;
  readonly isAggregated: boolean;
  /** Another workspace of the organization plans it. */
  readonly concernsAnother: boolean;
}

const claims = new Claims({
  table: 'vcs_passing',
  keys: ['workspace_id', 'repository_id', 'commit'],
  lease: "interval '1 minute'",
});

/** Tells hosts of the commits that concern no workspace of some name. For any number of callers. */
export function reportPassing(means: VcsMeans, turns = new Turns()): Promise<void> {
  const { db } = means;
  const take = (busy: string[]) =>
    db.prisma.$queryRaw<PassingDue[]>`
      UPDATE vcs_passing t SET attempts = t.attempts + 1, ${claims.taking}
        FROM workspace w JOIN organization o ON o.id = w.organization_id
       WHERE w.id = t.workspace_id AND (t.workspace_id, t.repository_id, t.commit) = (
         SELECT x.workspace_id, x.repository_id, x.commit FROM vcs_passing x JOIN workspace y ON y.id = x.workspace_id
          WHERE x.next_at <= now() AND NOT y.organization_id = ANY(${busy})
          ORDER BY x.next_at LIMIT 1 FOR UPDATE OF x SKIP LOCKED)
      RETURNING t.workspace_id, t.repository_id, t.commit, t.number, t.attempts, ${claims.claimed}, w.name AS workspace, o.name AS organization,
                o.id AS organization_id, o.aggregated_commit_status_enabled AS "isAggregated",
                EXISTS (SELECT 1 FROM ingress_attributes i JOIN configuration_version c ON c.id = i.configuration_version_id
                          JOIN workspace x ON x.id = c.workspace_id
                         WHERE i.repository_id = t.repository_id AND i.commit_sha = t.commit
                           AND x.organization_id = o.id) AS "concernsAnother"`;
  return turns.each(100, take, (due) => tellPassing(means, due));
}

async function tellPassing(means: VcsMeans, due: PassingDue): Promise<void> {
  const { db, publicUrl } = means;
  const { repository_id: id, commit } = due;
  try {
    // One status for all: that of the workspace that plans it.
    if (due.isAggregated && due.concernsAnother) {
      await claims.remove(db, due);
      return;
    }
    const row = await db.prisma.vcsRepository.findUnique({ where: { id } });
    const reached = row && (await reachRepository(means, row));
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
