import { invalid, type Page, type SentReference } from '@keystead/jsonapi';
import type { Prisma } from '../../generated/prisma/client';
import type { WorkspaceTarget } from '../../kernel/access';
import { type Actor, recordChange } from '../../kernel/audit';
import { type Database, still } from '../../kernel/database';
import { newId } from '../../kernel/ids';

/** An agent pool with the workspaces that use it and those that may. */
export interface AgentPool {
  readonly id: string;
  readonly organizationId: string;
  readonly organization: string;
  readonly name: string;
  readonly organizationScoped: boolean;
  readonly createdAt: Date;
  readonly revision: bigint;
  readonly workspaceIds: readonly string[];
  readonly allowedIds: readonly string[];
  /** All of these, with what the rules need to know of them. */
  readonly workspaces: readonly WorkspaceTarget[];
}

/** What a request says about a pool. */
export interface PoolInput {
  readonly name?: string;
  readonly organizationScoped?: boolean;
  readonly allowedWorkspaces?: readonly SentReference[];
}

const whole = {
  organization: { select: { name: true } },
  workspaces: { select: { id: true, projectId: true }, orderBy: { id: 'asc' } },
  allowed: {
    select: { workspaceId: true, workspace: { select: { id: true, projectId: true } } },
    orderBy: { workspaceId: 'asc' },
  },
} as const;

type Row = Prisma.AgentPoolGetPayload<{ include: typeof whole }>;

function poolOf({ organization, workspaces, allowed, ...row }: Row): AgentPool {
  return {
    ...row,
    organization: organization.name,
    workspaceIds: workspaces.map(({ id }) => id),
    allowedIds: allowed.map(({ workspaceId }) => workspaceId),
    workspaces: [...workspaces, ...allowed.map(({ workspace }) => workspace)].map((workspace) => ({
      ...workspace,
      organizationId: row.organizationId,
    })),
  };
}

/** Pools by id, in no order; unknown ones and those of removed organizations are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<AgentPool[]> {
  const where = { id: { in: [...ids] }, organization: { removedAt: null } };
  return (await db.prisma.agentPool.findMany({ where, include: whole })).map(poolOf);
}

/** The pool with an `apool-…` id. */
export async function find(db: Database, id: string): Promise<AgentPool | undefined> {
  return (await findMany(db, [id]))[0];
}

/** A page of an organization's pools. */
export async function list(
  db: Database,
  organizationId: string,
  search: { text?: string; workspace?: string },
  sort: readonly { key: string; descending: boolean }[],
  page: Page,
): Promise<{ items: AgentPool[]; total: number }> {
  const where: Prisma.AgentPoolWhereInput = { organizationId };
  if (search.text !== undefined) {
    where.name = { contains: search.text.replace(/[\\%_]/g, '\\$&'), mode: 'insensitive' };
  }
  if (search.workspace !== undefined) {
    where.OR = [{ organizationScoped: true }, { allowed: { some: { workspace: { name: search.workspace } } } }];
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

async function allow(db: Database, organizationId: string, id: string, sent: readonly SentReference[]): Promise<void> {
  const workspaceIds = [...new Set(sent.map((reference) => reference.id ?? ''))];
  const known = await db.prisma.workspace.count({ where: { id: { in: workspaceIds }, organizationId } });
  if (known < workspaceIds.length) {
    throw invalid('allowedWorkspaces', 'were not all found');
  }
  await db.prisma.agentPoolWorkspace.deleteMany({ where: { agentPoolId: id } });
  await db.prisma.agentPoolWorkspace.createMany({
    data: workspaceIds.map((workspaceId) => ({ agentPoolId: id, workspaceId })),
  });
}

/** No workspace may lose the pool it uses. */
async function requireUsersAllowed(db: Database, id: string): Promise<void> {
  const pool = await db.prisma.agentPool.findUniqueOrThrow({ where: { id }, include: whole });
  const { organizationScoped, workspaceIds, allowedIds } = poolOf(pool);
  if (!organizationScoped && workspaceIds.some((workspaceId) => !allowedIds.includes(workspaceId))) {
    throw invalid('allowedWorkspaces', 'must include every workspace that uses the pool');
  }
}

const shown = ({ name, organizationScoped, allowedIds }: AgentPool) => ({ name, organizationScoped, allowedIds });

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

/** Creates a pool. Throws `invalid` for a taken name or unknown workspaces. */
export async function create(
  db: Database,
  actor: Actor,
  organizationId: string,
  input: PoolInput & { name: string },
): Promise<AgentPool> {
  const { name, organizationScoped = true, allowedWorkspaces = [] } = input;
  const id = newId('apool');
  return db.transaction(async (tx) => {
    await tx.prisma.agentPool.create({ data: { id, organizationId, name, organizationScoped } });
    await allow(tx, organizationId, id, allowedWorkspaces);
    return changed(tx, actor, id, 'agent-pool.create');
  });
}

/** Changes what is named. Throws `invalid` for a taken name, unknown workspaces, or users shut out. */
export async function update(db: Database, actor: Actor, pool: AgentPool, input: PoolInput): Promise<AgentPool> {
  const { allowedWorkspaces, ...data } = input;
  return db.transaction(async (tx) => {
    await tx.prisma.agentPool.update({ where: { id: pool.id }, data });
    if (allowedWorkspaces !== undefined) {
      await allow(tx, pool.organizationId, pool.id, allowedWorkspaces);
    }
    await requireUsersAllowed(tx, pool.id);
    return changed(tx, actor, pool.id, 'agent-pool.update', pool);
  });
}

/** Deletes a pool nobody uses. Throws `invalid` while a workspace, a project or the organization does. */
export async function remove(db: Database, actor: Actor, pool: AgentPool): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.$queryRaw`SELECT id FROM agent_pool WHERE id = ${pool.id} FOR UPDATE`;
    const where = { agentPoolId: pool.id };
    const users =
      (await tx.prisma.workspace.count({ where })) +
      (await tx.prisma.project.count({ where })) +
      (await tx.prisma.organization.count({ where: { defaultAgentPoolId: pool.id } }));
    if (users > 0) {
      throw invalid('name', 'Agent pool is still in use');
    }
    await tx.prisma.agentPool.deleteMany({ where: { id: pool.id } });
    await recordChange(tx, actor, {
      organizationId: pool.organizationId,
      action: 'agent-pool.delete',
      target: { type: 'agent-pools', id: pool.id, name: pool.name },
      before: shown(pool),
    });
  });
}
