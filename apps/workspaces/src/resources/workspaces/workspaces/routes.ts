import { references } from '@keystead/jsonapi';
import { actorOf } from '../../../kernel/audit/audit';
import {
  both,
  type Call,
  endpoints,
  includable,
  type LookupBy,
  type Resource,
} from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { changeConsumers, listConsumers } from './consumers';
import { listParameters, list as listWorkspaces, sortKeys } from './list';
import { forceUnlock, heartbeat, lock, unlock } from './lock';
import { LockBody, type LockTerms } from './lock-batch';
import { listLocks, lockSerializer } from './lock-history';
import { listResources, managedResourceSerializer } from './managed-resources';
import { workspacePolicy } from './policy';
import { remove as removeWorkspace, safeRemove } from './removal';
import { workspaceSerializer } from './serializer';
import * as workspaces from './service';
import { CreateWorkspace, UpdateWorkspace, type WorkspaceChanges } from './settings';
import { AssignSshKey, assignSshKey } from './ssh-key';
import { cachedWorkspaces, findStamp, findStampByName, type WorkspaceStamp } from './stamp';
import { findBase, type WorkspaceBase } from './target-project';
import { find, findByName as findInOrganization, findMany, type Workspace, type WorkspaceCaller } from './workspace';

const visible = workspacePolicy['can-read-settings'];
const { get, list, post, patch, action, remove, command } = endpoints(workspacePolicy, workspaceSerializer, {
  visible,
});

const spec = 'Workspaces';
const collection = '/organizations/:organization_name/workspaces';
const byId = '/workspaces/:workspace_id';
const byName = `${collection}/:name` as const;

const findById = ({ db, params }: LookupBy<'workspace_id'>) => find(db, params.workspace_id);
const findByName = ({ db, params }: LookupBy<'organization_name' | 'name'>) => {
  const { organization_name, name } = params;
  return findInOrganization(db, organization_name, name);
};

const stampById = ({ db, params }: LookupBy<'workspace_id'>) => findStamp(db, params.workspace_id);
const stampByName = ({ db, params }: LookupBy<'organization_name' | 'name'>) => {
  const { organization_name, name } = params;
  return findStampByName(db, organization_name, name);
};

const places = { [byId]: findById, [byName]: findByName };
const below = (rest: string) => ({ [`${byId}/${rest}`]: findById, [`${byName}/${rest}`]: findByName });

type WorkspaceCall = Call<string, unknown, Workspace>;
const callerOf = (
  call: Pick<WorkspaceCall, 'principal' | 'request' | 'access' | 'env' | 'settings'>,
): WorkspaceCaller => ({
  actor: actorOf(call),
  access: call.access,
  edition: call.env.edition,
  settings: call.settings,
  vcs: { keyring: call.env.keyring, reach: call.env.vcsReach },
});

/** The resources that responses about workspaces can include. */
const include = [
  'organization',
  'current_run',
  'current_run.plan',
  'current_run.configuration_version',
  'current_run.configuration_version.ingress_attributes',
  'current_configuration_version',
  'current_configuration_version.ingress_attributes',
  'current_state_version',
  // A spelling that some clients use.
  'current-state-version',
  'current_state_version.outputs',
  'locked_by',
  'outputs',
  'project',
  'readme',
  'effective_tag_bindings',
  'agent_pool',
  'latest_run',
  'vars',
];

const index = list<typeof collection, undefined, Organization, WorkspaceStamp>(collection, {
  summary: 'List the workspaces of an organization that the caller can see.',
  spec,
  query: listParameters,
  sort: sortKeys,
  // Only pages that begin after an item need the key.
  cursorKey: ({ cursorKey }) => cursorKey ?? '',
  include,
  cached: cachedWorkspaces,
  loadsEarly: true,
  visible: organizationPolicy['can-traverse'],
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, query, sort, page }: Call<typeof collection, undefined, Organization>) =>
    listWorkspaces(db, access, target, query, sort, page!),
});

const create = post(collection, {
  summary: 'Create a workspace.',
  spec,
  requires: (access, { organization }: WorkspaceBase) =>
    organizationPolicy['can-create-workspace'](access, organization),
  visible: (access, { organization }) => organizationPolicy['can-traverse'](access, organization),
  loadsEarly: true,
  keepsAccess: true,
  cached: cachedWorkspaces,
  body: CreateWorkspace,
  load: ({ db, env, params }) => findBase(db, env, params.organization_name),
  asks: ({ db, target, body, ...call }) => workspaces.checkNew(db, callerOf(call), target, body),
  run: ({ db, target, body, answer, ...call }) =>
    workspaces.create(db, callerOf(call), target, body, answer as workspaces.RepositoryLink | undefined),
});

const show = both(
  get,
  { [byId]: stampById, [byName]: stampByName },
  {
    summary: 'Show a workspace.',
    spec,
    include,
    loadsEarly: true,
    cached: cachedWorkspaces,
    run: async ({ target }: Call<string, undefined, WorkspaceStamp>) => target,
  },
);

