import { badParameter, instantIn, type Page, type Query, requireFew } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import type { Database } from '../../../kernel/database/database';
import { containing } from '../../../kernel/database/like';
import { allFields, type ExplorerView, type ExplorerViewName, type FieldKind, views } from './views';

/** Query parameters other than those for paging. */
export const explorerParameters = {
  type: `The kind of rows: ${Object.keys(views).join(', ')}.`,
  'filter[i][field][operator][i]':
    'A condition, such as filter[0][workspace_name][contains][0]=web: the number of the condition, a field of the view, an operator, and 0. A row must meet all conditions. Operators for strings: is, is_not, contains, does_not_contain; for numbers: is, is_not, gt, lt, gteq, lteq; for times: is, is_not, is_before, is_after; for booleans: is, is_not; for all: is_empty, is_not_empty.',
  ...Object.fromEntries(
    Object.keys(views).map((view) => [`fields[${view}]`, 'The fields to show, separated by commas. Default: all.']),
  ),
};

/** The fields that a request sorts by, as its view declares them. */
export const explorerSort = Object.keys(allFields);

/** A row of a view: its type, and its fields by name. */
export interface ExplorerRow {
  readonly type: string;
  readonly key: string;
  readonly values: Readonly<Record<string, FieldValue>>;
}

/** The value of a field. */
type FieldValue = string | number | boolean | Date | null;
type FieldValues = Readonly<Record<string, FieldValue>>;

type ExplorerSort = readonly { readonly key: string; readonly descending: boolean }[];

/** The view that a request names. Throws for any other name. */
export function viewOf(query: Query): { view: ExplorerView; shown: readonly string[] } {
  const name = query.get('type');
  if (name === undefined || !Object.hasOwn(views, name)) {
    throw badParameter('type', `type is one of ${Object.keys(views).join(', ')}`);
  }
  const view: ExplorerView = views[name as ExplorerViewName];
  const fields = query.list(`fields[${name}]`).map((field) => field.replaceAll('-', '_'));
  for (const field of fields) requireField(view, field, `fields[${name}]`);
  return { view, shown: fields.length === 0 ? Object.keys(view.fields) : fields };
}

/** A page of a view over the workspaces that the caller sees, and the total number of rows. */
export async function explore(
  db: Database,
  access: Access,
  organizationId: string,
  query: Query,
  sort: ExplorerSort,
  page: Pick<Page, 'size' | 'offset'>,
): Promise<{ items: ExplorerRow[]; total: number }> {
  const { view, shown } = viewOf(query);
  const visible = Prisma.sql`w.organization_id = ${organizationId} AND ${visibleWorkspaces(access, organizationId)}`;
  const from = Prisma.sql`(${view.rows(visible)}) x
    WHERE ${Prisma.join([Prisma.sql`TRUE`, ...conditions(view, query)], ' AND ')}`;
  const columns = Prisma.join([...new Set([...shown, ...view.key])].map(column));
  const chosen = Prisma.sql`FROM ${from} ORDER BY ${ordering(view, sort)} LIMIT ${page.size} OFFSET ${page.offset}`;
  const keyOf = (row: FieldValues) => view.key.map((name) => String(row[name])).join(' ');
  let rows: FieldValues[];
  if (view.among === undefined) {
    rows = await db.prisma.$queryRaw`SELECT ${columns} ${chosen}`;
  } else {
    const keys = (await db.prisma.$queryRaw<FieldValues[]>`SELECT ${Prisma.join(view.key.map(column))} ${chosen}`).map(
      keyOf,
    );
    const found = await db.prisma.$queryRaw<FieldValues[]>`SELECT ${columns} FROM (${view.rows(view.among(keys))}) x`;
    const byKey = new Map(found.map((row) => [keyOf(row), row]));
    rows = keys.map((key) => byKey.get(key)).filter((row) => row !== undefined);
  }
  const items = rows.map((row) => ({
    type: view.type,
    key: keyOf(row),
    values: Object.fromEntries(shown.map((name) => [name, row[name] ?? null])),
  }));
  const isAll = rows.length < page.size && (rows.length > 0 || page.offset === 0);
  if (isAll) return { items, total: page.offset + rows.length };
  const [{ total }] = await db.prisma.$queryRaw<[{ total: number }]>`SELECT count(*)::int AS total FROM ${from}`;
  return { items, total };
}

