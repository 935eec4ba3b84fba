import { flag, hasOne, instant, serializer, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { Prisma } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import { type Endpoint, endpoints, type LookupBy, type View } from '../../../kernel/endpoints/endpoint';
import * as workspaces from '../../workspaces/workspaces/service';
import { fromWorkspaces, selectWorkspaces, type Workspace, workspaceOf } from '../../workspaces/workspaces/workspace';

const workspaceAttributes = {
  name: text,
  locked: flag,
  'created-at': instant,
  'vcs-repo': z
    .object({
      identifier: text,
    })
    .nullable(),
};

const workspaceRelations = { organization: hasOne('organizations'), 'current-run': hasOne('runs') };

const workspaceSerializer = serializer<Workspace, View, typeof workspaceAttributes, typeof workspaceRelations>({
  type: 'workspaces',
  shape: workspaceAttributes,
  relations: workspaceRelations,
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

const index = list('/admin/workspaces', {
  ...admin,
  summary: 'List every workspace of the installation.',
  query: {
    q: 'Part of the name of the workspace or of its organization.',
    'filter[current_run][status]': 'Comma-separated statuses of the current run.',
  },
  sort: ['name', 'current-run.created-at'],
  include,
  async run({ db, query, page, sort }) {
    const text = `%${(query.get('q') ?? '').replace(/[\\%_]/g, '\\$&')}%`;
    const statuses = query.list('filter[current_run][status]');
    const running =
      statuses.length === 0
        ? Prisma.sql`TRUE`
        : Prisma.sql`EXISTS (SELECT 1 FROM run u WHERE u.id = w.current_run_id AND u.status = ANY(${statuses}))`;
    const where = Prisma.sql`(w.name ILIKE ${text} OR o.name ILIKE ${text}) AND ${running}`;
    const key = sort[0]?.key === 'current-run.created-at';
    const column = key
      ? Prisma.sql`(SELECT u.created_at FROM run u WHERE u.id = w.current_run_id)`
      : Prisma.sql`w.name COLLATE "C"`;
    const direction = sort[0]?.descending ? Prisma.sql`DESC NULLS LAST` : Prisma.sql`ASC`;
    const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
      ${Prisma.raw(selectWorkspaces + fromWorkspaces())} WHERE ${where}
      ORDER BY ${column} ${direction}, w.id LIMIT ${page!.size} OFFSET ${page!.offset}`;
    const [count] = await db.prisma.$queryRaw<[{ total: number }]>`
      SELECT count(*)::int AS total FROM workspace w
        JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL WHERE ${where}`;
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
  summary: 'Delete any workspace, whatever it manages.',
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
