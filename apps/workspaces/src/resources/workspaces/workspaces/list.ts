import { badParameter, type Page, type Query } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import type { Database } from '../../../kernel/database/database';
import { taggedFilters, taggedParameters, workspaceHasBinding } from '../projects/tagged';
import { findGrantedPage, findStampPage, findStampsMatching, type WorkspaceStamp } from './stamp';

/** What a list of workspaces can be sorted by. */
export const sortKeys = ['name', 'current-run.created-at', 'latest-change-at'] as const;

/** Query parameters of the list besides paging, for the documentation. */
export const listParameters = {
  'search[name]': 'Part of the name, whatever its case.',
  'search[wildcard-name]': 'Name with * at its start, its end, or both.',
  'search[tags]': 'Comma-separated tags or keys of tag bindings; all must be there.',
  'search[exclude-tags]': 'Comma-separated tags; none may be there.',
  'search[exclude_tags]': 'The same, as older clients spell it.',
  'filter[project][id]': 'Id of a project.',
  'filter[current-run][status]': 'Comma-separated statuses of the current run.',
  ...taggedParameters,
} as const;

const escaped = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

function wildcard(pattern: string): Prisma.Sql {
  const starts = pattern.startsWith('*');
  const ends = pattern.endsWith('*') && pattern.length > 1;
  const core = escaped(pattern.slice(starts ? 1 : 0, ends ? -1 : undefined));
  return Prisma.sql`w.name ILIKE ${`${starts ? '%' : ''}${core}${ends ? '%' : ''}`}`;
}

const hasTag = (name: string): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT 1 FROM workspace_tag wt JOIN tag t ON t.id = wt.tag_id WHERE wt.workspace_id = w.id AND t.name = ${name})`;

/** The conditions a query puts on rows named `w`, besides what the caller may see. */
function conditions(query: Query): Prisma.Sql[] {
  const found: Prisma.Sql[] = [];
  const name = query.get('search[name]');
  if (name !== undefined) {
    found.push(Prisma.sql`w.name ILIKE ${`%${escaped(name)}%`}`);
  }
  const pattern = query.get('search[wildcard-name]');
  if (pattern !== undefined) {
    found.push(wildcard(pattern));
  }
  for (const tag of query.list('search[tags]')) {
    found.push(Prisma.sql`(${hasTag(tag)} OR ${workspaceHasBinding(tag)})`);
  }
  for (const tag of [...query.list('search[exclude-tags]'), ...query.list('search[exclude_tags]')]) {
    found.push(Prisma.sql`NOT ${hasTag(tag)}`);
  }
  for (const { key, value } of taggedFilters(query)) {
    found.push(workspaceHasBinding(key, value));
  }
  const project = query.get('filter[project][id]');
  if (project !== undefined) {
    found.push(Prisma.sql`w.project_id = ${project}`);
  }
  const statuses = query.list('filter[current-run][status]');
  if (statuses.length > 0) {
    found.push(Prisma.sql`EXISTS (SELECT 1 FROM run u WHERE u.id = w.current_run_id AND u.status = ANY(${statuses}))`);
  }
  return found;
}

const order: Record<(typeof sortKeys)[number], Prisma.Sql> = {
  name: Prisma.sql`w.name COLLATE "C"`,
  'latest-change-at': Prisma.sql`w.latest_change_at`,
  'current-run.created-at': Prisma.sql`(SELECT u.created_at FROM run u WHERE u.id = w.current_run_id)`,
};

function ordering(sort: readonly { key: string; descending: boolean }[]): Prisma.Sql {
  const keys = sort.length === 0 ? [{ key: 'name', descending: false }] : sort;
  if (keys.length > 3) {
    throw badParameter('sort', 'Invalid sort parameter: too many keys');
  }
  const parts = keys.map(({ key, descending }) => {
    const direction = descending ? Prisma.sql`DESC NULLS LAST` : Prisma.sql`ASC`;
    return Prisma.sql`${order[key as (typeof sortKeys)[number]]} ${direction}`;
  });
  return Prisma.sql`${Prisma.join(parts, ', ')}, w.id`;
}

/** A page of an organization's workspaces that the caller sees, as stamps. Spec: Workspaces */
export async function list(
  db: Database,
  access: Access,
  { id: organizationId, epoch }: { readonly id: string; readonly epoch?: string },
  query: Query,
  sort: readonly { key: string; descending: boolean }[],
  page: Page,
): Promise<{ items: WorkspaceStamp[]; total: number }> {
  const visible = visibleWorkspaces(access, organizationId);
  const filters = conditions(query);
  if (filters.length === 0 && sort.length === 0 && visible.sql === 'TRUE') {
    return findStampPage(db, organizationId, page);
  }
  const isWhole = filters.length === 0 && sort.length === 0;
  if (isWhole && visible.sql !== 'FALSE' && epoch !== undefined) {
    return findGrantedPage(db, { id: organizationId, epoch }, access.teamIds(organizationId), page);
  }
  const onlyName = filters.length === 1 ? query.get('search[name]') : undefined;
  if (onlyName !== undefined && sort.length === 0 && visible.sql === 'TRUE') {
    return findStampsMatching(db, organizationId, `%${escaped(onlyName)}%`, page);
  }
  const where = Prisma.join([Prisma.sql`w.organization_id = ${organizationId}`, visible, ...filters], ' AND ');
  const rows = await db.prisma.$queryRaw<(WorkspaceStamp & { total: number })[]>`
    WITH chosen AS (
      SELECT w.id, w.name, w.project_id, w.revision, row_number() OVER (ORDER BY ${ordering(sort)}) AS place
        FROM workspace w WHERE ${where} ORDER BY ${ordering(sort)} LIMIT ${page.size} OFFSET ${page.offset})
    SELECT c.id, c.name, c.project_id AS "projectId", o.id AS "organizationId", c.revision,
           o.revision AS "organizationRevision", p.revision AS "projectRevision"
      FROM chosen c JOIN project p ON p.id = c.project_id JOIN organization o ON o.id = ${organizationId}
     ORDER BY c.place`;
  return { items: rows, total: await countWhere(db, where, rows.length, page) };
}

/** The total; known without counting when the first page is not full. */
async function countWhere(db: Database, where: Prisma.Sql, found: number, page: Page): Promise<number> {
  if (found < page.size && (found > 0 || page.offset === 0)) {
    return page.offset + found;
  }
  const [count] = await db.prisma.$queryRaw<[{ total: number }]>`
    SELECT count(*)::int AS total FROM workspace w WHERE ${where}`;
  return count.total;
}
