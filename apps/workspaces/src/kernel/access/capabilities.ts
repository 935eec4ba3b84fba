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
export function settingsMask<D extends Record<string, Dial>>(
  dials: D,
  settings: Record<keyof D, string | boolean>,
): Mask {
  return Object.entries(dials).reduce((mask, [name, dial]) => mask | dialMask(dial, settings[name]!), 0);
}
