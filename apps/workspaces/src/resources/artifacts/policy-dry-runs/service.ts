import { invalid, type Page } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { Prisma, type PolicyDryRun as Row } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { deleteOlder } from '../../../kernel/database/delete-older';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { DryRunOutcome } from '../../runs/policy-evaluations/dry-run';
import { beginDryRun } from '../../runs/runs/stages/policies';

/** The maximum number of running dry runs of an organization. */
const mostRunning = 3;
/** The maximum number of finished dry runs of an organization; older ones are deleted. */
const mostKept = 20;
/** The maximum number of runs that a dry run evaluates, and the default number. */
export const mostRuns = 1000;

/** A dry run: policies are evaluated for the plans of earlier runs. Includes its progress. */
export interface DryRun extends Row {
  readonly runs: number;
  readonly passed: number;
  readonly failed: number;
  readonly errored: number;
  readonly skipped: number;
  readonly stopped: number;
}

/** The result for one earlier run. */
export interface DryRunResult {
  readonly id: string;
  readonly organizationId: string;
  readonly runId: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly status: string;
  readonly wouldStop: boolean;
  readonly outcomes: readonly DryRunOutcome[];
}

/** The policies of a dry run, and the runs for which they are evaluated. */
export interface DryRunInput {
  readonly runs: number;
  readonly policies: readonly string[];
  readonly policySets: readonly string[];
  /** If empty, all workspaces. */
  readonly workspaces: readonly string[];
}

async function countedWhere(db: Database, where: Prisma.Sql, page: Prisma.Sql = Prisma.empty): Promise<DryRun[]> {
  return db.prisma.$queryRaw<DryRun[]>`
    SELECT d.id, d.organization_id AS "organizationId", d.status, d.reason, d.created_by_type AS "createdByType",
           d.created_by_id AS "createdById", d.created_at AS "createdAt", d.finished_at AS "finishedAt", c.*
      FROM policy_dry_run d JOIN organization o ON o.id = d.organization_id AND o.removed_at IS NULL
     CROSS JOIN LATERAL (
       SELECT count(*)::int AS runs, (count(*) FILTER (WHERE x.status = 'passed'))::int AS passed,
              (count(*) FILTER (WHERE x.status = 'failed'))::int AS failed, (count(*) FILTER (WHERE x.status = 'errored'))::int AS errored,
              (count(*) FILTER (WHERE x.status = 'skipped'))::int AS skipped, (count(*) FILTER (WHERE x.would_stop))::int AS stopped
         FROM policy_dry_run_result x WHERE x.policy_dry_run_id = d.id) c
     WHERE ${where} ORDER BY d.created_at DESC, d.id DESC ${page}`;
}

/** Dry runs by id, in no particular order; unknown ids are left out. */
export const findMany = (db: Database, ids: readonly string[]): Promise<DryRun[]> =>
  countedWhere(db, Prisma.sql`d.id = ANY(${[...ids]})`);

/** A page of the dry runs of an organization, newest first. */
export async function list(db: Database, organizationId: string, { offset, size }: Page) {
  const page = Prisma.sql`LIMIT ${size} OFFSET ${offset}`;
  const items = await countedWhere(db, Prisma.sql`d.organization_id = ${organizationId}`, page);
  return { items, total: await db.prisma.policyDryRun.count({ where: { organizationId } }) };
}

/** Selects the newest runs with a plan; returns their number. Callers who manage policies see all runs. */
function chooseRuns(tx: Database, organizationId: string, id: string, input: DryRunInput): Promise<number> {
  const among = input.workspaces.length === 0 ? Prisma.sql`true` : Prisma.sql`w.id = ANY(${[...input.workspaces]})`;
  return tx.prisma.$executeRaw`
    INSERT INTO policy_dry_run_result (policy_dry_run_id, position, run_id)
    SELECT ${id}, row_number() OVER (ORDER BY f.number DESC), f.id FROM (
      SELECT r.id, r.number FROM run r JOIN workspace w ON w.id = r.workspace_id
        JOIN run_phase p ON p.run_id = r.id AND p.kind = 'plan' AND p.json_blob_id IS NOT NULL
       WHERE w.organization_id = ${organizationId} AND NOT r.is_assessment AND ${among}
       ORDER BY r.number DESC LIMIT ${input.runs}) f`;
}

