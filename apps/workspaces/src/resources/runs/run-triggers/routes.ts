import { document, hasOne, instant, invalid, requiredOne, text, toOne } from '@keystead/jsonapi';
import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Lookup, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import * as workspaces from '../../workspaces/workspaces/workspace';
import {
  create as createTrigger,
  find,
  findMany,
  list as listTriggers,
  type RunTrigger,
  remove as removeTrigger,
} from './run-trigger';

const runTriggerSerializer = serializerOf<RunTrigger>()({
  type: 'run-triggers',
  shape: {
    'workspace-name': text,
    'sourceable-name': text,
    'created-at': instant,
  },
  relations: { workspace: hasOne('workspaces'), sourceable: hasOne('workspaces') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/run-triggers/${id}`,
  attributes: ({ workspace, sourceable, createdAt }) => ({
    'workspace-name': workspace.name,
    'sourceable-name': sourceable.name,
    'created-at': createdAt,
  }),
  relationships: ({ workspaceId, sourceableId }) => ({
    workspace: toOne('workspaces', workspaceId, `/api/v2/workspaces/${workspaceId}`),
    sourceable: toOne('workspaces', sourceableId, `/api/v2/workspaces/${sourceableId}`),
  }),
});

const reads = (access: Access, { workspace, sourceable }: RunTrigger): boolean =>
  access.has(workspace, 'runs:read') && access.has(sourceable, 'runs:read');
const triggerPolicy = policy<RunTrigger>()({
  'can-destroy': (access, trigger) => reads(access, trigger) && access.has(trigger.workspace, 'settings:write'),
});

const ofWorkspace = endpoints(workspacePolicy, runTriggerSerializer, { visible: workspacePolicy['can-read-settings'] });
const ofTrigger = endpoints(triggerPolicy, runTriggerSerializer, { visible: reads });

const inWorkspace = '/workspaces/:workspace_id/run-triggers';
const byId = '/run-triggers/:run_trigger_id';
const include = ['workspace', 'sourceable'];
const loadWorkspace = ({ db, params }: Lookup<typeof inWorkspace>) => workspaces.find(db, params.workspace_id);
const load = ({ db, params }: Lookup<typeof byId>) => find(db, params.run_trigger_id);

const directions = ['inbound', 'outbound'] as const;
const isDirection = (word: string | undefined): word is (typeof directions)[number] =>
  directions.some((one) => one === word);

const list = ofWorkspace.list(inWorkspace, {
  refuses: [422],
  summary: 'List the run triggers of a workspace, inbound or outbound.',
  query: { 'filter[run-trigger][type]': 'inbound or outbound; required.' },
  include,
  load: loadWorkspace,
  run: ({ db, access, target, query, page }) => {
    const direction = query.get('filter[run-trigger][type]');
    if (!isDirection(direction)) throw invalid('filter[run-trigger][type]', 'must be inbound or outbound');
    return listTriggers(db, access, target, direction, page!);
  },
});

const create = ofWorkspace.post(inWorkspace, {
  summary: 'Create a run trigger: applies of another workspace start runs of this one.',
  tokens: ['user', 'team'],
  requires: 'can-update',
  include,
  body: document('run-triggers', { attributes: {}, relationships: { sourceable: requiredOne('workspaces') } }),
  load: loadWorkspace,
  run: ({ db, access, target, body, ...call }) =>
    createTrigger(db, { access, actor: actorOf(call) }, target, body.sourceable),
});

const show = ofTrigger.get(byId, {
  summary: 'Show a run trigger.',
  include,
  load,
  run: async ({ target }) => target,
});

const destroy = ofTrigger.remove(byId, {
  summary: 'Delete a run trigger.',
  tokens: ['user', 'team'],
  requires: 'can-destroy',
  load,
  run: ({ db, target, ...call }) => removeTrigger(db, actorOf(call), target),
});

/** Runs that follow the applies of other workspaces. */
export const runTriggerResource: Resource = {
  name: 'run-triggers',
  endpoints: [list, create, show, destroy],
  includable: {
    'run-triggers': includable<RunTrigger>({
      serializer: runTriggerSerializer,
      load: findMany,
      visible: reads,
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
  },
};
