import { type Query, requireFew } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import { isFixedKey } from './tag-bindings';

/** Query parameters of lists that can be filtered by key-value tags. */
export const taggedParameters = {
  'filter[tagged][i][key]': 'Key of a tag binding; i counts from 0.',
  'filter[tagged][i][value]': 'Its value.',
} as const;

const TAGGED = /^filter\[tagged\]\[(\d+)\]\[(key|value)\]$/;

/** The keys in a query's filters, with their values, if any. */
export function taggedFilters(query: Query): { key: string; value?: string }[] {
  const filters = new Map<string, { key?: string; value?: string }>();
  for (const [name, value] of query.entries) {
    const match = TAGGED.exec(name);
    if (match !== null) {
      filters.set(match[1]!, { ...filters.get(match[1]!), [match[2]!]: value });
    }
  }
  return requireFew('filter[tagged]', [...filters.values()]).flatMap(({ key, value }) =>
    key ? [{ key, value: value || undefined }] : [],
  );
}

const valued = (value: string | Prisma.Sql | undefined): Prisma.Sql =>
  value === undefined ? Prisma.sql`TRUE` : Prisma.sql`b.value = ${value}`;

/** SQL: whether the project p has the binding. */
export function projectHasBinding(key: string, value?: string): Prisma.Sql {
  return Prisma.sql`EXISTS (
    SELECT 1 FROM tag_binding b WHERE b.project_id = p.id AND b.key = ${key} AND ${valued(value)})`;
}

/**
 * SQL: whether a binding of the workspace w or of its project applies to w. The workspace's binding overrides the
 * project's binding with the same key, unless the key is reserved and may not be overridden.
 */
export function workspaceHasBinding(key: string | Prisma.Sql, value?: string | Prisma.Sql): Prisma.Sql {
  const fixed = isFixedKey(Prisma.sql`w.organization_id`, Prisma.sql`${key}`);
  const other = (place: Prisma.Sql) =>
    Prisma.sql`EXISTS (SELECT 1 FROM tag_binding other WHERE other.key = ${key} AND ${place})`;
  return Prisma.sql`EXISTS (
    SELECT 1 FROM tag_binding b WHERE b.key = ${key} AND ${valued(value)} AND (
      (b.workspace_id = w.id AND NOT (${fixed} AND ${other(Prisma.sql`other.project_id = w.project_id`)}))
      OR (b.project_id = w.project_id AND (${fixed} OR NOT ${other(Prisma.sql`other.workspace_id = w.id`)}))))`;
}
