import type { Page } from '@keystead/jsonapi';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound } from '@keystead/refusal';
import type { WorkspaceRunTask as AttachedRow, RunTask as TaskRow } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Entitlements } from '../../../kernel/installation/entitlements';

/** The stages of a run at which tasks take place, in order. */
export const taskStages = ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] as const;
export type TaskStageName = (typeof taskStages)[number];

/** Whether a run continues if a task fails. */
export const enforcementLevels = ['advisory', 'mandatory'] as const;
export type EnforcementLevel = (typeof enforcementLevels)[number];

/** A check by another service, which workspaces can add to their runs. */
export interface RunTask extends Omit<TaskRow, 'hmacKey'> {
  readonly organization: string;
  readonly workspaceTaskIds: readonly string[];
}

/** A run task in one workspace. */
export interface WorkspaceTask extends AttachedRow {
  readonly organizationId: string;
  readonly taskName: string;
  readonly workspace: WorkspaceTarget & { readonly name: string };
}

/** The settings of a task in a request. */
export interface TaskInput {
  readonly name?: string;
  readonly url?: string;
  readonly description?: string | null;
  readonly hmacKey?: string | null;
  readonly enabled?: boolean;
  readonly globalConfiguration?: {
    readonly enabled?: boolean;
    readonly stages?: readonly TaskStageName[];
    readonly enforcementLevel?: EnforcementLevel;
  } | null;
}

const whole = {
  organization: { select: { name: true } },
  workspaceTasks: { select: { id: true }, orderBy: { id: 'asc' } },
} as const;

/** The cell in which the key of a task is sealed. */
const keyCell = (id: string) => ({ table: 'run_task', row: id, column: 'hmac_key' });

/** The key that signs requests of a task; undefined if the task has none or no longer exists. */
export async function findKey(db: Database, keyring: Keyring, id: string): Promise<string | undefined> {
  const row = await db.prisma.runTask.findUnique({ where: { id }, select: { hmacKey: true } });
  return row?.hmacKey ? keyring.open(row.hmacKey, keyCell(id)).toString('utf8') : undefined;
}

/** Tasks by id, in no particular order; unknown ids are left out. */
export async function findTasks(db: Database, ids: readonly string[]): Promise<RunTask[]> {
  return tasksWhere(db, { id: { in: [...ids] } });
}

