import { choice, document, flag, hasMany, hasOne, requiredOne, sentTo, text, toMany, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import {
  endpoints,
  includable,
  type Lookup,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { workspacePolicy } from '../workspaces/policy';
import * as workspaces from '../workspaces/workspace';
import { requireTaken } from './call-task';
import * as tasks from './run-task';
import { enforcementLevels, findKey, type RunTask, taskStages, type WorkspaceTask } from './run-task';

const stages = z.array(choice(taskStages));

/** Whether the caller sees the uses of a task, which show which workspaces exist. */
const seesUses = (access: Access, { organizationId }: { readonly organizationId: string }): boolean =>
  access.can(organizationId, 'manage-run-tasks') || access.can(organizationId, 'read-workspaces');

const taskSerializer = serializerOf<RunTask>()({
  type: 'tasks',
  shape: {
    name: text,
    url: text,
    description: text,
    category: choice(['task']),
    enabled: flag,
    'hmac-key': z.null(),
    'global-configuration': z.object({
      enabled: flag,
      stages,
      'enforcement-level': choice(enforcementLevels),
    }),
  },
  relations: { organization: hasOne('organizations'), 'workspace-tasks': hasMany('workspace-tasks') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/tasks/${id}`,
  attributes: (task) => ({
    name: task.name,
    url: task.url,
    description: task.description,
    category: 'task',
    enabled: task.enabled,
    // The key is never shown again.
    'hmac-key': null,
    'global-configuration': {
      enabled: task.globalEnabled === true,
      stages: task.globalStages,
      'enforcement-level': task.globalEnforcement ?? 'advisory',
    },
  }),
  relationships: ({ organization, organizationId, workspaceTaskIds }, { access }) => ({
    organization: toOne('organizations', organization),
    'workspace-tasks': toMany('workspace-tasks', seesUses(access, { organizationId }) ? workspaceTaskIds : []),
  }),
});

const attachedSerializer = serializerOf<WorkspaceTask>()({
  type: 'workspace-tasks',
  shape: { 'enforcement-level': choice(enforcementLevels), stage: choice(taskStages), stages },
  relations: { task: hasOne('tasks'), workspace: hasOne('workspaces') },
  id: ({ id }) => id,
  self: ({ id, workspaceId }) => `/api/v2/workspaces/${workspaceId}/tasks/${id}`,
  attributes: (task) => ({
    'enforcement-level': task.enforcementLevel,
    stage: task.stages[0] ?? 'post_plan',
    stages: task.stages,
  }),
  relationships: ({ runTaskId, workspaceId }) => ({
    task: toOne('tasks', runTaskId),
    workspace: toOne('workspaces', workspaceId),
  }),
});

const reads = (access: Access, { organizationId }: { organizationId: string }): boolean =>
  access.isMember(organizationId);
const taskPolicy = policy<RunTask>()({
  'can-manage': (access, { organizationId }) => access.can(organizationId, 'manage-run-tasks'),
});

const name = z
  .string()
  .min(1)
  .max(90)
  .regex(/^[A-Za-z0-9_-]+$/, 'Name can only include letters, numbers, dashes and underscores');
const address = z
  .string()
  .max(2048)
  .refine((url) => {
    if (!URL.canParse(url)) return false;
    const { protocol, username, password } = new URL(url);
    return /^https?:$/.test(protocol) && `${username}${password}` === '';
  }, 'must be an http or https address without a user and a password');
const someStages = z.array(z.enum(taskStages)).min(1).max(taskStages.length);
const level = z.enum(enforcementLevels);
const shared = {
  description: z.string().max(300).nullish(),
  'hmac-key': sentTo(z.string().max(1024), 'url').nullish(),
  enabled: z.boolean().optional(),
  'global-configuration': z
    .strictObject({
      enabled: z.boolean().optional(),
      stages: someStages.optional(),
      'enforcement-level': level.optional(),
    })
    .nullish(),
};
const unserved = { 'agent-pool': 'requests of run tasks come from the service' };
const CreateTask = document('tasks', {
  attributes: { name, url: address, category: z.literal('task'), ...shared },
  unserved,
});
const UpdateTask = document('tasks', {
  attributes: { name: name.optional(), url: address.optional(), category: z.literal('task').optional(), ...shared },
  unserved,
});
const placing = { stage: z.enum(taskStages).optional(), stages: someStages.optional() };
const Attach = document('workspace-tasks', {
  attributes: { 'enforcement-level': level, ...placing },
  relationships: { task: requiredOne('tasks') },
});
const UpdateAttached = document('workspace-tasks', {
  attributes: { 'enforcement-level': level.optional(), ...placing },
});

const inOrganization = '/organizations/:organization_name/tasks';
const byId = '/tasks/:task_id';
const inWorkspace = '/workspaces/:workspace_id/tasks';
const attachedPath = `${inWorkspace}/:workspace_task_id` as const;
const include = ['workspace_tasks', 'workspace_tasks.workspace'];

const ofOrganization = endpoints(organizationPolicy, taskSerializer, {
  visible: organizationPolicy['can-traverse'],
  organizationsOf: (item: { id: string; organizationId?: string }) => [item.organizationId ?? item.id],
});
const ofTask = endpoints(taskPolicy, taskSerializer, { visible: reads });
const ofWorkspace = endpoints(workspacePolicy, attachedSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf: ({ organizationId }: { organizationId: string }) => [organizationId],
});
const attachedPolicy = policy<WorkspaceTask>()({
  'can-manage-run-tasks': (access, { workspace }) => access.has(workspace, 'run-tasks'),
});
const ofAttached = endpoints(attachedPolicy, attachedSerializer, {
  visible: (access, { workspace }) => workspacePolicy['can-read-settings'](access, workspace),
});

const loadOrganization = ({ db, env, params }: Lookup<typeof inOrganization>) =>
  organizations.findByName(db, env, params.organization_name);
const load = async ({ db, params }: LookupBy<'task_id'>) => (await tasks.findTasks(db, [params.task_id]))[0];
const loadWorkspace = ({ db, params }: Lookup<typeof inWorkspace>) => workspaces.find(db, params.workspace_id);
const loadAttached = ({ db, params }: Lookup<typeof attachedPath>) =>
  tasks.findAttachedTo(db, params.workspace_id, params.workspace_task_id);

const listTasks = ofOrganization.list(inOrganization, {
  summary: 'List the run tasks of an organization.',
  requires: 'can-read-run-tasks',
  include,
  load: loadOrganization,
  run: ({ db, target, page }) => tasks.listTasks(db, target.id, page!),
});

const createTask = ofOrganization.post(inOrganization, {
  summary: 'Create a run task. A test request is sent to its URL first.',
  requires: 'can-manage-run-tasks',
  body: CreateTask,
  load: loadOrganization,
  asks: async ({ env, body: { url, hmacKey, enabled } }) => {
    if (enabled !== false) await requireTaken(env.notificationReach, { url, key: hmacKey ?? undefined });
  },
  run: ({ db, env, target, body, ...call }) => tasks.createTask(db, env.keyring, actorOf(call), target, body),
});

const showTask = ofTask.get(byId, { summary: 'Show a run task.', include, load, run: async ({ target }) => target });

const updateTask = ofTask.patch(byId, {
  summary: 'Change a run task. A test request is sent to a new URL first.',
  requires: 'can-manage',
  body: UpdateTask,
  load,
  run: async ({ db, env, target, body, ...call }) => {
    const url = body.url ?? target.url;
    const enabled = body.enabled ?? target.enabled;
    if (enabled && (url !== target.url || body.hmacKey !== undefined)) {
      const key = body.hmacKey === undefined ? await findKey(db, env.keyring, target.id) : body.hmacKey || undefined;
      await requireTaken(env.notificationReach, { url, key });
    }
    const home = await organizations.findByName(db, env, target.organization);
    const entitlements = home?.entitlements ?? { globalRunTasks: false, runTaskLimit: null };
    return tasks.updateTask(db, env.keyring, actorOf(call), target, { entitlements }, body);
  },
});

const removeTask = ofTask.remove(byId, {
  summary: 'Delete a run task from the organization and all workspaces.',
  requires: 'can-manage',
  load,
  run: ({ db, target, ...call }) => tasks.removeTask(db, actorOf(call), target),
});

const listUses = endpoints(taskPolicy, attachedSerializer, { visible: reads }).list(
  `${byId}/relationships/workspace-tasks`,
  {
    summary: 'List the workspaces that use a run task, with their settings for it.',
    requires: seesUses,
    load,
    run: ({ db, target, page }) => tasks.listAttached(db, { runTaskId: target.id }, page!),
  },
);

const listAttached = ofWorkspace.list(inWorkspace, {
  summary: 'List the run tasks of a workspace.',
  load: loadWorkspace,
  run: ({ db, target, page }) => tasks.listAttached(db, { workspaceId: target.id }, page!),
});

const attach = ofWorkspace.post(inWorkspace, {
  summary: 'Add a run task to a workspace.',
  requires: 'can-manage-run-tasks',
  body: Attach,
  load: loadWorkspace,
  run: ({ db, target, body: { task, ...body }, ...call }) => tasks.attach(db, actorOf(call), target, task, body),
});

const showAttached = ofAttached.get(attachedPath, {
  summary: 'Show a run task of a workspace.',
  load: loadAttached,
  run: async ({ target }) => target,
});

const updateAttached = ofAttached.patch(attachedPath, {
  summary: 'Change a run task of a workspace.',
  requires: 'can-manage-run-tasks',
  body: UpdateAttached,
  load: loadAttached,
  run: ({ db, target, body, ...call }) => tasks.updateAttached(db, actorOf(call), target, body),
});

const detach = ofAttached.remove(attachedPath, {
  summary: 'Remove a run task from a workspace.',
  requires: 'can-manage-run-tasks',
  load: loadAttached,
  run: ({ db, target, ...call }) => tasks.detach(db, actorOf(call), target),
});

/** Checks by other services, and the workspaces that use them. */
export const runTaskResource: Resource = {
  name: 'tasks',
  endpoints: [
    ...[listTasks, createTask, showTask, updateTask, removeTask, listUses],
    ...[listAttached, attach, showAttached, updateAttached, detach],
  ],
  includable: {
    tasks: includable<RunTask>({ serializer: taskSerializer, load: tasks.findTasks, visible: reads }),
    'workspace-tasks': includable<WorkspaceTask>({
      serializer: attachedSerializer,
      load: tasks.findAttached,
      visible: (access, { workspace }) => workspacePolicy['can-read-settings'](access, workspace),
    }),
  },
};
