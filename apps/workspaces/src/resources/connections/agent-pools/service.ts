import { invalid, type Page, type SentReference } from '@keystead/jsonapi';
import type { Prisma } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { partOfText, sameText } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';

/** An agent pool with the workspaces that use it, and the settings that select the workspaces that may use it. */
export interface AgentPool {
  readonly id: string;
  readonly organizationId: string;
  readonly organization: string;
  readonly name: string;
  readonly organizationScoped: boolean;
  readonly createdAt: Date;
  readonly revision: bigint;
  /** Agents that have not ended. */
  readonly agentCount: number;
  readonly workspaceIds: readonly string[];
  readonly allowedIds: readonly string[];
  readonly excludedIds: readonly string[];
  /** Projects whose workspaces may use the pool. */
  readonly projectIds: readonly string[];
  /** All workspaces that use or may use the pool, with the data that permission rules need. */
  readonly workspaces: readonly WorkspaceTarget[];
}

/** The settings of a pool in a request. */
export interface PoolInput {
  readonly name?: string;
  readonly organizationScoped?: boolean;
  /**
   * The workspaces that use the pool. A workspace chooses its pool itself, so a request may only repeat the current
   * list.
   */
  readonly workspaces?: readonly SentReference[];
  readonly allowedWorkspaces?: readonly SentReference[];
  readonly excludedWorkspaces?: readonly SentReference[];
  readonly allowedProjects?: readonly SentReference[];
}

const listed = {
  select: { workspaceId: true, workspace: { select: { id: true, projectId: true } } },
  orderBy: { workspaceId: 'asc' },
} as const;

const whole = {
  organization: { select: { name: true } },
  workspaces: { select: { id: true, projectId: true }, orderBy: { id: 'asc' } },
  allowed: listed,
  excluded: listed,
  projects: { select: { projectId: true }, orderBy: { projectId: 'asc' } },
  _count: { select: { agents: { where: { endedAt: null, tokenId: { not: null } } } } },
} as const;

type AgentPoolRow = Prisma.AgentPoolGetPayload<{ include: typeof whole }>;

function poolOf({ organization, workspaces, allowed, excluded, projects, _count, ...row }: AgentPoolRow): AgentPool {
  return {
    ...row,
    organization: organization.name,
    agentCount: _count.agents,
    workspaceIds: workspaces.map(({ id }) => id),
    allowedIds: allowed.map(({ workspaceId }) => workspaceId),
    excludedIds: excluded.map(({ workspaceId }) => workspaceId),
    projectIds: projects.map(({ projectId }) => projectId),
    workspaces: [...workspaces, ...[...allowed, ...excluded].map(({ workspace }) => workspace)].map((workspace) => ({
      ...workspace,
      organizationId: row.organizationId,
    })),
  };
}

/** Pools by id, in no particular order. Unknown pools and those of removed organizations are omitted. */
export async function findMany(db: Database, ids: readonly string[]): Promise<AgentPool[]> {
  const where = { id: { in: [...ids] }, organization: { removedAt: null } };
  return (await db.prisma.agentPool.findMany({ where, include: whole })).map(poolOf);
}

/** The pool with an `apool-…` id. */
export async function find(db: Database, id: string): Promise<AgentPool | undefined> {
  return (await findMany(db, [id]))[0];
}

/** A page of an organization's pools. With `visible`: only pools that these workspaces use or may use. */
export async function list(
  db: Database,
  organizationId: string,
  search: { text?: string; workspace?: string; project?: string; visible?: Prisma.WorkspaceWhereInput },
  sort: readonly { key: string; descending: boolean }[],
  page: Page,
): Promise<{ items: AgentPool[]; total: number }> {
  const where: Prisma.AgentPoolWhereInput = { organizationId };
  if (search.text !== undefined) {
    where.name = partOfText(search.text);
  }
  where.AND = [];
  if (search.visible !== undefined) {
    const [some, workspace] = [search.visible, { some: { workspace: search.visible } }];
    where.AND.push({ OR: [{ workspaces: { some } }, { allowed: workspace }, { excluded: workspace }] });
  }
  if (search.workspace !== undefined) {
    const workspace = { name: search.workspace };
    const project = { workspaces: { some: workspace } };
    where.AND.push({ excluded: { none: { workspace } } });
    where.AND.push({
      OR: [{ organizationScoped: true }, { allowed: { some: { workspace } } }, { projects: { some: { project } } }],
    });
  }
  if (search.project !== undefined) {
    const project = { name: sameText(search.project) };
    where.AND.push({ OR: [{ organizationScoped: true }, { projects: { some: { project } } }] });
  }
  const orderBy = sort.map(({ key, descending }) => ({
    [key === 'created-at' ? 'createdAt' : 'name']: descending ? ('desc' as const) : ('asc' as const),
  }));
  const rows = await db.prisma.agentPool.findMany({
    where,
    include: whole,
    orderBy: [...(orderBy.length === 0 ? [{ name: 'asc' as const }] : orderBy), { id: 'asc' }],
    skip: page.offset,
    take: page.size,
  });
  return { items: rows.map(poolOf), total: await db.prisma.agentPool.count({ where }) };
}

const idsOf = (sent: readonly SentReference[]): string[] => [...new Set(sent.map(({ id }) => id ?? ''))];