/** A column of a view; its name is one that a view declares. */
const column = (name: string): Prisma.Sql => Prisma.raw(`x.${name}`);

function requireField(view: ExplorerView, field: string, parameter: string): FieldKind {
  const kind = Object.hasOwn(view.fields, field) ? view.fields[field] : undefined;
  if (kind === undefined) throw badParameter(parameter, `${field} is not a field of this view`);
  return kind;
}

function ordering(view: ExplorerView, sort: ExplorerSort): Prisma.Sql {
  if (sort.length > 1) throw badParameter('sort', 'sort takes one field');
  const collated = (name: string) =>
    view.fields[name] === 'text' ? Prisma.sql`${column(name)} COLLATE "C"` : column(name);
  const first = sort.map(({ key, descending }) => {
    requireField(view, key, 'sort');
    return Prisma.sql`${collated(key)} ${Prisma.raw(descending ? 'DESC NULLS LAST' : 'ASC NULLS LAST')}`;
  });
  const usual = 'workspace_name' in view.fields ? ['workspace_name'] : [];
  return Prisma.join([...first, ...[...usual, ...view.key].map(collated)]);
}

const FILTER = /^filter\[\d+\]\[([a-z_-]+)\]\[([a-z_]+)\]\[\d+\]$/;

function conditions(view: ExplorerView, query: Query): Prisma.Sql[] {
  const found = [...query.entries].flatMap(([parameter, value]) => {
    const [, name, operator] = FILTER.exec(parameter) ?? [];
    // Parameters that have words in place of the numbers are not filters.
    if (name === undefined || operator === undefined || parameter in explorerParameters) return [];
    const field = name.replaceAll('-', '_');
    const kind = requireField(view, field, parameter);
    const compare = comparisons[kind].get(operator) ?? emptiness.get(operator);
    if (compare === undefined) throw badParameter(parameter, `${operator} is not an operator of ${field}`);
    return [compare(column(field), value.trim(), parameter)];
  });
  return requireFew('filter', found);
}

type Comparison = (column: Prisma.Sql, value: string, parameter: string) => Prisma.Sql;

const byName = (all: Readonly<Record<string, Comparison>>): ReadonlyMap<string, Comparison> =>
  new Map(Object.entries(all));

const emptiness = byName({
  is_empty: (column) => Prisma.sql`coalesce(${column}::text, '') = ''`,
  is_not_empty: (column) => Prisma.sql`coalesce(${column}::text, '') <> ''`,
});

/** A comparison with a value that is parsed first. */
const compared =
  <T>(operator: string, read: (value: string) => T | undefined, expected: string): Comparison =>
  (column, value, parameter) => {
    const parsed = read(value);
    if (parsed === undefined) throw badParameter(parameter, `${parameter} must be ${expected}`);
    return Prisma.sql`${column} ${Prisma.raw(operator)} ${parsed}`;
  };
const number = (operator: string) =>
  compared(operator, (value) => (/^-?\d{1,9}$/.test(value) ? Number(value) : undefined), 'a whole number');
const moment = (operator: string) => compared(operator, instantIn, 'a time in the format of ISO 8601');
const flag = (operator: string) =>
  compared(operator, (value) => (/^(true|false)$/.test(value) ? value === 'true' : undefined), 'true or false');

const comparisons: Readonly<Record<FieldKind, ReadonlyMap<string, Comparison>>> = {
  text: byName({
    is: (column, value) => Prisma.sql`${column} = ${value}`,
    is_not: (column, value) => Prisma.sql`${column} IS DISTINCT FROM ${value}`,
    contains: (column, value) => Prisma.sql`${column} ILIKE ${containing(value)}`,
    does_not_contain: (column, value) => Prisma.sql`coalesce(${column}, '') NOT ILIKE ${containing(value)}`,
  }),
  number: byName({
    is: number('='),
    is_not: number('<>'),
    gt: number('>'),
    lt: number('<'),
    gteq: number('>='),
    lteq: number('<='),
  }),
  moment: byName({
    is: moment('='),
    is_not: moment('IS DISTINCT FROM'),
    is_before: moment('<'),
    is_after: moment('>'),
  }),
  flag: byName({ is: flag('='), is_not: flag('<>') }),
};
