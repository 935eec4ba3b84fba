/** The capabilities that a team can have on a workspace. Each name is one bit of a mask. */
export const workspaceCapabilities = [
  'runs:read',
  'runs:plan',
  'runs:apply',
  'variables:read',
  'variables:write',
  'state:read-outputs',
  'state:read',
  'state:write',
  'mocks:read',
  'locking',
  'run-tasks',
  'delete',
  'settings:write',
] as const;

/**
 * The capabilities that a team can have on a project. Their bits come after those for workspaces, so that one number
 * can contain both.
 */
export const projectCapabilities = [
  'project:read',
  'project:update',
  'project:delete',
  'teams:read',
  'teams:manage',
  'workspaces:create',
  'workspaces:move',
  'varsets:read',
  'varsets:write',
] as const;

/**
 * Capabilities that only an explicit setting grants: no access level includes them, and administrators do not have
 * them. Their bits come after all stored capabilities.
 */
const namedCapabilities = ['policies:override'] as const;

export type WorkspaceCapability = (typeof workspaceCapabilities)[number] | (typeof namedCapabilities)[number];
export type ProjectCapability = (typeof projectCapabilities)[number];
export type Capability = WorkspaceCapability | ProjectCapability;

/** A set of capabilities, one bit each. It fits into 32 bits, so a union is one OR. */
export type Mask = number;

const everyCapability: readonly Capability[] = [...workspaceCapabilities, ...projectCapabilities, ...namedCapabilities];
const bits = Object.fromEntries(everyCapability.map((name, index) => [name, 1 << index])) as Record<Capability, number>;

/** The mask of the named capabilities. */
export function maskOf(...names: readonly Capability[]): Mask {
  return names.reduce((mask, name) => mask | bits[name], 0);
}

/** True if the mask contains the capability. */
export function holds(mask: Mask, capability: Capability): boolean {
  return (mask & bits[capability]) !== 0;
}

/** The names in a mask, in their fixed order. */
export function namesOf(mask: Mask): Capability[] {
  return everyCapability.filter((name) => holds(mask, name));
}

/**
 * A setting of a custom grant: its values in increasing order, each with the capabilities it adds to the previous one.
 */
export interface Dial {
  readonly values: readonly (string | boolean)[];
  readonly adds: readonly (readonly Capability[])[];
}

const ladder = (values: readonly string[], ...adds: readonly (readonly Capability[])[]): Dial => ({ values, adds });
const toggle = (...adds: readonly Capability[]): Dial => ({ values: [false, true], adds: [[], adds] });

/** The settings of a workspace grant. All values except these are refused. */
export const workspaceDials = {
  runs: ladder(['read', 'plan', 'apply'], ['runs:read'], ['runs:plan'], ['runs:apply']),
  variables: ladder(['none', 'read', 'write'], [], ['variables:read'], ['variables:write']),
  stateVersions: ladder(
    ['none', 'read-outputs', 'read', 'write'],
    [],
    ['state:read-outputs'],
    ['state:read'],
    ['state:write'],
  ),
  polengineMocks: ladder(['none', 'read'], [], ['mocks:read']),
  workspaceLocking: toggle('locking'),
  runTasks: toggle('run-tasks'),
  policyOverrides: toggle('policies:override'),
} as const satisfies Record<string, Dial>;

/** The settings of a project grant for the project itself. */
export const projectDials = {
  settings: ladder(['read', 'update', 'delete'], ['project:read'], ['project:update'], ['project:delete']),
  teams: ladder(['none', 'read', 'manage'], [], ['teams:read'], ['teams:manage']),
  /**
   * The variable sets that the project owns. Sets assigned to the project are visible to everyone who sees the project.
   */
  variableSets: ladder(['none', 'read', 'write'], [], ['varsets:read'], ['varsets:write']),
} as const satisfies Record<string, Dial>;

/** The settings of a project grant that apply to every workspace of the project. */
export const projectWorkspaceDials = {
  runs: workspaceDials.runs,
  polengineMocks: workspaceDials.polengineMocks,
  stateVersions: workspaceDials.stateVersions,
  variables: workspaceDials.variables,
  create: toggle('workspaces:create'),
  locking: toggle('locking'),
  delete: toggle('delete'),
  move: toggle('workspaces:move'),
  runTasks: toggle('run-tasks'),
  policyOverrides: workspaceDials.policyOverrides,
} as const satisfies Record<string, Dial>;

