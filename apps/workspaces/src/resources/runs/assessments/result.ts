import type { AssessmentResult as Row } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import type { RunTarget } from '../runs/policy';

/** The findings of an assessment, with the data that rights depend on and the addresses of its files. */
export interface AssessmentResult extends Row, RunTarget {
  readonly plan: {
    readonly id: string;
    readonly logSize: bigint;
    readonly jsonBlobId: string | null;
    readonly redactedBlobId: string | null;
  };
}

const around = {
  workspace: {
    select: { id: true, projectId: true, organizationId: true, organization: { select: { removedAt: true } } },
  },
  run: {
    select: {
      phases: { where: { kind: 'plan' }, select: { id: true, logSize: true, jsonBlobId: true, redactedBlobId: true } },
    },
  },
} as const;

/** The result with an `asmtres-…` id. */
export async function find(db: Database, id: string): Promise<AssessmentResult | undefined> {
  const row = await db.prisma.assessmentResult.findUnique({ where: { id }, include: around });
  const [plan] = row?.run.phases ?? [];
  if (!row || !plan || row.workspace.organization.removedAt !== null) return undefined;
  const { run: _, workspace, ...result } = row;
  const { organization: __, ...target } = workspace;
  return { ...result, plan, organizationId: workspace.organizationId, workspace: target };
}
