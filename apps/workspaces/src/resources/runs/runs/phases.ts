import { Prisma, type RunPhase as Row } from '../../../generated/prisma/client';
import { signedPathUrl } from '../../../kernel/blobs/signed-urls';
import type { Database } from '../../../kernel/database/database';
import { rowMapper } from '../../../kernel/database/rows';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { RunTarget } from './policy';
import { modeOf } from './run';

/** The plan or the apply of a run, with the data for permission checks and the path of its log. */
export interface Phase extends Row, RunTarget {
  readonly runId: string;
  readonly executionMode: string;
  readonly logUrl: string;
  readonly stateVersionIds: readonly string[];
  readonly exportIds: readonly string[];
}

/** The names of the two phases in paths. */
export type PhasePath = 'plans' | 'applies';

const kindOf = { plans: 'plan', applies: 'apply' } as const;
const pathOf: ReadonlyMap<string, PhasePath> = new Map(Object.entries({ plan: 'plans', apply: 'applies' }));

/** Where the log of a plan or an apply is read, below `/api/v2`. */
const logPath = (path: PhasePath, id: string): string => `/${path}/${id}/logs`;

/** Where a result of a plan or an apply is read. */
export const contentPath = (path: PhasePath, id: string, form: string): string => `/${path}/${id}/content/${form}`;

/** A phase with the ids of its workspace and project. */
interface Found extends Omit<Phase, 'workspace' | 'logUrl'> {
  readonly workspaceId: string;
  readonly projectId: string;
}

const mapped = rowMapper<Found>(['log_size']);

const executionMode = Prisma.raw(modeOf({ w: 'w', p: 'p', o: 'o' }));

/** Plans or applies by id, in no particular order; unknown ids are left out. */
export async function findMany(
  db: Database,
  env: Environment,
  path: PhasePath,
  where: { id: { in: string[] } } | { runId: string },
): Promise<Phase[]> {
  const kind = kindOf[path];
  const condition = 'id' in where ? Prisma.sql`f.id = ANY(${where.id.in})` : Prisma.sql`f.run_id = ${where.runId}`;
  // One statement instead of one per table, because a log is read in many pieces and each read needs all of this.
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
    SELECT f.*, w.id AS workspace_id, w.project_id, w.organization_id, ${executionMode} AS execution_mode,
           ARRAY(SELECT x.id FROM plan_export x WHERE x.plan_id = f.id) AS export_ids,
           ARRAY(SELECT s.id FROM state_version s WHERE f.kind = 'apply' AND s.run_id = r.id AND s.workspace_id = w.id
                    AND s.status <> 'discarded' ORDER BY s.created_at) AS state_version_ids
      FROM run_phase f JOIN run r ON r.id = f.run_id AND NOT r.is_assessment JOIN workspace w ON w.id = r.workspace_id
      JOIN project p ON p.id = w.project_id JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
     WHERE ${condition} AND f.kind = ${kind}`;
  return rows.map((row) => {
    const { workspaceId: id, projectId, ...phase } = mapped(row);
    const { organizationId } = phase;
    const logUrl = signedPathUrl(env, logPath(pathOf.get(phase.kind)!, phase.id));
    return { ...phase, workspace: { id, projectId, organizationId }, logUrl };
  });
}