/** The mask of one value of a setting. An unknown value is a fault, because inputs were checked earlier. */
export function dialMask(dial: Dial, value: string | boolean): Mask {
  const index = dial.values.indexOf(value);
  if (index < 0) throw new Error(`unknown value: ${String(value)}`);
  return dial.adds.slice(0, index + 1).reduce((mask, names) => mask | maskOf(...names), 0);
}

/** The value of a setting in a mask: the highest value whose capabilities the mask contains. */
export function dialValue(dial: Dial, mask: Mask): string | boolean {
  for (let index = dial.values.length - 1; index > 0; index--) {
    const names = dial.adds[index] ?? [];
    if (names.length > 0 && names.every((name) => holds(mask, name))) return dial.values[index]!;
  }
  return dial.values[0]!;
}

/** The mask of the values of several settings. */
function settingsMask<D extends Record<string, Dial>>(dials: D, settings: Record<keyof D, string | boolean>): Mask {
  return Object.entries(dials).reduce((mask, [name, dial]) => mask | dialMask(dial, settings[name]!), 0);
}

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

/** The permissions of a team in its whole organization. Each name is one bit. With dashes, it is also the wire name. */
export const organizationRights = [
  'manage-policies',
  'manage-policy-overrides',
  'manage-run-tasks',
  'manage-workspaces',
  'manage-vcs-settings',
  'manage-agent-pools',
  'manage-providers',
  'manage-modules',
  'manage-projects',
  'read-workspaces',
  'read-projects',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-public-providers',
  'manage-public-modules',
  'delegate-policy-overrides',
] as const;
export type OrganizationRight = (typeof organizationRights)[number];

/** A set of organization permissions, one bit each. */
export type Rights = number;

const rightBits = Object.fromEntries(organizationRights.map((name, index) => [name, 1 << index])) as Record<
  OrganizationRight,
  number
>;

/** All permissions, which the owners team has. */
export const everyRight: Rights = rightsOf(...organizationRights);

/** The set of the named rights. */
export function rightsOf(...names: readonly OrganizationRight[]): Rights {
  return names.reduce((rights, name) => rights | rightBits[name], 0);
}

/** True if the set contains the permission itself. Does not consider implied permissions. */
export function hasRight(rights: Rights, right: OrganizationRight): boolean {
  return (rights & rightBits[right]) !== 0;
}

const implied: readonly (readonly [OrganizationRight, readonly OrganizationRight[]])[] = [
  ['manage-organization-access', ['manage-teams', 'manage-membership']],
  ['manage-teams', ['manage-membership']],
  ['manage-projects', ['manage-workspaces', 'read-projects']],
  ['manage-workspaces', ['read-workspaces']],
  ['read-projects', ['read-workspaces']],
];

/** The set with all implied rights, as the permission rules see it. */
export function withImplied(rights: Rights): Rights {
  return implied.reduce((all, [right, more]) => (hasRight(all, right) ? all | rightsOf(...more) : all), rights);
}

/**
 * The access to all workspaces that organization permissions grant. Callers who manage policies or agent pools must see
 * the runs that use them.
 */
export function workspaceFloor(rights: Rights): Mask {
  const overrides = hasRight(rights, 'manage-policy-overrides') ? maskOf('policies:override') : 0;
  return overrides | reachOf(rights);
}

function reachOf(rights: Rights): Mask {
  if (hasRight(rights, 'manage-workspaces') || hasRight(rights, 'manage-projects')) return workspaceAdmin;
  if (hasRight(rights, 'read-workspaces') || hasRight(rights, 'read-projects')) return workspaceGrant('read');
  const seesRuns = rightsOf('manage-policies', 'manage-policy-overrides', 'manage-agent-pools');
  return rights & seesRuns ? maskOf('runs:read') : 0;
}

/**
 * The access to all projects that organization permissions grant. Callers who manage all workspaces see every project
 * and can create workspaces in it.
 */
export function projectFloor(rights: Rights): Mask {
  if (hasRight(rights, 'manage-projects')) return projectAdmin;
  const reads = hasRight(rights, 'read-projects') ? maskOf('project:read', 'varsets:read') : 0;
  return hasRight(rights, 'manage-workspaces') ? reads | maskOf('project:read', 'workspaces:create') : reads;
}
