import { hasMany, hasOne, invalid, toMany, toOne } from '@keystead/jsonapi';
import { actorOf } from '../../../kernel/audit/audit';
import {
  endpoints,
  includable,
  type Lookup,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import { hearsForTeam, seesTeam } from '../../people/teams/policy';
import * as teams from '../../people/teams/service';
import { projectPolicy } from '../../workspaces/projects/policy';
import * as projects from '../../workspaces/projects/service';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import * as workspaces from '../../workspaces/workspaces/workspace';
import { notificationAttributes } from './attributes';
import * as configurations from './configuration';
import type { NotificationConfiguration } from './notification-configuration';
import { notificationPolicy, sees } from './policy';
import { CreateConfiguration, UpdateConfiguration } from './schema';
import { Sender } from './sender';

const { shape, show: showAttributes } = notificationAttributes;

const notificationSerializer = serializerOf<NotificationConfiguration>()({
  type: 'notification-configurations',
  shape,
  relations: { subscribable: hasOne('workspaces', 'projects', 'teams'), users: hasMany('users') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/notification-configurations/${id}`,
  attributes: showAttributes,
  relationships: ({ workspaceId, projectId, teamId, userIds }) => ({
    subscribable: subjectOf(workspaceId, projectId, teamId),
    users: toMany('users', userIds),
  }),
});

function subjectOf(workspaceId: string | null, projectId: string | null, teamId: string | null) {
  if (workspaceId) return toOne('workspaces', workspaceId, `/api/v2/workspaces/${workspaceId}`);
  return teamId
    ? toOne('teams', teamId, `/api/v2/teams/${teamId}`)
    : toOne('projects', projectId, `/api/v2/projects/${projectId}`);
}

const ofWorkspace = endpoints(workspacePolicy, notificationSerializer, {
  visible: workspacePolicy['can-read-settings'],
});
const ofProject = endpoints(projectPolicy, notificationSerializer, { visible: projectPolicy['can-read'] });
const ofTeam = endpoints({ 'can-update': hearsForTeam }, notificationSerializer, { visible: seesTeam });
const ofConfiguration = endpoints(notificationPolicy, notificationSerializer, { visible: sees });

const inWorkspace = '/workspaces/:workspace_id/notification-configurations';
const inProject = '/projects/:project_id/notification-configurations';
const inTeam = '/teams/:team_id/notification-configurations';
const byId = '/notification-configurations/:notification_configuration_id';
const enablePath = `${byId}/actions/enable` as const;
const verifyPath = `${byId}/actions/verify` as const;
const loadWorkspace = ({ db, params }: Lookup<typeof inWorkspace>) => workspaces.find(db, params.workspace_id);
const loadProject = ({ db, params }: Lookup<typeof inProject>) => projects.find(db, params.project_id);
const loadTeam = ({ db, params }: Lookup<typeof inTeam>) => teams.find(db, params.team_id);
const load = ({ db, env, params }: LookupBy<'notification_configuration_id'>) =>
  configurations.find(db, env.keyring, params.notification_configuration_id);

const checked = (answer: unknown) => answer as configurations.CheckedNotification;

/** Throws unless the subject in the body is the one in the path. The body may omit it. */
function requireSame(id: string, sentId: string | null | undefined): void {
  if (sentId !== undefined && sentId !== id) throw invalid('subscribable', 'must be the object in the path');
}

const listOfWorkspace = ofWorkspace.list(inWorkspace, {
  summary: 'List the notification configurations of a workspace.',
  paging: 'optional',
  requires: 'can-update',
  load: loadWorkspace,
  run: ({ db, env, target, page }) => configurations.list(db, env.keyring, { workspaceId: target.id }, page),
});

const createOfWorkspace = ofWorkspace.post(inWorkspace, {
  summary: 'Create a notification configuration for a workspace.',
  requires: 'can-update',
  body: CreateConfiguration,
  load: loadWorkspace,
  asks: ({ db, env, target, body: { subscribable, ...input } }) => {
    requireSame(target.id, subscribable);
    return configurations.check(db, new Sender(env), { workspace: target }, input);
  },
  run: ({ db, env, target, body, answer, ...call }) =>
    configurations.create(db, env.keyring, actorOf(call), { workspace: target }, body, checked(answer)),
});

const listOfProject = ofProject.list(inProject, {
  summary: 'List the notification configurations of a project.',
  paging: 'optional',
  requires: 'can-update',
  load: loadProject,
  run: ({ db, env, target, page }) => configurations.list(db, env.keyring, { projectId: target.id }, page),
});

const createOfProject = ofProject.post(inProject, {
  summary: 'Create a notification configuration for all workspaces of a project.',
  requires: 'can-update',
  body: CreateConfiguration,
  load: loadProject,
  asks: ({ db, env, target, body: { subscribable, ...input } }) => {
    requireSame(target.id, subscribable);
    return configurations.check(db, new Sender(env), { project: target }, input);
  },
  run: ({ db, env, target, body, answer, ...call }) =>
    configurations.create(db, env.keyring, actorOf(call), { project: target }, body, checked(answer)),
});

const listOfTeam = ofTeam.list(inTeam, {
  summary: 'List the notification configurations of a team.',
  paging: 'optional',
  requires: 'can-update',
  load: loadTeam,
  run: ({ db, env, target, page }) => configurations.list(db, env.keyring, { teamId: target.id }, page),
});

const createOfTeam = ofTeam.post(inTeam, {
  summary: 'Create a notification configuration for a team, about change requests in the workspaces that it can read.',
  requires: 'can-update',
  body: CreateConfiguration,
  load: loadTeam,
  asks: ({ db, env, target, body: { subscribable, ...input } }) => {
    requireSame(target.id, subscribable);
    return configurations.check(db, new Sender(env), { team: target }, input);
  },
  run: ({ db, env, target, body, answer, ...call }) =>
    configurations.create(db, env.keyring, actorOf(call), { team: target }, body, checked(answer)),
});

const show = ofConfiguration.get(byId, {
  summary: 'Show a notification configuration and its last deliveries.',
  requires: 'can-update',
  load,
  run: async ({ target }) => target,
});

const update = ofConfiguration.patch(byId, {
  summary: 'Change a notification configuration. A new URL of an enabled configuration is tested first.',
  requires: 'can-update',
  body: UpdateConfiguration,
  load,
  run: ({ db, env, target, body, ...call }) => configurations.update(db, new Sender(env), actorOf(call), target, body),
});

const verify = ofConfiguration.action(verifyPath, {
  summary: 'Send a test notification now.',
  requires: 'can-update',
  load,
  run: ({ db, env, target }) => configurations.verify(db, new Sender(env), target),
});

const enable = ofConfiguration.action(enablePath, {
  summary: 'Send a test, and enable the notification configuration if it succeeds.',
  requires: 'can-update',
  load,
  run: ({ db, env, target, ...call }) => configurations.enable(db, new Sender(env), actorOf(call), target),
});

const destroy = ofConfiguration.remove(byId, {
  summary: 'Delete a notification configuration.',
  requires: 'can-update',
  load,
  run: ({ db, target, ...call }) => configurations.remove(db, actorOf(call), target),
});

/** Notifications of run events. */
export const notificationResource: Resource = {
  name: 'notification-configurations',
  endpoints: [
    listOfWorkspace,
    createOfWorkspace,
    listOfProject,
    createOfProject,
    listOfTeam,
    createOfTeam,
    show,
    update,
    verify,
    enable,
    destroy,
  ],
  includable: {
    'notification-configurations': includable<NotificationConfiguration>({
      serializer: notificationSerializer,
      load: (db, ids, { keyring }) => configurations.findMany(db, keyring, ids),
      visible: notificationPolicy['can-update'],
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
  },
};
