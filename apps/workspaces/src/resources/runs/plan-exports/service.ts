import { invalid } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { keepBlob, readWholeBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { finalVariables } from '../../workspaces/variable-sets/effective-variables';
import type { Variable } from '../../workspaces/variables/variable';
import type { Phase } from '../runs/phases';
import type { RunTarget } from '../runs/policy';
import { bundle } from './bundle';
import { type PlanDocument, readPlan } from './plan-document';
import { runImport } from './run-import';
import { scrubPlan } from './scrub';
import { nestingOf } from './sentinel-text';

/** The forms of an export. */
export const dataTypes = ['sentinel-mock-bundle-v0'] as const;

/** The largest plan that is exported: its JSON is in memory several times during an export. */
const mostPlanBytes = 4 * 1024 * 1024;
const mostBytes = 256 * 1024 * 1024;
const deepest = 200;

/** A plan in a format for policy testing tools, with the data for permission checks. */
export interface PlanExport extends RunTarget {
  readonly id: string;
  readonly planId: string;
  readonly dataType: string;
  readonly blobId: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Whether the export has expired, by the database's clock. */
  readonly expired: boolean;
}

type PlanExportRow = Omit<PlanExport, 'workspace'> & { workspaceId: string; projectId: string };

/** Exports by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<PlanExport[]> {
  const rows = await db.prisma.$queryRaw<PlanExportRow[]>`
    SELECT e.id, e.plan_id AS "planId", e.data_type AS "dataType", e.blob_id AS "blobId", e.created_at AS "createdAt",
           e.expires_at AS "expiresAt", e.expires_at <= now() AS expired, w.id AS "workspaceId",
           w.project_id AS "projectId", w.organization_id AS "organizationId"
      FROM plan_export e JOIN run_phase p ON p.id = e.plan_id JOIN run r ON r.id = p.run_id
      JOIN workspace w ON w.id = r.workspace_id
      JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
     WHERE e.id = ANY(${[...ids]})`;
  return rows.map(({ workspaceId, projectId, ...shown }) => ({
    ...shown,
    workspace: { id: workspaceId, projectId, organizationId: shown.organizationId },
  }));
}

/** The export with a `pe-…` id. */
export async function find(db: Database, id: string): Promise<PlanExport | undefined> {
  return (await findMany(db, [id]))[0];
}

const isThere = () => invalid('plan', 'already has an export: delete it, or wait until it expires');

async function requireNone(tx: Database, plan: Phase, dataType: string): Promise<void> {
  const [live] = await tx.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM plan_export WHERE plan_id = ${plan.id} AND data_type = ${dataType} AND expires_at > now()`;
  if (live) throw isThere();
}

/** The content of an export. Throws `invalid` for a plan that has no result, or is too large or too deep. */
async function readJson(db: Database, env: Pick<Environment, 'keyring'>, plan: Phase): Promise<string> {
  const noResult = () => invalid('plan', `has no result to export: it is ${plan.status}`);
  if (plan.status !== 'finished' || plan.jsonBlobId === null) throw noResult();
  const blob = await db.prisma.blob.findUnique({ where: { id: plan.jsonBlobId }, select: { size: true } });
  if (!blob) throw noResult();
  if (blob.size > mostPlanBytes)
    throw invalid('plan', `is larger than ${mostPlanBytes} bytes in JSON, the limit for exports`);
  const json = await readWholeBlob(db, env.keyring, plan.jsonBlobId);
  if (!json) throw noResult();
  if (nestingOf(json) > deepest) throw invalid('plan', `contains values that are nested deeper than ${deepest} levels`);
  return json.toString('utf8');
}

/**
 * Parses JSON that a worker sent. Throws `invalid` for anything other than a plan, without quoting it, because it may
 * be secret.
 */
function read(json: string): PlanDocument {
  try {
    return readPlan(json);
  } catch {
    throw invalid('plan', 'has JSON that is not a plan');
  }
}

/** The tool's sensitive variables, including those that it gets through its environment. */
const sensitiveNames = (variables: readonly Variable[]): string[] =>
  variables.flatMap(({ key, category, sensitive }) => {
    if (!sensitive) return [];
    if (category === 'terraform') return [key];
    return key.startsWith('TF_VAR_') ? [key.slice('TF_VAR_'.length)] : [];
  });

/**
 * Exports a plan for an hour. Only one export of each format can exist at a time. Values that the tool or a variable
 * marks as sensitive are omitted. Throws `invalid` if an export exists, and for a plan that cannot be exported.
 */
export async function create(
  db: Database,
  env: Pick<Environment, 'keyring' | 'largeUploads' | 'now'>,
  actor: Actor,
  plan: Phase,
  dataType: string,
): Promise<PlanExport> {
  await requireNone(db, plan, dataType);
  return env.largeUploads.run(async () => {
    const json = await readJson(db, env, plan);
    const variables = await finalVariables(db, plan.workspace.id);
    const scrubbed = scrubPlan(read(json), new Set(sensitiveNames(variables)));
    const run = await runImport(db, env.keyring, plan.runId, variables);
    const source = bundle(scrubbed, run, new Date(env.now()));
    const blob = await writeBlob(db, env.keyring, source, { limit: mostBytes, provisional: true });
    try {
      return await keep(db, actor, plan, dataType, blob.id);
    } catch (error) {
      await removeBlob(db, blob.id);
      throw error;
    }
  }, plan.workspace.id);
}

async function keep(db: Database, actor: Actor, plan: Phase, dataType: string, blobId: string): Promise<PlanExport> {
  return db.transaction(async (tx) => {
    // Simultaneous requests run one after the other.
    const locked = await lockRow(tx, 'run_phase', plan.id);
    if (!locked) throw notFound();
    await requireNone(tx, plan, dataType);
    await tx.prisma.planExport.deleteMany({ where: { planId: plan.id, dataType } });
    await keepBlob(tx, blobId);
    const id = newId('pe');
    await tx.prisma.$executeRaw`
      INSERT INTO plan_export (id, plan_id, data_type, blob_id, created_at, expires_at)
      VALUES (${id}, ${plan.id}, ${dataType}, ${blobId}, now(), now() + interval '1 hour')`;
    await recordChange(tx, actor, {
      ...changeOf({ id, planId: plan.id, organizationId: plan.organizationId }, 'create'),
      after: { dataType },
    });
    return still(await find(tx, id));
  });
}

const changeOf = (
  { id, planId, organizationId }: Pick<PlanExport, 'id' | 'planId' | 'organizationId'>,
  verb: string,
) => ({
  organizationId,
  action: `plan-export.${verb}`,
  target: { type: 'plan-exports', id, name: planId },
});

/** Removes an export before it expires. */
export async function remove(db: Database, actor: Actor, found: PlanExport): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.planExport.deleteMany({ where: { id: found.id } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, { ...changeOf(found, 'delete'), before: { dataType: found.dataType } });
  });
}

/** Removes the bytes of expired exports; returns how many. */
export async function sweep(db: Database): Promise<number> {
  return db.prisma.$executeRaw(
    Prisma.sql`UPDATE plan_export SET blob_id = NULL WHERE blob_id IS NOT NULL AND expires_at <= now()`,
  );
}
