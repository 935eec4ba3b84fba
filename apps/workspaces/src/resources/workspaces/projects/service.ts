import { invalid } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow, requireRevision } from '../../../kernel/database/lock-row';
import { projectAttributes } from './attributes';
import { requirePool, settledExecution } from './execution';
import type { Project } from './project';
import type { ProjectInput } from './schema';
import { type Bound, bindTags } from './tag-bindings';

const { initial, plain, stored } = projectAttributes;

const withCounts = {
  organization: {
    select: {
      name: true,
      defaultProjectId: true,
      defaultExecutionMode: true,
      defaultAgentPoolId: true,
      _count: { select: { projects: true } },
    },
  },
  _count: { select: { workspaces: true, teamAccess: true } },
} as const;

/** Projects by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Project[]> {
  const rows = await db.prisma.project.findMany({
    where: { id: { in: [...ids] }, organization: { removedAt: null } },
    include: withCounts,
  });
  return rows.map(({ organization, _count: count, ...row }) => ({
    ...row,
    organizationName: organization.name,
    isDefault: organization.defaultProjectId === row.id,
    inherited: { executionMode: organization.defaultExecutionMode, agentPoolId: organization.defaultAgentPoolId },
    projectCount: organization._count.projects,
    workspaceCount: count.workspaces,
    teamCount: count.teamAccess,
  }));
}

/** One project. */
export async function find(db: Database, id: string): Promise<Project | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The caller who creates or changes a project. */
export interface Caller {
  readonly actor: Actor;
  readonly isOwner: boolean;
}

/**
 * Throws unless the caller may change a setting that the organization reserves for its owners. Administrators of a
 * project may not.
 */
function requireOwner(
  { isOwner }: Caller,
  { allowForceDeleteWorkspaces: requested }: ProjectInput,
  before: boolean | null,
) {
  if (requested === undefined || requested === before || isOwner) return;
  throw new Refusal('denied', 'Only owners of the organization may change allow-force-delete-workspaces');
}

/** Creates a project. Throws `invalid` if its name is taken, `denied` for a setting that only owners may change. */
export async function create(
  db: Database,
  caller: Caller,
  organizationId: string,
  input: ProjectInput,
): Promise<Project> {
  requireOwner(caller, input, null);
  return db.transaction(async (tx) => {
    const execution = settledExecution({ executionMode: null, agentPoolId: null }, input);
    const id = newId('prj');
    await requirePool(tx, { organizationId, projectId: id }, execution.agentPoolId);
    await tx.prisma.project.create({
      data: { id, organizationId, ...initial, ...plain(input), ...execution },
    });
    await bind(tx, { organizationId, projectId: id }, input);
    const project = still(await find(tx, id));
    await recordChange(tx, caller.actor, { ...changeOf(project, 'create'), after: stored(project) });
    return project;
  });
}

/** Changes the settings in a request. Throws `invalid` if the new name is taken, and `denied` as `create` does. */
export async function update(
  db: Database,
  caller: Caller,
  id: string,
  input: ProjectInput,
  ifMatch?: bigint,
): Promise<Project> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'project', id);
    const before = await find(tx, id);
    if (!before) throw notFound();
    requireRevision(before, ifMatch);
    requireOwner(caller, input, before.allowForceDeleteWorkspaces);
    const execution = settledExecution(before, input);
    await requirePool(tx, { ...before, projectId: id }, execution.agentPoolId);
    await tx.prisma.project.update({ where: { id }, data: { ...plain(input), ...execution } });
    await bind(tx, { ...before, projectId: id }, input);
    const after = still(await find(tx, id));
    const bound = input.tagBindings?.map(({ attributes }) => attributes);
    await recordChange(tx, caller.actor, {
      ...changeOf(after, 'update'),
      before: stored(before),
      after: { ...stored(after), ...(bound === undefined ? {} : { bindings: bound }) },
    });
    return after;
  });
}

/** Deletes an empty project. Throws `denied` for the default project, and `invalid` while workspaces are in it. */
export async function remove(db: Database, actor: Actor, project: Project): Promise<void> {
  if (project.isDefault) throw new Refusal('denied', 'The default project cannot be deleted');
  await db.transaction(async (tx) => {
    // Prevents workspaces from being created in the project or moved to it in the meantime, because they share-lock its
    // row.
    await lockRow(tx, 'project', project.id);
    const remaining = await tx.prisma.workspace.findMany({
      where: { projectId: project.id },
      select: { name: true },
      orderBy: { name: 'asc' },
      take: 10,
    });
    if (remaining.length > 0) {
      const names = remaining.map(({ name }) => name).join(', ');
      throw invalid(['data'], `Project still holds workspaces and cannot be deleted: ${names}`);
    }
    await tx.prisma.project.deleteMany({ where: { id: project.id } });
    await recordChange(tx, actor, { ...changeOf(project, 'delete'), before: stored(project) });
  });
}

async function bind(db: Database, bound: Bound, { tagBindings }: ProjectInput): Promise<void> {
  if (tagBindings !== undefined) await bindTags(db, bound, tagBindings, 'replace');
}

/** An audit event about a change of the project. */
export function changeOf(project: Project, verb: string) {
  const target = { type: 'projects', id: project.id, name: project.name };
  return { organizationId: project.organizationId, action: `project.${verb}`, target };
}
