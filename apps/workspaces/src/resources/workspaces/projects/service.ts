import { invalid, type SentReference } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { requireRevision } from '../../../kernel/database/revision';
import { type ExecutionInput, requirePool, settledExecution } from './execution';
import type { JudgedProject } from './policy';
import { type Bound, bindTags } from './tag-bindings';

/** A project. Execution mode and agent pool are its own, or null and then those `inherited` hold. */
export interface Project extends JudgedProject {
  readonly organizationName: string;
  readonly name: string;
  readonly description: string | null;
  readonly autoDestroyActivityDuration: string | null;
  /** Where its workspaces' runs get credentials; null: nowhere. */
  readonly secretsRole: string | null;
  readonly secretsNamespace: string | null;
  readonly executionMode: string | null;
  readonly agentPoolId: string | null;
  readonly inherited: { readonly executionMode: string; readonly agentPoolId: string | null };
  readonly createdAt: Date;
  /** How many projects the organization has. */
  readonly projectCount: number;
  readonly workspaceCount: number;
  readonly teamCount: number;
  readonly revision: bigint;
}

/** What a request may say of a project. */
export interface ProjectInput extends ExecutionInput {
  readonly name?: string;
  readonly description?: string | null;
  readonly autoDestroyActivityDuration?: string | null;
  readonly secretsRole?: string | null;
  readonly secretsNamespace?: string | null;
  /** Take the place of those there were. */
  readonly tagBindings?: SentReference[];
}

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

/** Creates a project. Throws `invalid` when its name is taken. */
export async function create(
  db: Database,
  actor: Actor,
  organizationId: string,
  input: ProjectInput,
): Promise<Project> {
  return db.transaction(async (tx) => {
    const execution = settledExecution({ executionMode: null, agentPoolId: null }, input);
    const id = newId('prj');
    await requirePool(tx, { organizationId, projectId: id }, execution.agentPoolId);
    await tx.prisma.project.create({
      data: { id, organizationId, name: input.name ?? '', ...plain(input), ...execution },
    });
    await bind(tx, { organizationId, projectId: id }, input);
    const project = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(project, 'create'), after: shown(project) });
    return project;
  });
}

/** Changes what is named. Throws `invalid` when the new name is taken. */
export async function update(
  db: Database,
  actor: Actor,
  id: string,
  input: ProjectInput,
  ifMatch?: bigint,
): Promise<Project> {
  return db.transaction(async (tx) => {
    await tx.prisma.$queryRaw`SELECT 1 FROM project WHERE id = ${id} FOR UPDATE`;
    const before = await find(tx, id);
    if (!before) throw new Refusal('missing', '');
    requireRevision(before, ifMatch);
    const execution = settledExecution(before, input);
    await requirePool(tx, { ...before, projectId: id }, execution.agentPoolId);
    await tx.prisma.project.update({ where: { id }, data: { name: input.name, ...plain(input), ...execution } });
    await bind(tx, { ...before, projectId: id }, input);
    const after = still(await find(tx, id));
    const bound = input.tagBindings?.map(({ attributes }) => attributes);
    await recordChange(tx, actor, {
      ...changeOf(after, 'update'),
      before: shown(before),
      after: { ...shown(after), ...(bound === undefined ? {} : { bindings: bound }) },
    });
    return after;
  });
}

/** Deletes an empty project. Throws `denied` for the default one, `invalid` while workspaces are in it. */
export async function remove(db: Database, actor: Actor, project: Project): Promise<void> {
  if (project.isDefault) throw new Refusal('denied', 'The default project cannot be deleted');
  await db.transaction(async (tx) => {
    // Keeps workspaces from being created in or moved to the project meanwhile: they share-lock its row.
    await tx.prisma.$queryRaw`SELECT 1 FROM project WHERE id = ${project.id} FOR UPDATE`;
    const left = await tx.prisma.workspace.findMany({
      where: { projectId: project.id },
      select: { name: true },
      orderBy: { name: 'asc' },
      take: 10,
    });
    if (left.length > 0) {
      const names = left.map(({ name }) => name).join(', ');
      throw invalid(['data'], `Project still holds workspaces and cannot be deleted: ${names}`);
    }
    await tx.prisma.project.deleteMany({ where: { id: project.id } });
    await recordChange(tx, actor, { ...changeOf(project, 'delete'), before: shown(project) });
  });
}

async function bind(db: Database, bound: Bound, { tagBindings }: ProjectInput): Promise<void> {
  if (tagBindings !== undefined) await bindTags(db, bound, tagBindings, 'replace');
}

function plain({ description, autoDestroyActivityDuration, secretsRole, secretsNamespace }: ProjectInput) {
  return { description, autoDestroyActivityDuration, secretsRole, secretsNamespace };
}

/** What an audit event says of a change of the project. */
export function changeOf(project: Project, verb: string) {
  const target = { type: 'projects', id: project.id, name: project.name };
  return { organizationId: project.organizationId, action: `project.${verb}`, target };
}

function shown({ name, executionMode, agentPoolId, ...project }: Project) {
  const { description, autoDestroyActivityDuration, secretsRole, secretsNamespace } = project;
  return {
    name,
    description,
    autoDestroyActivityDuration,
    executionMode,
    agentPoolId,
    secretsRole,
    secretsNamespace,
  };
}
