import { invalid } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { Prisma, type RunTrigger as Row } from '../../../generated/prisma/client';
import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import * as workspaces from '../../workspaces/workspaces/workspace';

const MOST_SOURCES = 20;

/** After an apply in one workspace (the sourceable), another workspace gets a run. */
export interface RunTrigger extends Row {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget & { readonly name: string };
  readonly sourceable: WorkspaceTarget & { readonly name: string };
}

const end = { select: { id: true, name: true, projectId: true, organizationId: true } } as const;
const ends = { workspace: end, sourceable: end } as const;

const triggerOf = (row: Omit<RunTrigger, 'organizationId'>): RunTrigger => ({
  ...row,
  organizationId: row.workspace.organizationId,
});

/** Triggers by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<RunTrigger[]> {
  const where = { id: { in: [...ids] }, workspace: { organization: { removedAt: null } } };
  return (await db.prisma.runTrigger.findMany({ where, include: ends })).map(triggerOf);
}

/** The trigger with an `rt-…` id. */
export async function find(db: Database, id: string): Promise<RunTrigger | undefined> {
  return (await findMany(db, [id]))[0];
}

/**
 * A page of the triggers that start runs of a workspace, or of the triggers of its applies; the caller must see the
 * other workspace.
 */
export async function list(
  db: Database,
  access: Access,
  { id, organizationId }: Workspace,
  direction: 'inbound' | 'outbound',
  page: { offset: number; size: number },
): Promise<{ items: RunTrigger[]; total: number }> {
  const [ownColumn, other] =
    direction === 'inbound' ? ['workspace_id', 'sourceable_id'] : ['sourceable_id', 'workspace_id'];
  const visible = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT t.id FROM run_trigger t JOIN workspace w ON w.id = t.${Prisma.raw(other!)}
     WHERE t.${Prisma.raw(ownColumn!)} = ${id} AND ${visibleWorkspaces(access, organizationId)}
     ORDER BY t.created_at, t.id`;
  const ids = visible.slice(page.offset, page.offset + page.size).map((row) => row.id);
  const rows = await db.prisma.runTrigger.findMany({
    where: { id: { in: ids } },
    include: ends,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return { items: rows.map(triggerOf), total: visible.length };
}

const changeOf = ({ id, organizationId, workspace }: RunTrigger, verb: string) => ({
  organizationId,
  action: `run-trigger.${verb}`,
  target: { type: 'run-triggers', id, name: workspace.name },
});

/**
 * Creates a trigger, by which applies of another workspace that the caller sees start runs of this workspace. Throws
 * `missing` and `invalid`.
 */
export async function create(
  db: Database,
  { access, actor }: { access: Access; actor: Actor },
  workspace: Workspace,
  sourceableId: string,
): Promise<RunTrigger> {
  const source = await workspaces.find(db, sourceableId);
  const isSeen = source?.organizationId === workspace.organizationId && access.has(source, 'runs:read');
  if (!isSeen) throw notFound();
  if (source.id === workspace.id) throw invalid('sourceable', 'must be another workspace');
  return db.transaction(async (tx) => {
    // Simultaneous requests count the triggers one after the other.
    await lockRow(tx, 'workspace', workspace.id);
    const there = await tx.prisma.runTrigger.findMany({ where: { workspaceId: workspace.id } });
    if (there.some((one) => one.sourceableId === sourceableId)) throw invalid('sourceable', 'has already been taken');
    if (there.length >= MOST_SOURCES) throw invalid('sourceable', `has too many members (maximum is ${MOST_SOURCES})`);
    const data = { id: newId('rt'), workspaceId: workspace.id, sourceableId };
    await tx.prisma.runTrigger.create({ data });
    const trigger = still(await find(tx, data.id));
    await recordChange(tx, actor, { ...changeOf(trigger, 'create'), after: { sourceable: trigger.sourceable.name } });
    return trigger;
  });
}

/** Deletes a trigger. A run that is already due is not started. */
export async function remove(db: Database, actor: Actor, trigger: RunTrigger): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.runTrigger.deleteMany({ where: { id: trigger.id } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, { ...changeOf(trigger, 'delete'), before: { sourceable: trigger.sourceable.name } });
  });
}
