import { document, hasOne, instant, invalid, type Page, text, toOne } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import type { ChangeRequest as Row } from '../../generated/prisma/client';
import type { Access, WorkspaceTarget } from '../../kernel/access/access';
import { policy } from '../../kernel/access/policy';
import { type Actor, actorOf, recordChange } from '../../kernel/audit/audit';
import type { Database } from '../../kernel/database/database';
import { newId } from '../../kernel/database/ids';
import { lockRow } from '../../kernel/database/lock-row';
import {
  both,
  type Call,
  endpoints,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../kernel/endpoints/endpoint';
import type { Organization } from '../organizations/organizations/organization';
import { organizationPolicy } from '../organizations/organizations/policy';
import * as organizations from '../organizations/organizations/service';
import { workspacePolicy } from '../workspaces/workspaces/policy';
import * as workspaces from '../workspaces/workspaces/workspace';
import { tellTeamsOf } from './runs/note-notifications';
import { accountOf } from './runs/serializer';

/** Change requests: changes that the users of a workspace are asked to make. */
interface ChangeRequest extends Row {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget & { readonly name: string };
}

/** The maximum number of open requests of a workspace. */
const mostOpen = 100;
/** The maximum number of workspaces in one call. */
const mostTargets = 100;

const requestSerializer = serializerOf<ChangeRequest>()({
  type: 'workspace_change_requests',
  shape: {
    subject: text,
    message: text,
    'archived-by': text.nullable(),
    'archived-at': instant.nullable(),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { workspace: hasOne('workspaces'), 'created-by': hasOne('users') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/workspaces/change-requests/${id}`,
  attributes: (one) => ({
    subject: one.subject,
    message: one.message,
    'archived-by': one.archivedById,
    'archived-at': one.archivedAt,
    'created-at': one.createdAt,
    'updated-at': one.updatedAt,
  }),
  relationships: ({ workspaceId, createdByType, createdById }) => ({
    workspace: toOne('workspaces', workspaceId),
    'created-by': accountOf(createdByType, createdById),
  }),
});

async function read(db: Database, where: { id: string } | { workspaceId: string }, page?: Page) {
  const rows = await db.prisma.changeRequest.findMany({
    where: { ...where, workspace: { organization: { removedAt: null } } },
    include: { workspace: { select: { id: true, name: true, projectId: true, organizationId: true } } },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return rows.map((row): ChangeRequest => ({ ...row, organizationId: row.workspace.organizationId }));
}

const requestPolicy = policy<ChangeRequest>()({
  'can-archive': (access, { workspace }) => workspacePolicy['can-update'](access, workspace),
});
const ofWorkspace = endpoints(workspacePolicy, requestSerializer, { visible: workspacePolicy['can-read-settings'] });
const ofRequest = endpoints(requestPolicy, requestSerializer, {
  visible: (access, { workspace }) => workspacePolicy['can-read-settings'](access, workspace),
});
const load = async ({ db, params }: LookupBy<'change_request_id'>) =>
  (await read(db, { id: params.change_request_id }))[0];

const list = ofWorkspace.list('/workspaces/:workspace_id/change-requests', {
  summary: 'List the change requests of a workspace, newest first.',
  requires: 'can-read-settings',
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: async ({ db, target, page }) => ({
    items: await read(db, { workspaceId: target.id }, page),
    total: await db.prisma.changeRequest.count({ where: { workspaceId: target.id } }),
  }),
});

const older = '/workspaces/change-requests/:change_request_id';
const byId = '/change-requests/:change_request_id';
const archived = `${byId}/actions/archive`;

const show = both(
  ofRequest.get,
  { [older]: load, [byId]: load, [archived]: load },
  { summary: 'Show a change request.', run: async ({ target }: Call<string, undefined, ChangeRequest>) => target },
);

const archiving = {
  summary: 'Archive a change request.',
  requires: 'can-archive',
  run: ({ db, target, ...call }: Call<string, undefined, ChangeRequest>) =>
    db.transaction(async (tx) => {
      const actor = actorOf(call);
      const at = new Date();
      const { count } = await tx.prisma.changeRequest.updateMany({
        where: { id: target.id, archivedAt: null },
        data: { archivedAt: at, archivedByType: actor.type, archivedById: actor.id, updatedAt: at },
      });
      const [after] = await read(tx, { id: target.id });
      if (!after) throw notFound();
      if (count > 0) await record(tx, actor, after, 'archive');
      return after;
    }),
} as const;
const archive = both(ofRequest.action, { [older]: load, [archived]: load }, archiving);

const record = (
  tx: Database,
  actor: Actor,
  { id, organizationId, subject, workspaceId }: ChangeRequest,
  verb: string,
) =>
  recordChange(tx, actor, {
    organizationId,
    action: `change-request.${verb}`,
    target: { type: 'workspace_change_requests', id, name: subject },
    after: { workspaceId },
  });

/** The content of one call. */
interface BulkAction {
  readonly id: string;
  readonly organizationId: string;
  readonly inputs: { readonly subject: string; readonly message: string };
  readonly targetIds: readonly string[];
  readonly createdById: string;
}

const inputs = z.object({ subject: z.string().trim().min(1).max(255), message: z.string().trim().min(1).max(4000) });

const bulkSerializer = serializerOf<BulkAction>()({
  type: 'bulk_actions',
  shape: {
    organization_id: text,
    action_type: text,
    action_inputs: z.object({ subject: text, message: text }),
    target_ids: z.array(text),
    created_by: z.object({ id: text }),
  },
  id: ({ id }) => id,
  attributes: (one) => ({
    organization_id: one.organizationId,
    action_type: 'change_requests',
    action_inputs: one.inputs,
    target_ids: one.targetIds,
    created_by: { id: one.createdById },
  }),
});

const BulkActions = document('bulk_actions', {
  untyped: true,
  attributes: {
    action_type: z.literal('change_requests'),
    action_inputs: inputs,
    target_ids: z.array(z.string()).min(1).max(mostTargets),
  },
});

const create = endpoints(organizationPolicy, bulkSerializer, {
  visible: (access, { id }: Organization) => access.isMember(id),
}).post('/organizations/:organization_name/explorer/bulk-actions', {
  idempotent: false,
  summary:
    'Create a change request in several workspaces that the caller administers. Teams that can read them are notified.',
  body: BulkActions,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, body, ...call }) =>
    db.transaction(async (tx) => {
      const ids = [...new Set(body.targetIds)].sort();
      const workspaces = await requireTargets(tx, access, target, ids);
      const actor = actorOf(call);
      for (const workspace of workspaces) {
        await lockRow(tx, 'workspace', workspace.id);
        const { id: workspaceId } = workspace;
        if ((await tx.prisma.changeRequest.count({ where: { workspaceId, archivedAt: null } })) >= mostOpen) {
          throw invalid(
            'targetIds',
            `contains a workspace that already has ${mostOpen} open change requests: ${workspace.name}`,
          );
        }
        const id = newId('wscr');
        const by = { createdByType: actor.type, createdById: actor.id };
        await tx.prisma.changeRequest.create({ data: { id, workspaceId, ...body.actionInputs, ...by } });
        const [created] = await read(tx, { id });
        if (!created) throw notFound();
        await record(tx, actor, created, 'create');
        await tellTeamsOf(tx, workspaceId, 'change_request:created', actor, {
          change_request_id: id,
          change_request_subject: created.subject,
          change_request_message: created.message,
        });
      }
      const { id: organizationId } = target;
      return { id: newId('eba'), organizationId, inputs: body.actionInputs, targetIds: ids, createdById: actor.id };
    }),
});

/** Throws for workspaces that do not exist. Workspaces that the caller does not see are treated as absent. */
async function requireTargets(tx: Database, access: Access, { id }: Organization, ids: readonly string[]) {
  const found = await workspaces.findMany(tx, ids);
  const visible = found.filter((one) => one.organizationId === id && workspacePolicy['can-read-settings'](access, one));
  if (visible.length < ids.length) throw invalid('targetIds', 'were not all found');
  const others = visible.filter((one) => !workspacePolicy['can-update'](access, one));
  if (others.length > 0)
    throw invalid('targetIds', `contains a workspace that you do not administer: ${others[0]!.name}`);
  return visible.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Change requests for workspaces. */
export const changeRequestResource: Resource = {
  name: 'change-requests',
  endpoints: [list, ...show, ...archive, create],
};