async function tasksWhere(db: Database, where: object, page?: Page): Promise<RunTask[]> {
  const rows = await db.prisma.runTask.findMany({
    where: { ...where, organization: { removedAt: null } },
    include: whole,
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return rows.map(({ hmacKey: _sealed, organization, workspaceTasks, ...row }) => ({
    ...row,
    organization: organization.name,
    workspaceTaskIds: workspaceTasks.map(({ id }) => id),
  }));
}

/** A page of the tasks of an organization, by name. */
export async function listTasks(db: Database, organizationId: string, page: Page) {
  const items = await tasksWhere(db, { organizationId }, page);
  return { items, total: await db.prisma.runTask.count({ where: { organizationId } }) };
}

/** An organization, and the entitlements of its plan. */
interface Home {
  readonly id: string;
  readonly entitlements: Pick<Entitlements, 'globalRunTasks' | 'runTaskLimit'>;
}

/** A task's settings for all workspaces; absent if the plan has no global tasks, as clients expect. */
function globalOf({ globalConfiguration }: TaskInput, { entitlements }: Pick<Home, 'entitlements'>) {
  if (!globalConfiguration || !entitlements.globalRunTasks) return {};
  return {
    globalEnabled: globalConfiguration.enabled ?? false,
    ...(globalConfiguration.stages === undefined ? {} : { globalStages: [...new Set(globalConfiguration.stages)] }),
    ...(globalConfiguration.enforcementLevel === undefined
      ? {}
      : { globalEnforcement: globalConfiguration.enforcementLevel }),
  };
}

const sealedKey = (keyring: Keyring, id: string, key: string | null | undefined) => {
  if (key === undefined) return {};
  return { hmacKey: key ? new Uint8Array(keyring.seal(Buffer.from(key), keyCell(id))) : null };
};

const plainOf = ({ name, url, description, enabled }: TaskInput) => ({
  ...(name === undefined ? {} : { name }),
  ...(url === undefined ? {} : { url }),
  ...(description === undefined ? {} : { description: description ?? '' }),
  ...(enabled === undefined ? {} : { enabled }),
});

/**
 * The data of a task for the audit trail. It contains only the host of the address, because the address is sometimes a
 * credential.
 */
const facts = ({ name, url, enabled, globalEnabled, globalStages, globalEnforcement }: RunTask) => ({
  name,
  host: new URL(url).host,
  enabled,
  globalEnabled,
  globalStages,
  globalEnforcement,
});

async function requireFreeName(db: Database, organizationId: string, name: string, except?: string): Promise<void> {
  const existing = await db.prisma.runTask.findFirst({ where: { organizationId, name }, select: { id: true } });
  if (existing && existing.id !== except) throw invalid('name', 'has already been taken');
}

/** Creates a task. Throws `invalid` for a name that is taken, and beyond the limit of the plan. */
export async function createTask(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  home: Home,
  input: TaskInput & { readonly name: string; readonly url: string },
): Promise<RunTask> {
  const id = newId('task');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', home.id);
    await requireFreeName(tx, home.id, input.name);
    const limit = home.entitlements.runTaskLimit;
    if (limit !== null && (await tx.prisma.runTask.count({ where: { organizationId: home.id } })) >= limit) {
      throw invalid('name', `is one too many (maximum is ${limit})`);
    }
    const data = {
      id,
      organizationId: home.id,
      ...plainOf(input),
      ...globalOf(input, home),
      ...sealedKey(keyring, id, input.hmacKey),
    };
    await tx.prisma.runTask.create({ data: { ...data, name: input.name, url: input.url } });
    return changedTask(tx, actor, id, 'create');
  });
}

/** Changes the settings of a task in a request. */
export async function updateTask(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  before: RunTask,
  home: Pick<Home, 'entitlements'>,
  input: TaskInput,
): Promise<RunTask> {
  const { id } = before;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', before.organizationId);
    if (input.name !== undefined) await requireFreeName(tx, before.organizationId, input.name, id);
    const data = { ...plainOf(input), ...globalOf(input, home), ...sealedKey(keyring, id, input.hmacKey) };
    const { count } = await tx.prisma.runTask.updateMany({ where: { id }, data: { ...data, updatedAt: new Date() } });
    if (count === 0) throw notFound();
    return changedTask(tx, actor, id, 'update', before);
  });
}

async function changedTask(db: Database, actor: Actor, id: string, verb: string, before?: RunTask): Promise<RunTask> {
  const after = still((await findTasks(db, [id]))[0]);
  const target = { type: 'tasks', id, name: after.name };
  const change = { organizationId: after.organizationId, action: `run-task.${verb}`, target };
  await recordChange(db, actor, { ...change, before: before && facts(before), after: facts(after) });
  return after;
}

/** Deletes a task from all workspaces. Existing runs keep it. */
export async function removeTask(db: Database, actor: Actor, task: RunTask): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.runTask.deleteMany({ where: { id: task.id } });
    if (count === 0) throw notFound();
    const target = { type: 'tasks', id: task.id, name: task.name };
    await recordChange(tx, actor, {
      organizationId: task.organizationId,
      action: 'run-task.delete',
      target,
      before: facts(task),
    });
  });
}

const include = {
  runTask: { select: { name: true } },
  workspace: { select: { id: true, name: true, projectId: true, organizationId: true } },
} as const;

