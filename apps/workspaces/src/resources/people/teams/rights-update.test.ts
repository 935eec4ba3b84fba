import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { hasRight, organizationRights, rightsOf, withImplied } from '../../../kernel/access/capabilities';
import { updateRights } from './rights-update';

const names = (rights: number) => organizationRights.filter((right) => hasRight(rights, right));

describe('rights of a team', () => {
  it.each([
    ['managing projects', { manageProjects: true }, ['manage-workspaces', 'manage-projects']],
    ['reading projects', { readProjects: true }, ['read-workspaces', 'read-projects']],
    ['managing teams', { manageTeams: true }, ['manage-membership', 'manage-teams']],
    [
      'managing organization access',
      { manageOrganizationAccess: true },
      ['manage-membership', 'manage-teams', 'manage-organization-access'],
    ],
  ])('granting %s grants the rights that it requires', (_what, input, expected) => {
    expect(names(updateRights(0, input))).toEqual(expected);
  });

  it.each([
    ['manage-workspaces', 'manage-projects', { manageWorkspaces: false }],
    ['read-workspaces', 'read-projects', { readWorkspaces: false }],
    ['manage-membership', 'manage-teams', { manageMembership: false }],
  ] as const)('removing %s removes %s', (needed, right, input) => {
    expect(names(updateRights(rightsOf(needed, right), input))).toEqual([]);
  });

  it.each([
    [{ manageProjects: true, manageWorkspaces: false }, 'manage-projects'],
    [{ readProjects: true, readWorkspaces: false }, 'read-projects'],
    [{ manageTeams: true, manageMembership: false }, 'manage-teams'],
  ])('%j is contradictory', (input, right) => {
    expect(() => updateRights(0, input)).toThrow(Refusal);
    try {
      updateRights(0, input);
    } catch (error) {
      expect((error as Refusal).issues.map(({ path }) => path)).toEqual([['organizationAccess', right]]);
    }
  });

  it('null and absence leave a right as it is', () => {
    const before = rightsOf('manage-modules', 'read-workspaces');
    expect(updateRights(before, { manageModules: null })).toBe(before);
  });

  it('rules see implied rights even if they are not set', () => {
    expect(names(withImplied(rightsOf('manage-workspaces')))).toEqual(['manage-workspaces', 'read-workspaces']);
  });
});
