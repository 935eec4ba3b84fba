import { hasOne, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Access } from '../../../kernel/access/access';
import { projectDials, projectWorkspaceDials, workspaceDials } from '../../../kernel/access/capabilities';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { seesTeam } from '../../people/teams/policy';
import type { SeenTeam } from '../../people/teams/team';
import type { ProjectGrant } from './project-grants';
import { settingsOf, shownDial } from './settings';
import type { WorkspaceGrant } from './workspace-grants';

/**
 * A team as the caller sees it. The name of a secret team is hidden from callers who may not see the team, although
 * they see that the team exists.
 */
const seenTeam = (access: Access, team: SeenTeam) =>
  seesTeam(access, team) ? toOne('teams', team.id, `/api/v2/teams/${team.id}`) : toOne('teams', null);

/** A team's access to a workspace, with its effective permissions. */
export const workspaceGrantSerializer = serializerOf<WorkspaceGrant>()({
  type: 'team-workspaces',
  shape: {
    access: z.enum(['plan', 'read', 'write', 'admin', 'custom']),
    runs: shownDial(workspaceDials.runs),
    variables: shownDial(workspaceDials.variables),
    'state-versions': shownDial(workspaceDials.stateVersions),
    'polengine-mocks': shownDial(workspaceDials.polengineMocks),
    'workspace-locking': shownDial(workspaceDials.workspaceLocking),
    'run-tasks': shownDial(workspaceDials.runTasks),
    'policy-overrides': shownDial(workspaceDials.policyOverrides),
  },
  relations: { team: hasOne('teams'), workspace: hasOne('workspaces') },
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
      'policy-overrides': settings.policyOverrides,
    };
  },
  relationships: (grant, { access }) => ({
    team: seenTeam(access, grant.team),
    workspace: toOne('workspaces', grant.workspaceId, `/api/v2/workspaces/${grant.workspaceId}`),
  }),
  aliases: { 'polengine-mocks': 'sentinel-mocks' },
});

/** A team's access to a project and to every workspace in it. */
export const projectGrantSerializer = serializerOf<ProjectGrant>()({
  type: 'team-projects',
  shape: {
    access: z.enum(['read', 'write', 'admin', 'custom', 'maintain']),
    'project-access': z.object({
      teams: shownDial(projectDials.teams),
      settings: shownDial(projectDials.settings),
      'variable-sets': shownDial(projectDials.variableSets),
    }),
    'workspace-access': z.object({
      runs: shownDial(projectWorkspaceDials.runs),
      'polengine-mocks': shownDial(projectWorkspaceDials.polengineMocks),
      'state-versions': shownDial(projectWorkspaceDials.stateVersions),
      variables: shownDial(projectWorkspaceDials.variables),
      create: shownDial(projectWorkspaceDials.create),
      locking: shownDial(projectWorkspaceDials.locking),
      delete: shownDial(projectWorkspaceDials.delete),
      move: shownDial(projectWorkspaceDials.move),
      'run-tasks': shownDial(projectWorkspaceDials.runTasks),
      'policy-overrides': shownDial(projectWorkspaceDials.policyOverrides),
    }),
  },
  relations: { team: hasOne('teams'), project: hasOne('projects') },
  id: (grant) => grant.id,
  self: (grant) => `/api/v2/team-projects/${grant.id}`,
  attributes: (grant) => {
    const { variableSets, ...project } = settingsOf(projectDials, grant.capabilities);
    const workspaces = settingsOf(projectWorkspaceDials, grant.capabilities);
    return {
      access: grant.access,
      'project-access': { ...project, 'variable-sets': variableSets },
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
        'policy-overrides': workspaces.policyOverrides,
      },
    };
  },
  relationships: (grant, { access }) => ({
    team: seenTeam(access, grant.team),
    project: toOne('projects', grant.projectId, `/api/v2/projects/${grant.projectId}`),
  }),
  aliases: { 'workspace-access.polengine-mocks': 'workspace-access.sentinel-mocks' },
});
