import type { RunPhase as Row } from '../../../generated/prisma/client';
import { signedPathUrl } from '../../../kernel/blobs/signed-urls';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { RunTarget } from './policy';

/** The plan or the apply of a run, with what its rights depend on and where its log is read. */
export interface Phase extends Row, RunTarget {
  readonly executionMode: string;
  readonly logUrl: string;
  readonly stateVersionIds: readonly string[];
  readonly exportIds: readonly string[];
}

/** The two of them, as they stand in paths. */
export type PhasePath = 'plans' | 'applies';

const kindOf = { plans: 'plan', applies: 'apply' } as const;
const pathOf: ReadonlyMap<string, PhasePath> = new Map(Object.entries({ plan: 'plans', apply: 'applies' }));

/** Where the log of a plan or an apply is read, below `/api/v2`. */
const logPath = (path: PhasePath, id: string): string => `/${path}/${id}/logs`;

/** Where a result of a plan or an apply is read. */
export const contentPath = (path: PhasePath, id: string, form: string): string => `/${path}/${id}/content/${form}`;

const around = {
  run: {
    select: {
      workspace: {
        select: {
          id: true,
          projectId: true,
          organizationId: true,
          executionMode: true,
          project: { select: { executionMode: true } },
          organization: { select: { removedAt: true, defaultExecutionMode: true } },
        },
      },
    },
  },
  exports: { select: { id: true } },
} as const;

/** Plans or applies by id, in no order; unknown ones are left out. */
export async function findMany(
  db: Database,
  env: Environment,
  path: PhasePath,
  where: { id: { in: string[] } } | { runId: string },
): Promise<Phase[]> {
  const rows = await db.prisma.runPhase.findMany({
    where: { ...where, kind: kindOf[path], run: { isAssessment: false } },
    include: around,
  });
  const living = rows.filter(({ run }) => run.workspace.organization.removedAt === null);
  const runIds = path === 'applies' ? living.map(({ runId }) => runId) : [];
  const states = await db.prisma.stateVersion.findMany({
    where: { runId: { in: runIds }, status: { not: 'discarded' } },
    select: { id: true, runId: true, workspaceId: true },
    orderBy: { createdAt: 'asc' },
  });
  return living.map(({ run, exports, ...row }) => {
    const { project, organization, executionMode, ...workspace } = run.workspace;
    return {
      ...row,
      organizationId: workspace.organizationId,
      workspace,
      executionMode: executionMode ?? project.executionMode ?? organization.defaultExecutionMode,
      exportIds: exports.map(({ id }) => id),
      logUrl: signedPathUrl(env, logPath(pathOf.get(row.kind)!, row.id)),
      stateVersionIds: states
        .filter((state) => state.runId === row.runId && state.workspaceId === workspace.id)
        .map(({ id }) => id),
    };
  });
}