/** Replaces the given lists: workspaces allowed and excluded, and projects. */
async function admit(db: Database, organizationId: string, agentPoolId: string, input: PoolInput): Promise<void> {
  const { prisma } = db;
  const requireAll = (name: string, foundCount: number, ids: readonly string[]) => {
    if (foundCount < ids.length) throw invalid(name, 'were not all found');
  };
  for (const name of ['allowedWorkspaces', 'excludedWorkspaces'] as const) {
    const sent = input[name];
    if (sent === undefined) continue;
    const ids = idsOf(sent);
    requireAll(name, await prisma.workspace.count({ where: { id: { in: ids }, organizationId } }), ids);
    const data = ids.map((workspaceId) => ({ agentPoolId, workspaceId }));
    if (name === 'allowedWorkspaces') {
      await prisma.agentPoolWorkspace.deleteMany({ where: { agentPoolId } });
      await prisma.agentPoolWorkspace.createMany({ data });
    } else {
      await prisma.agentPoolExclusion.deleteMany({ where: { agentPoolId } });
      await prisma.agentPoolExclusion.createMany({ data });
    }
  }
  if (input.allowedProjects === undefined) return;
  const ids = idsOf(input.allowedProjects);
  requireAll('allowedProjects', await prisma.project.count({ where: { id: { in: ids }, organizationId } }), ids);
  await prisma.agentPoolProject.deleteMany({ where: { agentPoolId } });
  await prisma.agentPoolProject.createMany({ data: ids.map((projectId) => ({ agentPoolId, projectId })) });
}

/** Throws if a workspace would lose the pool that it chose, or a project or the organization its default pool. */
async function requireUsersAllowed(db: Database, id: string, input: PoolInput): Promise<void> {
  const row = await db.prisma.agentPool.findUniqueOrThrow({ where: { id }, include: whole });
  const { organizationScoped, workspaceIds, allowedIds, excludedIds, projectIds } = poolOf(row);
  if (workspaceIds.some((workspaceId) => excludedIds.includes(workspaceId))) {
    throw invalid('excludedWorkspaces', 'must not contain a workspace that uses the agent pool');
  }
  if (organizationScoped) return;
  const open = row.workspaces.filter(
    ({ id: one, projectId }) => allowedIds.includes(one) || projectIds.includes(projectId),
  );
  if (open.length < workspaceIds.length) {
    const listName = (['allowedWorkspaces', 'allowedProjects'] as const).find((name) => input[name] !== undefined);
    throw invalid(listName ?? 'organizationScoped', 'must include all workspaces that use the agent pool');
  }
  const closed = { agentPoolId: id, id: { notIn: [...projectIds] } };
  if ((await db.prisma.project.count({ where: closed })) > 0) {
    throw invalid('allowedProjects', 'must include all projects that have the agent pool as their default');
  }
  if ((await db.prisma.organization.count({ where: { defaultAgentPoolId: id } })) > 0) {
    throw invalid('organizationScoped', "must be true while the agent pool is the organization's default");
  }
}

function requireSameUsers({ workspaces }: PoolInput, users: readonly string[]): void {
  if (workspaces === undefined) return;
  const ids = idsOf(workspaces);
  if (ids.length !== users.length || !ids.every((id) => users.includes(id))) {
    throw invalid('workspaces', 'cannot be set here: set the agent pool in the workspace');
  }
}

const shown = ({ name, organizationScoped, allowedIds, excludedIds, projectIds }: AgentPool) => ({
  name,
  organizationScoped,
  allowedIds,
  excludedIds,
  projectIds,
});

async function changed(db: Database, actor: Actor, id: string, action: string, before?: AgentPool): Promise<AgentPool> {
  const after = still(await find(db, id));
  await recordChange(db, actor, {
    organizationId: after.organizationId,
    action,
    target: { type: 'agent-pools', id, name: after.name },
    before: before && shown(before),
    after: shown(after),
  });
  return after;
}

/** Creates a pool. Throws `invalid` for a taken name, and for unknown workspaces or projects. */
export async function create(
  db: Database,
  actor: Actor,
  organizationId: string,
  input: PoolInput & { name: string },
): Promise<AgentPool> {
  const { name, organizationScoped = true } = input;
  requireSameUsers(input, []);
  const id = newId('apool');
  return db.transaction(async (tx) => {
    await tx.prisma.agentPool.create({ data: { id, organizationId, name, organizationScoped } });
    await admit(tx, organizationId, id, input);
    return changed(tx, actor, id, 'agent-pool.create');
  });
}

/**
 * Changes the settings in a request. Throws `invalid` for a taken name, for unknown workspaces or projects, and if
 * workspaces would lose their pool.
 */
export async function update(db: Database, actor: Actor, pool: AgentPool, input: PoolInput): Promise<AgentPool> {
  const { name, organizationScoped } = input;
  requireSameUsers(input, pool.workspaceIds);
  return db.transaction(async (tx) => {
    await tx.prisma.agentPool.update({ where: { id: pool.id }, data: { name, organizationScoped } });
    await admit(tx, pool.organizationId, pool.id, input);
    await requireUsersAllowed(tx, pool.id, input);
    return changed(tx, actor, pool.id, 'agent-pool.update', pool);
  });
}

/**
 * Deletes an unused pool. Throws `invalid` while a workspace, project, Git host connection or the organization uses it.
 */
export async function remove(db: Database, actor: Actor, pool: AgentPool): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'agent_pool', pool.id);
    const where = { agentPoolId: pool.id };
    const users =
      (await tx.prisma.workspace.count({ where })) +
      (await tx.prisma.project.count({ where })) +
      (await tx.prisma.oauthClient.count({ where })) +
      (await tx.prisma.organization.count({ where: { defaultAgentPoolId: pool.id } }));
    if (users > 0) throw invalid('name', 'Agent pool is still in use');
    await tx.prisma.agentPool.deleteMany({ where: { id: pool.id } });
    await recordChange(tx, actor, {
      organizationId: pool.organizationId,
      action: 'agent-pool.delete',
      target: { type: 'agent-pools', id: pool.id, name: pool.name },
      before: shown(pool),
    });
  });
}
