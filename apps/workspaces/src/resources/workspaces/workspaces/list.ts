import { badParameter, type Cursor, cursorAt, type Page, type Query, requireFew } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import type { Database } from '../../../kernel/database/database';
import { containing, literally } from '../../../kernel/database/like';
import { taggedFilters, taggedParameters, workspaceHasBinding } from '../projects/tag-filters';
import {
  countAll,
  findGrantedPage,
  findStampPage,
  findStampsMatching,
  fromNearerEnd,
  type WorkspaceStamp,
} from './stamp';
import { finishedStatuses } from './workspace';

/** The sort keys of a list of workspaces. */
export const sortKeys = ['name', 'current-run.created-at', 'latest-change-at'] as const;

/** Query parameters of the list other than those for paging, for the documentation. */
export const listParameters = {
  'search[name]': 'Part of the name, ignoring case.',
  'search[wildcard-name]': 'Name with * at its start, its end, or both.',
  'search[tags]': 'Tags or keys of tag bindings, separated by commas. A workspace must have all of them.',
  'search[exclude-tags]':
    'Tags, separated by commas. A workspace must have none of them. search[exclude_tags] has the same effect.',
  'search[exclude_tags]': 'The same as search[exclude-tags], in the spelling of older clients.',
  'filter[project][id]': 'Id of a project.',
  'filter[current-run][status]': 'Comma-separated statuses of the current run.',
  ...taggedParameters,
} as const;

function wildcard(pattern: string): Prisma.Sql {
  const starts = pattern.startsWith('*');
  const ends = pattern.endsWith('*') && pattern.length > 1;
  const core = literally(pattern.slice(starts ? 1 : 0, ends ? -1 : undefined));
  return Prisma.sql`w.name ILIKE ${`${starts ? '%' : ''}${core}${ends ? '%' : ''}`}`;
}

