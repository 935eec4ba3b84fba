import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow, requireRevision } from '../../../kernel/database/lock-row';
import type { VariableInput } from '../variables/schema';
import { create as createVariable } from '../variables/service';
import { variableSetAttributes } from './attributes';
import type { SetInput } from './schema';
import type { VariableSet } from './variable-set';

const { initial, plain, stored } = variableSetAttributes;

/** The settings of a set in a request. Lists in the request replace the assignments. */
export type VariableSetInput = Omit<SetInput, 'workspaces' | 'projects' | 'vars' | 'parent'> & {
  readonly parentProjectId?: string | null;
  readonly workspaceIds?: readonly string[];
  readonly projectIds?: readonly string[];
  readonly variables?: readonly VariableInput[];
};

const withParts = {
  organization: { select: { name: true } },
  variables: { select: { id: true }, orderBy: [{ createdAt: 'asc' as const }, { id: 'asc' as const }] },
  workspaces: {
    select: { workspace: { select: { id: true, projectId: true, organizationId: true } } },
    orderBy: { workspaceId: 'asc' as const },
  },
  projects: { select: { projectId: true }, orderBy: { projectId: 'asc' as const } },
};

/** Sets by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<VariableSet[]> {
  const rows = await db.prisma.variableSet.findMany({
    where: { id: { in: [...ids] }, organization: { removedAt: null } },
    include: withParts,
  });
  return rows.map(({ organization, variables, workspaces, projects, ...row }) => ({
    ...row,
    organizationName: organization.name,
    variableIds: variables.map(({ id }) => id),
    workspaces: workspaces.map(({ workspace }) => workspace),
    projectIds: projects.map(({ projectId }) => projectId),
  }));
}

/** One set. */
export async function find(db: Database, id: string): Promise<VariableSet | undefined> {
  return (await findMany(db, [id]))[0];
}

/** Creates a set with its assignments and variables. Throws `invalid` for a taken name or an unknown assignment. */
export async function create(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  organizationId: string,
  input: VariableSetInput,
): Promise<VariableSet> {
  const id = newId('varset');
  return db.transaction(async (tx) => {
    await tx.prisma.variableSet.create({
      data: {
        id,
        organizationId,
        ...initial,
        ...plain(input),
        parentProjectId: input.parentProjectId,
      },
    });
    await assign(tx, organizationId, id, input);
    for (const variable of input.variables ?? []) {
      await createVariable(tx, keyring, actor, { variableSetId: id, organizationId }, variable);
    }
    const set = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(set, 'create'), after: shown(set) });
    return set;
  });
}

/** Changes the settings in a request. A set that becomes global loses its assignments to workspaces and projects. */
export async function update(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  id: string,
  input: VariableSetInput,
  ifMatch?: bigint,
): Promise<VariableSet> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'variable_set', id);
    const before = await find(tx, id);
    if (!before) throw notFound();
    requireRevision(before, ifMatch);
    await tx.prisma.variableSet.update({
      where: { id },
      data: { ...plain(input), updatedAt: new Date() },
    });
    await assign(tx, before.organizationId, id, input);
    for (const variable of input.variables ?? []) {
      const owner = { variableSetId: id, organizationId: before.organizationId };
      await createVariable(tx, keyring, actor, owner, variable);
    }
    const after = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(before), after: shown(after) });
    return after;
  });
}

// Lists in the request replace the existing assignments. A global set has no assignments.
async function assign(tx: Database, organizationId: string, id: string, input: VariableSetInput): Promise<void> {
  const { global, parentProjectId } = await tx.prisma.variableSet.findUniqueOrThrow({ where: { id } });
  if (global && parentProjectId !== null)
    throw invalid('global', 'must be false: the variable set belongs to one project');
  if (global || input.workspaceIds) await tx.prisma.variableSetWorkspace.deleteMany({ where: { variableSetId: id } });
  if (global || input.projectIds) await tx.prisma.variableSetProject.deleteMany({ where: { variableSetId: id } });
  if (global) return;
  try {
    await addWorkspaces(tx, organizationId, id, input.workspaceIds ?? []);
  } catch (error) {
    throw error instanceof Refusal ? invalid('workspaces', 'were not all found') : error;
  }
  try {
    await addProjects(tx, organizationId, id, input.projectIds ?? []);
  } catch (error) {
    throw error instanceof Refusal ? invalid('projects', 'were not all found') : error;
  }
}

/** The project that owns a set, which then applies only there; null for a set of the organization. */
async function projectOf(db: Database, variableSetId: string): Promise<string | null> {
  const set = await db.prisma.variableSet.findUnique({ where: { id: variableSetId } });
  return still(set ?? undefined).parentProjectId;
}

/** Assigns workspaces of the organization, or of the project that owns the set. Throws `missing` for any other id. */
export async function addWorkspaces(
  db: Database,
  organizationId: string,
  variableSetId: string,
  workspaceIds: readonly string[],
): Promise<void> {
  const ids = [...new Set(workspaceIds)];
  const projectId = (await projectOf(db, variableSetId)) ?? undefined;
  const count = await db.prisma.workspace.count({ where: { id: { in: ids }, organizationId, projectId } });
  if (count < ids.length) throw notFound();
  await db.prisma.variableSetWorkspace.createMany({
    data: ids.map((workspaceId) => ({ variableSetId, workspaceId })),
    skipDuplicates: true,
  });
}

/** Assigns projects of the organization, or the project that owns the set. Throws `missing` for any other id. */
export async function addProjects(
  db: Database,
  organizationId: string,
  variableSetId: string,
  projectIds: readonly string[],
): Promise<void> {
  const ids = [...new Set(projectIds)];
  const own = await projectOf(db, variableSetId);
  const count = await db.prisma.project.count({ where: { id: { in: ids, equals: own ?? undefined }, organizationId } });
  if (count < ids.length) throw notFound();
  await db.prisma.variableSetProject.createMany({
    data: ids.map((projectId) => ({ variableSetId, projectId })),
    skipDuplicates: true,
  });
}

/** Changes assignments under the set's lock, with one audit event. */
export async function reassign(
  db: Database,
  actor: Actor,
  set: VariableSet,
  change: (tx: Database) => Promise<unknown>,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.variableSet.update({ where: { id: set.id }, data: { updatedAt: new Date() } });
    await change(tx);
    const after = still(await find(tx, set.id));
    await recordChange(tx, actor, { ...changeOf(after, 'assign'), before: shown(set), after: shown(after) });
  });
}

/** Deletes a set with its variables. */
export async function remove(db: Database, actor: Actor, set: VariableSet): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.variableSet.deleteMany({ where: { id: set.id } });
    await recordChange(tx, actor, { ...changeOf(set, 'delete'), before: shown(set) });
  });
}

function shown(set: VariableSet) {
  return { ...stored(set), workspaceIds: set.workspaces.map(({ id }) => id), projectIds: set.projectIds };
}

function changeOf({ organizationId, id, name }: VariableSet, verb: string) {
  return { organizationId, action: `variable-set.${verb}`, target: { type: 'varsets', id, name } };
}
