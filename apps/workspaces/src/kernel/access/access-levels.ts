import {
  type Mask,
  maskOf,
  projectCapabilities,
  projectDials,
  projectWorkspaceDials,
  settingsMask,
  workspaceCapabilities,
  workspaceDials,
} from './capabilities';

/**
 * Access levels of a team on one workspace. `custom` grants only the permissions in its separate settings, never
 * administrator permissions.
 */
export const workspaceLevels = ['read', 'plan', 'write', 'admin', 'custom'] as const;
export type WorkspaceLevel = (typeof workspaceLevels)[number];

/** Access levels of a team on one project. */
export const projectLevels = ['read', 'write', 'maintain', 'admin', 'custom'] as const;
export type ProjectLevel = (typeof projectLevels)[number];

/** Everything that an administrator of a workspace may do. */
export const workspaceAdmin: Mask = maskOf(...workspaceCapabilities);

/** The capabilities of owners in a workspace: those of administrators, and overriding policies. */
export const workspaceOwner: Mask = workspaceAdmin | maskOf('policies:override');

/** Everything that an administrator of a project may do, including in its workspaces. */
export const projectAdmin: Mask = maskOf(...projectCapabilities) | workspaceAdmin;

/** The settings of each workspace access level. `custom` contains the defaults. */
export const workspaceLevelSettings = {
  read: level('read', 'read', 'read', 'none', false, false),
  plan: level('plan', 'read', 'read', 'none', false, false),
  write: level('apply', 'write', 'write', 'read', true, false),
  admin: level('apply', 'write', 'write', 'read', true, true),
  custom: level('read', 'none', 'none', 'none', false, false),
} as const;

/** The settings of each project level for the project itself. */
export const projectLevelSettings = {
  read: { settings: 'read', teams: 'none', variableSets: 'read' },
  write: { settings: 'read', teams: 'none', variableSets: 'read' },
  maintain: { settings: 'read', teams: 'none', variableSets: 'read' },
  admin: { settings: 'delete', teams: 'manage', variableSets: 'write' },
  custom: { settings: 'read', teams: 'none', variableSets: 'none' },
} as const;

/** The workspace settings of each project level: what the team may do in every workspace of the project. */
export const projectLevelWorkspaceSettings = {
  read: inProject('read', 'none', 'read', 'read', false, false, false),
  write: inProject('apply', 'read', 'write', 'write', false, true, false),
  maintain: inProject('apply', 'read', 'write', 'write', true, true, false),
  admin: inProject('apply', 'read', 'write', 'write', true, true, true),
  custom: inProject('read', 'none', 'none', 'none', false, false, false),
} as const;

/** The capability mask of a workspace grant. */
export function workspaceGrant(
  access: WorkspaceLevel,
  settings: Record<keyof typeof workspaceDials, string | boolean> = workspaceLevelSettings[access],
): Mask {
  return access === 'admin' ? workspaceAdmin : settingsMask(workspaceDials, settings);
}

/** The capability mask of a project grant: `maintain` and `admin` administer every workspace of the project. */
export function projectGrant(
  access: ProjectLevel,
  project: Record<keyof typeof projectDials, string | boolean> = projectLevelSettings[access],
  workspaces: Record<keyof typeof projectWorkspaceDials, string | boolean> = projectLevelWorkspaceSettings[access],
): Mask {
  const administers = access === 'maintain' || access === 'admin' ? workspaceAdmin : 0;
  return settingsMask(projectDials, project) | settingsMask(projectWorkspaceDials, workspaces) | administers;
}

function level(
  runs: string,
  variables: string,
  stateVersions: string,
  polengineMocks: string,
  workspaceLocking: boolean,
  runTasks: boolean,
) {
  const policyOverrides = false;
  return { runs, variables, stateVersions, polengineMocks, workspaceLocking, runTasks, policyOverrides };
}

function inProject(
  runs: string,
  polengineMocks: string,
  stateVersions: string,
  variables: string,
  create: boolean,
  locking: boolean,
  move: boolean,
) {
  const rest = { delete: create, move, runTasks: create, policyOverrides: false };
  return { runs, polengineMocks, stateVersions, variables, create, locking, ...rest };
}
