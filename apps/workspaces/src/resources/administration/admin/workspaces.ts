import { flag, hasOne, instant, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { Prisma } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { containing } from '../../../kernel/database/like';
import { type Endpoint, endpoints, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';
import { currentRunIn, pageOf } from '../../workspaces/workspaces/list';
import * as workspaces from '../../workspaces/workspaces/workspace';
import { fromWorkspaces, selectWorkspaces, type Workspace, workspaceOf } from '../../workspaces/workspaces/workspace';

const workspaceSerializer = serializerOf<Workspace>()({
  type: 'workspaces',
  shape: {
    name: text,
    locked: flag,
    'created-at': instant,
    'vcs-repo': z
      .object({
        identifier: text,
      })
      .nullable(),
  },
  relations: { organization: hasOne('organizations'), 'current-run': hasOne('runs') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/admin/workspaces/${id}`,
  attributes: (workspace) => ({
    name: workspace.name,
    locked: workspace.lockedAt !== null,
    'created-at': workspace.createdAt,
    'vcs-repo': workspace.vcsIdentifier === null ? null : { identifier: workspace.vcsIdentifier },
  }),
  relationships: ({ organization, currentRunId }) => ({
    organization: toOne('organizations', organization),
    'current-run': toOne('runs', currentRunId),
  }),
});

const { get, list, remove } = endpoints({} as Policy<undefined>, workspaceSerializer, { organizationsOf: () => [] });
const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const path = '/admin/workspaces/:workspace_id';
const include = ['organization', 'organization.owners', 'current_run'];
const load = ({ db, params }: LookupBy<'workspace_id'>) => workspaces.find(db, params.workspace_id);

/**
 * Workspaces of organizations that are not removed; with a string, only workspaces whose name or organization contains
 * it. The organizations are looked up first, so that the database knows how few they are and which index to use for
 * their workspaces.
 */
async function filtersOf(db: Database, text: string | undefined): Promise<Prisma.Sql[]> {
  const pattern = text ? containing(text) : '';
  const organizations = await db.prisma.$queryRaw<{ id: string; removed: boolean }[]>`
    SELECT id, removed_at IS NOT NULL AS removed FROM organization WHERE removed_at IS NOT NULL OR name ILIKE ${pattern}`;
  const removed = organizations.filter((one) => one.removed).map(({ id }) => id);
  const named = organizations.filter((one) => !one.removed).map(({ id }) => id);
  const found: Prisma.Sql[] = [];
  if (removed.length > 0) found.push(Prisma.sql`w.organization_id <> ALL(${removed})`);
  if (pattern !== '') {
    const byName = Prisma.sql`w.name ILIKE ${pattern}`;
    found.push(named.length === 0 ? byName : Prisma.sql`(${byName} OR w.organization_id = ANY(${named}))`);
  }
  return found;
}

const index = list('/admin/workspaces', {
  ...admin,
  summary: 'List every workspace of the installation.',
  query: {
    q: 'Part of the name of the workspace or its organization.',
    'filter[current_run][status]': 'Comma-separated statuses of the current run.',
  },
  sort: ['name', 'current-run.created-at'],
  include,
  async run({ db, query, page, sort }) {
    const statuses = query.list('filter[current_run][status]');
    const filters = await filtersOf(db, query.get('q'));
    if (statuses.length > 0) filters.push(currentRunIn(statuses));
    const where = filters.length === 0 ? Prisma.sql`TRUE` : Prisma.join(filters, ' AND ');
    const isAll = !query.get('q') && statuses.length === 0;
    const [count] = await db.prisma.$queryRaw<[{ total: number }]>(
      isAll
        ? Prisma.sql`SELECT coalesce(sum(t.workspaces), 0)::int AS total FROM organization_tally t
            JOIN organization o ON o.id = t.organization_id AND o.removed_at IS NULL`
        : Prisma.sql`SELECT count(*)::int AS total FROM workspace w WHERE ${where}`,
    );
    const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
      ${Prisma.raw(selectWorkspaces + fromWorkspaces())}
      JOIN ${pageOf(where, sort, page!, count.total)} ON chosen.id = w.id ORDER BY chosen.place`;
    return { items: rows.map(workspaceOf), total: count.total };
  },
});

const show = get(path, {
  ...admin,
  summary: 'Show any workspace.',
  include,
  load,
  run: async ({ target }) => target,
});

const destroy = remove(path, {
  ...admin,
  summary: 'Delete any workspace, even if it manages resources.',
  stepUp: true,
  load,
  async run({ db, target, ...call }) {
    await db.transaction(async (tx) => {
      await tx.prisma.workspace.deleteMany({ where: { id: target.id } });
      await recordChange(tx, actorOf(call), {
        organizationId: target.organizationId,
        action: 'workspace.delete',
        target: { type: 'workspaces', id: target.id, name: target.name },
        before: { name: target.name, resourceCount: target.resourceCount },
      });
    });
  },
});

/** Site administration of workspaces. */
export const workspaceEndpoints: readonly Endpoint[] = [index, show, destroy];
