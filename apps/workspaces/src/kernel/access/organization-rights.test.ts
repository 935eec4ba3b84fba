import { describe, expect, it } from '@jest/globals';
import {
  everyRight,
  hasRight,
  maskOf,
  namesOf,
  type OrganizationRight,
  organizationRights,
  projectAdmin,
  projectFloor,
  rightsOf,
  withImplied,
  workspaceAdmin,
  workspaceFloor,
  workspaceGrant,
} from './capabilities';

const implies: Partial<Record<OrganizationRight, readonly OrganizationRight[]>> = {
  'manage-organization-access': ['manage-teams', 'manage-membership'],
  'manage-teams': ['manage-membership'],
  'manage-projects': ['manage-workspaces', 'read-projects', 'read-workspaces'],
  'manage-workspaces': ['read-workspaces'],
  'read-projects': ['read-workspaces'],
};
const inWorkspaces: Partial<Record<OrganizationRight, number>> = {
  'manage-workspaces': workspaceAdmin,
  'manage-projects': workspaceAdmin,
  'read-workspaces': workspaceGrant('read'),
  'read-projects': workspaceGrant('read'),
  'manage-policies': maskOf('runs:read'),
  'manage-policy-overrides': maskOf('runs:read', 'policies:override'),
  'manage-agent-pools': maskOf('runs:read'),
};
const inProjects: Partial<Record<OrganizationRight, number>> = {
  'manage-projects': projectAdmin,
  'read-projects': maskOf('project:read', 'varsets:read'),
  'manage-workspaces': maskOf('project:read', 'workspaces:create'),
};
const named = (rights: number) => organizationRights.filter((right) => hasRight(rights, right));

describe('rights in an organization', () => {
  it.each(organizationRights)('%s includes its implied rights, and grants the right capabilities', (right) => {
    const rights = rightsOf(right);
    expect(named(rights)).toEqual([right]);
    expect(named(withImplied(rights)).sort()).toEqual([right, ...(implies[right] ?? [])].sort());
    expect(namesOf(workspaceFloor(rights))).toEqual(namesOf(inWorkspaces[right] ?? 0));
    expect(namesOf(projectFloor(rights))).toEqual(namesOf(inProjects[right] ?? 0));
  });

  it('grant the union if combined', () => {
    expect(named(everyRight)).toEqual([...organizationRights]);
    expect(withImplied(everyRight)).toBe(everyRight);
    expect(workspaceFloor(everyRight)).toBe(workspaceAdmin | maskOf('policies:override'));
    expect(projectFloor(everyRight)).toBe(projectAdmin);
    const both = projectFloor(rightsOf('read-projects', 'manage-workspaces'));
    expect(namesOf(both)).toEqual(['project:read', 'workspaces:create', 'varsets:read']);
    expect(workspaceFloor(rightsOf('read-workspaces', 'manage-policies'))).toBe(workspaceGrant('read'));
  });

  it('grant nothing if there are none', () => {
    expect([named(0), withImplied(0), workspaceFloor(0), projectFloor(0)]).toEqual([[], 0, 0, 0]);
  });
});
