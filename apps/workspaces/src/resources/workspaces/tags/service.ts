import type { Page, SentReference } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { containing } from '../../../kernel/database/like';
import type { Project } from '../projects/project';
import { changeOf } from '../projects/service';
import { type Binding, bindingsOfProject, bindTags, isFixedKey } from '../projects/tag-bindings';
import { attachTags, readTags } from '../workspaces/tags';
import type { Workspace } from '../workspaces/workspace';

/** A tag, and the number of workspaces that have it. */
export interface Tag {
  readonly id: string;
  readonly organizationId: string;
  readonly organization: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly instances: number;
}

async function select(db: Database, where: Prisma.Sql, page: Page): Promise<{ items: Tag[]; total: number }> {
  const items = await db.prisma.$queryRaw<Tag[]>`
    SELECT t.id, t.organization_id AS "organizationId", o.name AS organization, t.name, t.created_at AS "createdAt",
           (SELECT count(*)::int FROM workspace_tag wt WHERE wt.tag_id = t.id) AS instances
      FROM tag t JOIN organization o ON o.id = t.organization_id AND o.removed_at IS NULL
     WHERE ${where} ORDER BY t.name COLLATE "C", t.id LIMIT ${page.size} OFFSET ${page.offset}`;
  const [count] = await db.prisma.$queryRaw<[{ total: number }]>`
    SELECT count(*)::int AS total FROM tag t WHERE ${where}`;
  return { items, total: count.total };
}

/** A page of an organization's tags on workspaces the caller sees. */
export async function listOfOrganization(
  db: Database,
  access: Access,
  organizationId: string,
  search: { text?: string; exceptOf?: string },
  page: Page,
): Promise<{ items: Tag[]; total: number }> {
  const text = containing(search.text ?? '');
  const without = search.exceptOf ?? '';
  return select(
    db,
    Prisma.sql`t.organization_id = ${organizationId} AND t.name ILIKE ${text}
      AND NOT EXISTS (SELECT 1 FROM workspace_tag x WHERE x.tag_id = t.id AND x.workspace_id = ${without})
      AND EXISTS (SELECT 1 FROM workspace_tag y JOIN workspace w ON w.id = y.workspace_id
                   WHERE y.tag_id = t.id AND ${visibleWorkspaces(access, organizationId)})`,
    page,
  );
}

/** A page of a workspace's tags. */
export async function listOfWorkspace(db: Database, workspaceId: string, page: Page) {
  const where = Prisma.sql`EXISTS (
    SELECT 1 FROM workspace_tag x WHERE x.tag_id = t.id AND x.workspace_id = ${workspaceId})`;
  return select(db, where, page);
}

/** The tag with a `tag-…` id. */
export async function find(db: Database, id: string): Promise<Tag | undefined> {
  return (await select(db, Prisma.sql`t.id = ${id}`, { number: 1, size: 1, offset: 0 })).items[0];
}

async function recordTags(db: Database, actor: Actor, workspace: Workspace, verb: string, after: object) {
  await recordChange(db, actor, {
    organizationId: workspace.organizationId,
    action: `workspace.${verb}`,
    target: { type: 'workspaces', id: workspace.id, name: workspace.name },
    after: { ...after },
  });
}

/** Adds tags to a workspace and keeps its existing tags. Throws `invalid` or `missing`. */
export async function add(db: Database, actor: Actor, workspace: Workspace, sent: readonly SentReference[]) {
  await db.transaction(async (tx) => {
    await attachTags(tx, workspace.organizationId, workspace.id, sent);
    await recordTags(tx, actor, workspace, 'add-tags', readTags(sent));
  });
}

/** Removes tags from a workspace. Names it does not have are ignored; an unknown id is `missing`. */
export async function removeFrom(db: Database, actor: Actor, workspace: Workspace, sent: readonly SentReference[]) {
  const { names, ids } = readTags(sent);
  const { organizationId } = workspace;
  await db.transaction(async (tx) => {
    if ((await tx.prisma.tag.count({ where: { organizationId, id: { in: ids } } })) < ids.length) throw notFound();
    await tx.prisma.workspaceTag.deleteMany({
      where: { workspaceId: workspace.id, tag: { organizationId, OR: [{ name: { in: names } }, { id: { in: ids } }] } },
    });
    await recordTags(tx, actor, workspace, 'remove-tags', { names, ids });
  });
}

/** Deletes tags of an organization from every workspace. An unknown id is `missing`, and nothing is deleted. */
export async function removeAll(db: Database, actor: Actor, organizationId: string, sent: readonly SentReference[]) {
  const ids = [...new Set(sent.map(({ id }) => id ?? ''))];
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.tag.deleteMany({ where: { organizationId, id: { in: ids } } });
    if (count < ids.length) throw notFound();
    await recordChange(tx, actor, {
      organizationId,
      action: 'organization.delete-tags',
      target: { type: 'tags', id: ids.join(',') },
      before: { ids },
    });
  });
}