const hasTag = (name: string): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT 1 FROM workspace_tag wt JOIN tag t ON t.id = wt.tag_id WHERE wt.workspace_id = w.id AND t.name = ${name})`;

/** The conditions of a query on rows named `w`, apart from the condition that the caller may see them. */
function conditions(query: Query): Prisma.Sql[] {
  const found: Prisma.Sql[] = [];
  const name = query.get('search[name]');
  if (name !== undefined) {
    found.push(Prisma.sql`w.name ILIKE ${containing(name)}`);
  }
  const pattern = query.get('search[wildcard-name]');
  if (pattern !== undefined) {
    found.push(wildcard(pattern));
  }
  for (const tag of requireFew('search[tags]', query.list('search[tags]'))) {
    found.push(Prisma.sql`(${hasTag(tag)} OR ${workspaceHasBinding(tag)})`);
  }
  const excluded = [...query.list('search[exclude-tags]'), ...query.list('search[exclude_tags]')];
  for (const tag of requireFew('search[exclude-tags]', excluded)) {
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
    found.push(currentRunIn(statuses));
  }
  return found;
}

/** An indexed column. Workspaces without a value come last in either direction. */
interface SortColumn {
  readonly column: Prisma.Sql;
  readonly nullable?: true;
  /** The column's value as the key of a cursor; empty if there is no value. */
  readonly key: Prisma.Sql;
  /** The value in a key; undefined if it is not valid. */
  parse(key: string): Prisma.Sql | undefined;
}

/** A time; its key in a cursor is in microseconds since 1970. */
const timeColumn = (column: Prisma.Sql): SortColumn => ({
  column,
  key: Prisma.sql`coalesce((extract(epoch FROM ${column}) * 1000000)::bigint::text, '')`,
  parse: (key) =>
    /^\d{1,16}$/.test(key) ? Prisma.sql`(timestamptz 'epoch' + ${key}::bigint * interval '1 microsecond')` : undefined,
});

const columns: Record<(typeof sortKeys)[number], SortColumn> = {
  name: { column: Prisma.sql`w.name COLLATE "C"`, key: Prisma.sql`w.name`, parse: (key) => Prisma.sql`${key}` },
  'latest-change-at': timeColumn(Prisma.sql`w.latest_change_at`),
  'current-run.created-at': { ...timeColumn(Prisma.sql`w.current_run_created_at`), nullable: true },
};

type Sort = readonly { key: string; descending: boolean }[];

/** The order of workspaces named `w`, with their ids as the last sort key; or the reverse order. */
function ordering(sort: Sort, backwards: boolean): Prisma.Sql {
  const keys = sort.length === 0 ? [{ key: 'name', descending: false }] : sort;
  if (keys.length > 3) throw badParameter('sort', 'Invalid sort parameter: too many keys');
  const parts = keys.map(({ key, descending }) => {
    const { column, nullable } = columns[key as (typeof sortKeys)[number]];
    const nulls = nullable ? (backwards ? ' NULLS FIRST' : ' NULLS LAST') : '';
    return Prisma.sql`${column} ${Prisma.raw((descending === backwards ? 'ASC' : 'DESC') + nulls)}`;
  });
  return Prisma.sql`${Prisma.join(parts, ', ')}, w.id ${Prisma.raw(backwards ? 'DESC' : 'ASC')}`;
}

/**
 * The ids on a page of workspaces named `w`, as rows `chosen`. An index returns them in order, and the other data is
 * looked up only for them. A page in the second half of `total`, if known, is read from the end of the index.
 */
export function pageOf(where: Prisma.Sql, sort: Sort, page: Page, total?: number): Prisma.Sql {
  const { backwards, take, skip } = fromNearerEnd(page, total);
  return Prisma.sql`
  (SELECT found.id, found.place * ${backwards ? -1 : 1}::int AS place FROM unnest(ARRAY(
     SELECT w.id FROM workspace w WHERE ${where} ORDER BY ${ordering(sort, backwards)} LIMIT ${take} OFFSET ${skip}))
     WITH ORDINALITY AS found(id, place)) AS chosen`;
}

/** Workspaces whose current run has one of the statuses. Few runs have not ended, and they have an index. */
export function currentRunIn(statuses: readonly string[]): Prisma.Sql {
  const found = Prisma.sql`u.id = w.current_run_id AND u.status = ANY(${[...statuses]})`;
  if (finishedStatuses.some((status) => statuses.includes(status)))
    return Prisma.sql`EXISTS (SELECT 1 FROM run u WHERE ${found})`;
  return Prisma.sql`w.id = ANY(ARRAY(SELECT u.workspace_id FROM run u WHERE u.finished_at IS NULL AND u.status = ANY(${[...statuses]})))
    AND EXISTS (SELECT 1 FROM run u WHERE ${found})`;
}

/** A page of an organization's workspaces that the caller sees, as stamps. Spec: Workspaces */
export async function list(
  db: Database,
  access: Access,
  { id: organizationId, epoch }: { readonly id: string; readonly epoch?: string },
  query: Query,
  sort: Sort,
  page: Page,
): Promise<{ items: WorkspaceStamp[]; total?: number; more?: boolean }> {
  const visible = visibleWorkspaces(access, organizationId);
  const filters = conditions(query);
  if (page.after !== undefined) {
    if (sort.length > 1) throw badParameter('sort', 'sort takes one key when combined with page[after]');
    return listBehind(db, organizationId, [visible, ...filters], sort, page.after, page.size);
  }
  if (filters.length === 0 && sort.length === 0 && visible.sql === 'TRUE') {
    return findStampPage(db, organizationId, page);
  }
  const isWhole = filters.length === 0 && sort.length === 0;
  if (isWhole && visible.sql !== 'FALSE' && epoch !== undefined) {
    return findGrantedPage(db, { id: organizationId, epoch }, access.teamIds(organizationId), page);
  }
  const onlyName = filters.length === 1 ? query.get('search[name]') : undefined;
  if (onlyName !== undefined && sort.length === 0 && visible.sql === 'TRUE') {
    return findStampsMatching(db, organizationId, containing(onlyName), page);
  }
  const where = Prisma.join([Prisma.sql`w.organization_id = ${organizationId}`, visible, ...filters], ' AND ');
  const isAll = filters.length === 0 && visible.sql === 'TRUE';
  const all = isAll ? await countAll(db, organizationId) : undefined;
  const rows = await db.prisma.$queryRaw<(WorkspaceStamp & { total: number })[]>`
    SELECT w.id, w.name, w.project_id AS "projectId", o.id AS "organizationId", w.revision,
           o.revision AS "organizationRevision", p.revision AS "projectRevision"
      FROM ${pageOf(where, sort, page, all)} JOIN workspace w ON w.id = chosen.id JOIN project p ON p.id = w.project_id
      JOIN organization o ON o.id = ${organizationId}
     ORDER BY chosen.place`;
  return { items: rows, total: all ?? (await countWhere(db, where, rows.length, page)) };
}

/** The workspaces after a position in their order, read from the index at that position. */
async function listBehind(
  db: Database,
  organizationId: string,
  conditions: readonly Prisma.Sql[],
  sort: Sort,
  after: string,
  size: number,
): Promise<{ items: WorkspaceStamp[]; more: boolean }> {
  const where = Prisma.join([Prisma.sql`w.organization_id = ${organizationId}`, ...conditions], ' AND ');
  const sorted = columns[(sort[0]?.key ?? 'name') as (typeof sortKeys)[number]];
  const place = await cursorAt(after, async (id) => {
    const [found] = await db.prisma.$queryRaw<{ key: string }[]>`
      SELECT ${sorted.key} AS key FROM workspace w WHERE w.id = ${id} AND ${where}`;
    return found?.key;
  });
  const order = ordering(sort, false);
  // Each part is a separate range of the index.
  const parts = behind(sorted, sort[0]?.descending ?? false, place).map(
    (part) => Prisma.sql`(SELECT w.* FROM workspace w WHERE ${where} AND ${part} ORDER BY ${order} LIMIT ${size + 1})`,
  );
  const rows = await db.prisma.$queryRaw<WorkspaceStamp[]>`
    SELECT w.id, w.name, w.project_id AS "projectId", o.id AS "organizationId", w.revision,
           o.revision AS "organizationRevision", p.revision AS "projectRevision", ${sorted.key} AS "cursorKey"
      FROM (${Prisma.join(parts, ' UNION ALL ')}) w
      JOIN project p ON p.id = w.project_id JOIN organization o ON o.id = ${organizationId}
     ORDER BY ${order} LIMIT ${size + 1}`;
  return { items: rows.slice(0, size), more: rows.length > size };
}

/** The conditions for workspaces after a position. For each of these workspaces, exactly one condition is true. */
function behind({ column, nullable, parse }: SortColumn, descending: boolean, place: Cursor | undefined): Prisma.Sql[] {
  const withoutValue = nullable ? [Prisma.sql`${column} IS NULL`] : [];
  if (place === undefined) return [nullable ? Prisma.sql`${column} IS NOT NULL` : Prisma.sql`TRUE`, ...withoutValue];
  if (nullable && place.key === '') return [Prisma.sql`${column} IS NULL AND w.id > ${place.id}`];
  const value = parse(place.key);
  if (value === undefined) throw badParameter('page[after]', 'page[after] names no item of this list');
  const beyond = Prisma.raw(descending ? '<' : '>');
  return [
    Prisma.sql`${column} ${beyond}= ${value} AND (${column} ${beyond} ${value} OR w.id > ${place.id})`,
    ...withoutValue,
  ];
}

/** The total number of workspaces. It need not be counted if the first page is not full. */
async function countWhere(db: Database, where: Prisma.Sql, found: number, page: Page): Promise<number> {
  if (found < page.size && (found > 0 || page.offset === 0)) return page.offset + found;
  const [count] = await db.prisma.$queryRaw<[{ total: number }]>`
    SELECT count(*)::int AS total FROM workspace w WHERE ${where}`;
  return count.total;
}
