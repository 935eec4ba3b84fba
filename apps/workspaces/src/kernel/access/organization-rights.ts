import { projectAdmin, workspaceAdmin, workspaceGrant } from './access-levels';
import { type Mask, maskOf } from './capabilities';

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

const bits = Object.fromEntries(organizationRights.map((name, index) => [name, 1 << index])) as Record<
  OrganizationRight,
  number
>;

/** All permissions, which the owners team has. */
export const everyRight: Rights = rightsOf(...organizationRights);

/** The set of the named rights. */
export function rightsOf(...names: readonly OrganizationRight[]): Rights {
  return names.reduce((rights, name) => rights | bits[name], 0);
}

/** True if the set contains the permission itself. Does not consider implied permissions. */
export function hasRight(rights: Rights, right: OrganizationRight): boolean {
  return (rights & bits[right]) !== 0;
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