/** The named policies. Throws `invalid` for unknown policies, and for policies that are not OPA policies. */
async function requirePolicies(tx: Database, organizationId: string, ids: readonly string[]) {
  const found = await tx.prisma.policy.findMany({ where: { id: { in: [...ids] }, organizationId, kind: 'opa' } });
  if (found.length < new Set(ids).size) throw invalid('policies', 'were not all found, or are not of kind opa');
  return found.map(({ name, query, enforcementLevel, description, content }) => ({
    name,
    query: query ?? '',
    enforcementLevel,
    description,
    text: content,
  }));
}

/**
 * Starts a dry run with the current policies. Throws `invalid` if there is no policy or no run, and `conflict` while
 * too many are running.
 */
export async function create(db: Database, actor: Actor, organizationId: string, input: DryRunInput): Promise<DryRun> {
  const { policies, policySets, workspaces } = input;
  if (policies.length + policySets.length === 0) throw invalid('policies', "can't be blank without policy sets");
  const id = newId('poldry');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organizationId);
    if ((await tx.prisma.policyDryRun.count({ where: { organizationId, status: 'running' } })) >= mostRunning) {
      throw new Refusal('conflict', `${mostRunning} dry runs are running: wait, or cancel one`);
    }
    const finished = Prisma.sql`t.organization_id = ${organizationId} AND t.status <> 'running'`;
    await deleteOlder(tx, 'policy_dry_run', finished, mostKept - 1);
    const ofSets = { id: { in: [...policySets] }, organizationId, kind: 'opa' };
    if ((await tx.prisma.policySet.count({ where: ofSets })) < new Set(policySets).size) {
      throw invalid('policySets', 'were not all found, or are not of kind opa');
    }
    const own = await requirePolicies(tx, organizationId, policies);
    const by = { createdByType: actor.type, createdById: actor.id };
    await tx.prisma.policyDryRun.create({ data: { id, organizationId, ...by } });
    if ((await beginDryRun(tx, { id, organizationId }, policySets, own)) < new Set(policySets).size) {
      throw invalid('policySets', 'have neither policies nor a version');
    }
    if ((await chooseRuns(tx, organizationId, id, input)) === 0) {
      throw invalid('workspaces', 'have no run with a plan');
    }
    const target = { type: 'policy-dry-runs', id, name: id };
    const after = { policies, policySets, workspaces, runs: input.runs };
    await recordChange(tx, actor, { organizationId, action: 'policy-dry-run.create', target, after });
    return still((await findMany(tx, [id]))[0]);
  });
}

/** A page of results, in the order of evaluation. */
export async function results(
  { prisma }: Database,
  { id }: DryRun,
  { status, wouldStop }: { readonly status?: string; readonly wouldStop?: boolean },
  { offset, size }: Page,
): Promise<{ items: DryRunResult[]; total: number }> {
  const where = Prisma.sql`
    FROM policy_dry_run_result x JOIN run r ON r.id = x.run_id JOIN workspace w ON w.id = r.workspace_id
   WHERE x.policy_dry_run_id = ${id}
     AND (${status ?? null}::text IS NULL OR coalesce(x.status, 'pending') = ${status ?? null})
     AND (${wouldStop ?? null}::boolean IS NULL OR (x.status IS NOT NULL AND x.would_stop = ${wouldStop ?? null}))`;
  const items = await prisma.$queryRaw<DryRunResult[]>`
    SELECT x.policy_dry_run_id || '-' || x.position AS id, w.organization_id AS "organizationId", x.run_id AS "runId",
           w.id AS "workspaceId", w.name AS "workspaceName", coalesce(x.status, 'pending') AS status, x.would_stop AS "wouldStop", x.outcomes
      ${where} ORDER BY x.position LIMIT ${size} OFFSET ${offset}`;
  const [{ total } = { total: 0 }] = await prisma.$queryRaw<
    { total: number }[]
  >`SELECT count(*)::int AS total ${where}`;
  return { items, total };
}