/** Adds a tag to several workspaces. The caller must be allowed to tag each of them. */
export async function addToWorkspaces(
  db: Database,
  caller: { access: Access; actor: Actor },
  tag: Tag,
  sent: readonly SentReference[],
): Promise<void> {
  const ids = [...new Set(sent.map(({ id }) => id ?? ''))];
  const where = { id: { in: ids }, organizationId: tag.organizationId };
  const found = await db.prisma.workspace.findMany({
    where,
    select: { id: true, projectId: true, organizationId: true },
  });
  if (found.filter((workspace) => caller.access.has(workspace, 'settings:write')).length < ids.length) throw notFound();
  await db.transaction(async (tx) => {
    const data = ids.map((workspaceId) => ({ workspaceId, tagId: tag.id }));
    await tx.prisma.workspaceTag.createMany({ data, skipDuplicates: true });
    await recordChange(tx, caller.actor, {
      organizationId: tag.organizationId,
      action: 'tag.add-workspaces',
      target: { type: 'tags', id: tag.id, name: tag.name },
      after: { workspaces: ids },
    });
  });
}

/** A workspace's own bindings. */
export async function bindings(db: Database, { id: workspaceId, organizationId }: Workspace): Promise<Binding[]> {
  const rows = await db.prisma.tagBinding.findMany({
    where: { workspaceId },
    select: { id: true, key: true, value: true, createdAt: true },
    orderBy: { key: 'asc' },
  });
  return rows.map((row) => ({ ...row, organizationId, inheritedFrom: null }));
}

/**
 * The effective bindings of some workspaces and projects, by id. A workspace inherits the bindings of its project. Its
 * own bindings override inherited ones with the same key, unless the key is reserved and may not be overridden.
 */
export async function effectiveBindings(
  db: Database,
  ownerIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Binding[]>> {
  const rows = await db.prisma.$queryRaw<(Binding & { ownerId: string })[]>`
    SELECT DISTINCT ON (o.id, b.key) o.id AS "ownerId", b.id, b.key, b.value, b.created_at AS "createdAt",
           o.organization_id AS "organizationId",
           CASE WHEN b.workspace_id IS NULL AND o.workspace_id IS NOT NULL THEN b.project_id END AS "inheritedFrom"
      FROM (SELECT w.id, w.id AS workspace_id, w.project_id, w.organization_id FROM workspace w WHERE w.id = ANY(${[...ownerIds]})
             UNION ALL
            SELECT p.id, NULL, p.id, p.organization_id FROM project p WHERE p.id = ANY(${[...ownerIds]})) o
      JOIN tag_binding b ON b.workspace_id = o.workspace_id OR b.project_id = o.project_id
     ORDER BY o.id, b.key, (b.workspace_id IS NULL) = ${isFixedKey(Prisma.sql`o.organization_id`, Prisma.sql`b.key`)} DESC`;
  const found = new Map<string, Binding[]>(ownerIds.map((id) => [id, []]));
  for (const { ownerId, ...binding } of rows) found.get(ownerId)!.push(binding);
  return found;
}

/** All bindings, beginning with those in the request, in their order there. */
function sentFirst(all: Binding[], sent: readonly SentReference[]): Binding[] {
  const keys = sent.map(({ attributes }) => attributes?.key);
  const place = ({ key }: Binding): number => (keys.includes(key) ? keys.indexOf(key) : keys.length);
  return all.sort((a, b) => place(a) - place(b));
}

/**
 * Adds bindings to a workspace or changes their values, or replaces all bindings. Returns all bindings of the
 * workspace. Throws `invalid`.
 */
export async function bind(
  db: Database,
  actor: Actor,
  workspace: Workspace,
  sent: readonly SentReference[],
  how: 'add' | 'replace' = 'add',
): Promise<Binding[]> {
  return db.transaction(async (tx) => {
    await bindTags(tx, { ...workspace, workspaceId: workspace.id }, sent, how);
    await recordTags(tx, actor, workspace, 'bind-tags', { bindings: sent.map(({ attributes }) => attributes) });
    return sentFirst(await bindings(tx, workspace), sent);
  });
}

/** Adds or replaces the bindings of a project, whose workspaces inherit them. */
export async function bindProject(
  db: Database,
  actor: Actor,
  project: Project,
  sent: readonly SentReference[],
  how: 'add' | 'replace' = 'add',
): Promise<Binding[]> {
  return db.transaction(async (tx) => {
    await bindTags(tx, { ...project, projectId: project.id }, sent, how);
    const after = { bindings: sent.map(({ attributes }) => attributes) };
    await recordChange(tx, actor, { ...changeOf(project, 'bind-tags'), after });
    return sentFirst(await bindingsOfProject(tx, project), sent);
  });
}
