import { document, requiredOne } from '@keystead/jsonapi';
import { z } from 'zod';
import {
  projectDials,
  projectLevels,
  projectWorkspaceDials,
  workspaceDials,
  workspaceLevels,
} from '../../../kernel/access/capabilities';

// The values of a setting are declared once, next to the capabilities that they grant.
const oneOf = (values: readonly string[]) => z.enum(values as [string, ...string[]]).nullish();
const toggle = z.boolean().nullish();

const workspaceSettings = {
  runs: oneOf(workspaceDials.runs.values as readonly string[]),
  variables: oneOf(workspaceDials.variables.values as readonly string[]),
  'state-versions': oneOf(workspaceDials.stateVersions.values as readonly string[]),
  'polengine-mocks': oneOf(workspaceDials.polengineMocks.values as readonly string[]),
  'workspace-locking': toggle,
  'run-tasks': toggle,
  'policy-overrides': toggle,
};
const workspaceAliases = { 'polengine-mocks': 'sentinel-mocks' };

export const GrantWorkspace = document('team-workspaces', {
  attributes: { access: z.enum(workspaceLevels), ...workspaceSettings },
  relationships: { team: requiredOne('teams'), workspace: requiredOne('workspaces') },
  aliases: workspaceAliases,
});
export const ChangeWorkspaceGrant = document('team-workspaces', {
  attributes: { access: z.enum(workspaceLevels).optional(), ...workspaceSettings },
  aliases: workspaceAliases,
});

const projectSettings = {
  'project-access': z
    .object({
      settings: oneOf(projectDials.settings.values as readonly string[]),
      teams: oneOf(projectDials.teams.values as readonly string[]),
      'variable-sets': oneOf(projectDials.variableSets.values as readonly string[]),
    })
    .nullish(),
  'workspace-access': z
    .object({
      runs: oneOf(projectWorkspaceDials.runs.values as readonly string[]),
      'polengine-mocks': oneOf(projectWorkspaceDials.polengineMocks.values as readonly string[]),
      'state-versions': oneOf(projectWorkspaceDials.stateVersions.values as readonly string[]),
      variables: oneOf(projectWorkspaceDials.variables.values as readonly string[]),
      create: toggle,
      locking: toggle,
      delete: toggle,
      move: toggle,
      'run-tasks': toggle,
      'policy-overrides': toggle,
    })
    .nullish(),
};
const projectAliases = { 'workspace-access.polengine-mocks': 'workspace-access.sentinel-mocks' };

export const GrantProject = document('team-projects', {
  attributes: { access: z.enum(projectLevels), ...projectSettings },
  relationships: { team: requiredOne('teams'), project: requiredOne('projects') },
  aliases: projectAliases,
});
export const ChangeProjectGrant = document('team-projects', {
  attributes: { access: z.enum(projectLevels).optional(), ...projectSettings },
  aliases: projectAliases,
});