const update = both(
  patch,
  { [byId]: stampById, [byName]: stampByName },
  {
    summary: 'Update a workspace; omitted fields keep their values.',
    spec,
    requires: 'can-update',
    include,
    loadsEarly: true,
    // A move may end the caller's own permissions, so the answer uses the permissions from before the move.
    keepsAccess: true,
    turns: false,
    cached: cachedWorkspaces,
    body: UpdateWorkspace,
    run: ({ db, target, body, ifMatch, ...call }: Call<string, WorkspaceChanges, WorkspaceStamp>) =>
      workspaces.update(db, callerOf(call), target, body, ifMatch),
  },
);

const destroy = both(remove, places, {
  summary: 'Delete a workspace, even if it manages resources.',
  stepUp: true,
  requires: 'can-destroy',
  run: ({ db, target, ...call }: WorkspaceCall) => removeWorkspace(db, callerOf(call), target),
});

const safeDestroy = both(command('POST'), below('actions/safe-delete'), {
  summary: 'Delete a workspace that manages no resources.',
  stepUp: true,
  requires: 'can-destroy',
  run: ({ db, target, ...call }: WorkspaceCall) => safeRemove(db, callerOf(call), target),
});

const stampsBelow = (rest: string) => ({ [`${byId}/${rest}`]: stampById, [`${byName}/${rest}`]: stampByName });
const quickly = { include, loadsEarly: true, keepsAccess: true, turns: false, cached: cachedWorkspaces } as const;

const locking = both(action, stampsBelow('actions/lock'), {
  summary: 'Lock a workspace for the caller.',
  requires: 'can-lock',
  ...quickly,
  body: LockBody,
  run: ({ db, target, body, ...call }: Call<string, LockTerms, WorkspaceStamp>) =>
    lock(db, actorOf(call), target, body),
});

const unlocking = both(action, stampsBelow('actions/unlock'), {
  summary: 'Unlock a workspace that the caller locked.',
  requires: 'can-unlock',
  ...quickly,
  run: ({ db, target, ...call }: Call<string, unknown, WorkspaceStamp>) => unlock(db, actorOf(call), target),
});

const beating = both(action, below('actions/heartbeat'), {
  summary: "Send a heartbeat for the caller's lock. Only for locks with heartbeat-seconds.",
  requires: 'can-lock',
  include,
  run: ({ db, target, ...call }: WorkspaceCall) => heartbeat(db, actorOf(call), target),
});

const forcing = both(action, below('actions/force-unlock'), {
  summary: 'Force-unlock a workspace that any user locked.',
  requires: 'can-force-unlock',
  include,
  run: ({ db, target, ...call }: WorkspaceCall) => forceUnlock(db, actorOf(call), target),
});

const history = list('/workspaces/:workspace_id/locks', {
  summary: 'List the locks of a workspace, newest first: when it was locked, by whom, and why.',
  serializer: lockSerializer,
  load: findById,
  run: ({ db, target, page }: Call<string, undefined, Workspace>) => listLocks(db, target.id, page!),
});

const managed = list('/workspaces/:workspace_id/resources', {
  summary: 'List the resources in the current state of a workspace, by address.',
  serializer: managedResourceSerializer,
  requires: 'can-read-state-versions',
  load: findById,
  run: ({ db, target, page }: Call<string, undefined, Workspace>) => listResources(db, target, page!),
});

const assignment = patch('/workspaces/:workspace_id/relationships/ssh-key', {
  summary: 'Assign an SSH key to a workspace, or remove it.',
  tokens: ['user', 'team'],
  requires: (access, workspace: Workspace) =>
    workspacePolicy['can-update'](access, workspace) ||
    (access.can(workspace.organizationId, 'manage-vcs-settings') && visible(access, workspace)),
  body: AssignSshKey,
  load: findById,
  run: ({ db, target, body, ...call }) => assignSshKey(db, actorOf(call), target, body),
});

const consumersPath = '/workspaces/:workspace_id/relationships/remote-state-consumers';

const consumers = list(consumersPath, {
  summary: 'List the workspaces that may read the state of a workspace (remote state consumers).',
  load: findById,
  run: ({ db, access, target, page }: Call<string, undefined, Workspace>) => listConsumers(db, access, target, page!),
});

const changing = (method: 'POST' | 'PATCH' | 'DELETE', how: 'add' | 'replace' | 'remove', summary: string) =>
  command(method)(consumersPath, {
    summary,
    requires: 'can-update',
    body: references('workspaces'),
    load: findById,
    run: ({ db, target, body, access, ...call }) =>
      changeConsumers(db, { access, actor: actorOf(call) }, target, body, how),
  });

/** Workspaces. */
export const workspaceResource: Resource = {
  name: 'workspaces',
  endpoints: [
    index,
    create,
    ...show,
    ...update,
    ...destroy,
    ...safeDestroy,
    ...locking,
    ...unlocking,
    ...beating,
    ...forcing,
    history,
    managed,
    assignment,
    consumers,
    changing('POST', 'add', 'Let more workspaces read the state of this one.'),
    changing('PATCH', 'replace', 'Choose the workspaces that may read the state of this one.'),
    changing('DELETE', 'remove', 'Stop workspaces from reading the state of this one.'),
  ],
  includable: {
    workspaces: includable({
      serializer: workspaceSerializer,
      load: findMany,
      visible,
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
  },
};
