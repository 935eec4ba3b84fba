import { isRefusal, Refusal } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import { type Actor, recordChange, system } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { isPoolOpen } from '../../workspaces/projects/allowed';
import { resolveVersion } from '../../workspaces/workspaces/infra-version';
import {
  canBeAssessed,
  effectiveMode,
  find as findWorkspace,
  isAssessed,
  type Workspace,
} from '../../workspaces/workspaces/workspace';
import { requireConfiguration } from '../runs/configuration';
import { advance } from '../runs/queue';
import { moveRun } from '../runs/transition';

const BATCH = 20;
/**
 * The first assessment is due within this many minutes. Later ones are up to a tenth of the interval earlier or later,
 * so that they are not all due at once.
 */
const FIRST_MINUTES = 10;
const SPREAD = 0.1;
const KEPT_DAYS = 30;

// The same condition as in the indexes. Null means not scheduled yet, and therefore due.
const dueAt = Prisma.sql`coalesce(w.assessment_due_at, timestamptz '-infinity')`;
const hasResources = Prisma.sql`w.current_state_version_id IS NOT NULL AND w.resource_count > 0`;

/**
 * Starts the assessments that are due, at most one per workspace and none during a run. Returns their number. Safe to
 * call concurrently. Decision 0130.
 */
export async function startAssessments(db: Database, intervalHours: number): Promise<number> {
  if (intervalHours === 0) return 0;
  const due = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT d.id FROM (
      SELECT w.id, w.organization_id, ${dueAt} AS due_at FROM workspace w
       WHERE w.assessments_enabled AND ${hasResources} AND ${dueAt} <= now()
      UNION
      SELECT w.id, w.organization_id, ${dueAt} FROM organization e JOIN workspace w ON w.organization_id = e.id
       WHERE e.assessments_enforced AND ${hasResources} AND ${dueAt} <= now()) d
      JOIN organization o ON o.id = d.organization_id AND o.removed_at IS NULL
      JOIN subscription s ON s.organization_id = o.id
     WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = d.id AND r.finished_at IS NULL)
     ORDER BY d.due_at, d.id LIMIT ${BATCH}`;
  let started = 0;
  for (const { id } of due) if (await startOne(db, id, intervalHours)) started += 1;
  return started;
}

async function startOne(db: Database, id: string, intervalHours: number): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', id);
    const workspace = await findWorkspace(tx, id);
    if (!workspace || !(await take(tx, workspace, intervalHours))) return false;
    const parts = isAssessed(workspace) ? await partsOf(tx, workspace) : undefined;
    if (parts) await begin(tx, workspace, parts, system);
    return parts !== undefined;
  });
}

/**
 * Starts a requested assessment, whether or not the workspace has scheduled assessments. Throws `transition` if no
 * assessment is possible now.
 */
export async function assessNow(db: Database, actor: Actor, { id }: Workspace): Promise<Workspace> {
  const refused = (why: string) => new Refusal('transition', `the workspace cannot be assessed: ${why}`);
  return db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', id);
    const workspace = still(await findWorkspace(tx, id));
    if (!canBeAssessed(workspace)) throw refused('its execution mode, its version or the plan does not allow it');
    const [found] = await tx.prisma.$queryRaw<{ manages: boolean; busy: boolean }[]>`
      SELECT ${hasResources} AS manages,
             EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = w.id AND r.finished_at IS NULL) AS busy
        FROM workspace w WHERE w.id = ${id}`;
    if (found?.busy) throw refused('a run or an assessment is in progress');
    if (!found?.manages) throw refused('it manages no resources');
    const parts = await partsOf(tx, workspace);
    if (!parts) throw refused('it has no configuration, or its agent pool is closed to it');
    await begin(tx, workspace, parts, actor);
    const { organizationId, name } = workspace;
    const target = { type: 'workspaces', id, name };
    await recordChange(tx, actor, { organizationId, action: 'workspace.assess', target });
    return workspace;
  });
}

type AssessmentParts = NonNullable<Awaited<ReturnType<typeof partsOf>>>;

async function begin(tx: Database, { id }: Workspace, parts: AssessmentParts, by: Actor): Promise<void> {
  const runId = newId('run');
  await tx.prisma.run.create({
    data: {
      id: runId,
      workspaceId: id,
      configurationVersionId: parts.configurationId,
      status: 'pending',
      source: 'assessment',
      isAssessment: true,
      planOnly: true,
      refreshOnly: true,
      infraVersion: parts.infraVersion,
      createdByType: by.type,
      createdById: by.id,
      phases: {
        create: [
          { id: newId('plan'), kind: 'plan' },
          { id: newId('apply'), kind: 'apply' },
        ],
      },
    },
  });
  await moveRun(tx, runId, 'pending');
  await advance(tx, id);
}

/**
 * Moves the time of the next assessment, by the database's clock. Returns false if no assessment is due, or if a run
 * was started first.
 */
async function take({ prisma }: Database, { id, assessmentDueAt }: Workspace, intervalHours: number): Promise<boolean> {
  if (assessmentDueAt === null) {
    await prisma.$executeRaw`
      UPDATE workspace SET assessment_due_at = now() + random() * make_interval(mins => ${FIRST_MINUTES}) WHERE id = ${id}`;
    return false;
  }
  const updated = await prisma.$executeRaw`
    UPDATE workspace w
       SET assessment_due_at = now() + (1 + ${SPREAD}::float * (2 * random() - 1)) * make_interval(hours => ${intervalHours})
     WHERE id = ${id} AND assessment_due_at <= now()
       AND NOT EXISTS (SELECT 1 FROM run r WHERE r.workspace_id = w.id AND r.finished_at IS NULL)`;
  return updated > 0;
}

/**
 * The inputs of an assessment; undefined if there is no configuration, or if the workspace may not use its agent pool.
 */
async function partsOf(tx: Database, workspace: Workspace) {
  const { mode, poolId } = effectiveMode(workspace);
  if (mode === 'agent' && (poolId === null || (await isPoolOpen(tx, workspace, poolId)) !== true)) return undefined;
  try {
    const configuration = await requireConfiguration(tx, workspace, undefined);
    return { configurationId: configuration.id, infraVersion: await resolveVersion(tx, workspace.infraVersion) };
  } catch (error) {
    if (isRefusal(error) && error.kind === 'invalid') return undefined;
    throw error;
  }
}

/**
 * Deletes assessments that are a month old, except the newest result of each workspace. Assessments without a result
 * are also deleted.
 */
export const forgetAssessments = ({ prisma }: Database): Promise<number> => prisma.$executeRaw`
  DELETE FROM run r USING workspace w
   WHERE r.is_assessment AND w.id = r.workspace_id
     AND CASE WHEN EXISTS (SELECT 1 FROM assessment_result a WHERE a.run_id = r.id)
              THEN r.finished_at < now() - make_interval(days => ${KEPT_DAYS})
                   AND NOT EXISTS (SELECT 1 FROM assessment_result a WHERE a.run_id = r.id AND a.id = w.current_assessment_result_id)
              ELSE r.finished_at < now() - interval '1 day' END`;