async function attachedWhere(db: Database, where: object, page?: Page): Promise<WorkspaceTask[]> {
  const rows = await db.prisma.workspaceRunTask.findMany({
    where: { ...where, workspace: { organization: { removedAt: null } } },
    include,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return rows.map(({ runTask, ...row }) => ({
    ...row,
    organizationId: row.workspace.organizationId,
    taskName: runTask.name,
  }));
}

/** Tasks of workspaces by id, in no particular order; unknown ids are left out. */
export const findAttached = (db: Database, ids: readonly string[]): Promise<WorkspaceTask[]> =>
  attachedWhere(db, { id: { in: [...ids] } });

/** The task of a workspace with an id. */
export async function findAttachedTo(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<WorkspaceTask | undefined> {
  return (await attachedWhere(db, { id, workspaceId }))[0];
}

/** A page of the tasks of a workspace, or of the workspaces of a task, oldest first. */
export async function listAttached(db: Database, where: { workspaceId: string } | { runTaskId: string }, page: Page) {
  return { items: await attachedWhere(db, where, page), total: await db.prisma.workspaceRunTask.count({ where }) };
}

/** The settings of a task in a workspace. */
export interface AttachInput {
  readonly enforcementLevel?: EnforcementLevel;
  /** The earlier setting, for a single stage. */
  readonly stage?: TaskStageName;
  readonly stages?: readonly TaskStageName[];
}

const stagesOf = ({ stage, stages }: AttachInput): TaskStageName[] | undefined =>
  stages === undefined ? stage && [stage] : [...new Set(stages)];

/**
 * Adds a task to the runs of a workspace. Throws `invalid` for a task of another organization, and if the workspace
 * already has the task.
 */
export async function attach(
  db: Database,
  actor: Actor,
  workspace: WorkspaceTarget,
  taskId: string,
  input: AttachInput & { readonly enforcementLevel: EnforcementLevel },
): Promise<WorkspaceTask> {
  const id = newId('wstask');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspace.id);
    const where = { id: taskId, organizationId: workspace.organizationId };
    if ((await tx.prisma.runTask.count({ where })) === 0) throw invalid('task', 'was not found');
    const there = { workspaceId: workspace.id, runTaskId: taskId };
    if ((await tx.prisma.workspaceRunTask.count({ where: there })) > 0) {
      throw invalid('task', 'is already attached to this workspace');
    }
    const { enforcementLevel } = input;
    await tx.prisma.workspaceRunTask.create({
      data: { id, ...there, enforcementLevel, stages: stagesOf(input) ?? ['post_plan'] },
    });
    return changedAttached(tx, actor, id, 'create');
  });
}

/** Changes the settings of a task in a workspace. */
export async function updateAttached(
  db: Database,
  actor: Actor,
  before: WorkspaceTask,
  input: AttachInput,
): Promise<WorkspaceTask> {
  const stages = stagesOf(input);
  return db.transaction(async (tx) => {
    const { count } = await tx.prisma.workspaceRunTask.updateMany({
      where: { id: before.id },
      data: { ...(stages && { stages }), ...(input.enforcementLevel && { enforcementLevel: input.enforcementLevel }) },
    });
    if (count === 0) throw notFound();
    return changedAttached(tx, actor, before.id, 'update', before);
  });
}

const attachedFacts = ({ taskName, stages, enforcementLevel }: WorkspaceTask) => ({
  taskName,
  stages,
  enforcementLevel,
});

async function changedAttached(db: Database, actor: Actor, id: string, verb: string, before?: WorkspaceTask) {
  const after = still((await findAttached(db, [id]))[0]);
  const target = { type: 'workspace-tasks', id, name: after.workspace.name };
  const change = { organizationId: after.organizationId, action: `workspace-task.${verb}`, target };
  await recordChange(db, actor, {
    ...change,
    before: before && attachedFacts(before),
    after: attachedFacts(after),
  });
  return after;
}

/** Removes a task from the runs of a workspace. */
export async function detach(db: Database, actor: Actor, task: WorkspaceTask): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.workspaceRunTask.deleteMany({ where: { id: task.id } });
    if (count === 0) throw notFound();
    const target = { type: 'workspace-tasks', id: task.id, name: task.workspace.name };
    const change = { organizationId: task.organizationId, action: 'workspace-task.delete', target };
    await recordChange(db, actor, { ...change, before: attachedFacts(task) });
  });
}
