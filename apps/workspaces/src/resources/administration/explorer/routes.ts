import { createHash } from 'node:crypto';
import { flag, instant, text, whole } from '@keystead/jsonapi';
import { endpoints, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { runStatuses } from '../../runs/runs/statuses';
import { type ExplorerRow, explore, explorerParameters, explorerSort, viewOf } from './query';
import { allFields, type FieldKind } from './views';

const shapes = { text, number: whole, flag, moment: instant } satisfies Record<FieldKind, unknown>;
const shapeOf = (field: string, kind: FieldKind) => {
  const shape = shapes[kind].nullable();
  return (field === 'current_run_status' ? shape.meta({ enum: [...runStatuses, null] }) : shape).optional();
};
const wireName = (field: string) => field.replaceAll('_', '-');

/** A row of the requested view, with its fields. */
const rowSerializer = serializerOf<ExplorerRow>()({
  type: ({ type }: ExplorerRow) => type,
  shape: Object.fromEntries(Object.entries(allFields).map(([name, kind]) => [wireName(name), shapeOf(name, kind)])),
  id: ({ type, key }) =>
    type === 'visibility-workspace'
      ? key
      : `ex-${createHash('sha256').update(`${type} ${key}`).digest('hex').slice(0, 16)}`,
  attributes: ({ values }) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [wireName(name), value])),
});

const { list, raw } = endpoints(organizationPolicy, rowSerializer, { visible: organizationPolicy['can-traverse'] });
const path = '/organizations/:organization_name/explorer';

const index = list(path, {
  summary: 'Query workspaces, providers, modules and tool versions in the workspaces that the caller can read.',
  query: explorerParameters,
  sort: explorerSort,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, query, sort, page }) => explore(db, access, target.id, query, sort, page!),
});

/** The maximum number of rows in a file. */
const mostRows = 100_000;

const exported = raw('GET')(`${path}/export/csv`, {
  summary: 'Download all rows of a query as CSV.',
  query: explorerParameters,
  sort: explorerSort,
  answers: {
    200: { description: 'The rows, after a line of field names.', type: 'text/csv', schema: { type: 'string' } },
  },
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: async ({ db, access, target, query, sort }) => {
    const { shown } = viewOf(query);
    const { items } = await explore(db, access, target.id, query, sort, { size: mostRows, offset: 0 });
    const lines = [shown, ...items.map(({ values }) => shown.map((name) => values[name]))];
    return {
      status: 200,
      headers: {
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Disposition': `attachment; filename="explorer-${query.get('type')}.csv"`,
      },
      body: lines.map((line) => `${line.map(cell).join(',')}\r\n`).join(''),
    };
  },
});

/** A value in CSV; a spreadsheet must not read a string as a formula. */
function cell(value: unknown): string {
  const text = value === null || value === undefined ? '' : value instanceof Date ? value.toISOString() : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Queries across the workspaces of an organization. */
export const explorerResource: Resource = { name: 'explorer', endpoints: [index, exported] };
