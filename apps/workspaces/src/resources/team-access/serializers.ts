import { serializer, toOne } from '@keystead/jsonapi';
import { projectDials, projectWorkspaceDials, workspaceDials } from '../../kernel/capabilities';
import type { View } from '../../kernel/endpoint';
import type { ProjectGrant } from './project-grants';
import { settingsOf } from './settings';
import type { WorkspaceGrant } from './workspace-grants';

/** A team's access to a workspace, with what it amounts to. */
export const workspaceGrantSerializer = serializer<WorkspaceGrant, View>({
  type: 'team-workspaces',
  id: (grant) => grant.id,
  self: (grant) => `/api/v2/team-workspaces/${grant.id}`,
  attributes: (grant) => {
    const settings = settingsOf(workspaceDials, grant.capabilities);
    return {
      access: grant.access,
      runs: settings.runs,
      variables: settings.variables,
      'state-versions': settings.stateVersions,
      'polengine-mocks': settings.polengineMocks,
      'workspace-locking': settings.workspaceLocking,
      'run-tasks': settings.runTasks,
    };
  },
  relationships: (grant) => ({
    team: toOne('teams', grant.teamId, `/api/v2/teams/${grant.teamId}`),
    workspace: toOne('workspaces', grant.workspaceId, `/api/v2/workspaces/${grant.workspaceId}`),
  }),
  aliases: { 'polengine-mocks': 'sentinel-mocks' },
});

/** A team's access to a project and to every workspace in it. */
export const projectGrantSerializer = serializer<ProjectGrant, View>({
  type: 'team-projects',
  id: (grant) => grant.id,
  self: (grant) => `/api/v2/team-projects/${grant.id}`,
  attributes: (grant) => {
    const workspaces = settingsOf(projectWorkspaceDials, grant.capabilities);
    return {
      access: grant.access,
      'project-access': settingsOf(projectDials, grant.capabilities),
      'workspace-access': {
        runs: workspaces.runs,
        'polengine-mocks': workspaces.polengineMocks,
        'state-versions': workspaces.stateVersions,
        variables: workspaces.variables,
        create: workspaces.create,
        locking: workspaces.locking,
        delete: workspaces.delete,
        move: workspaces.move,
        'run-tasks': workspaces.runTasks,
      },
    };
  },
  relationships: (grant) => ({
    team: toOne('teams', grant.teamId, `/api/v2/teams/${grant.teamId}`),
    project: toOne('projects', grant.projectId, `/api/v2/projects/${grant.projectId}`),
  }),
  aliases: { 'workspace-access.polengine-mocks': 'workspace-access.sentinel-mocks' },
});
