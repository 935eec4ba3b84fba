import { invalidAll } from '@keystead/jsonapi';
import {
  hasRight,
  type OrganizationRight,
  organizationRights,
  type Rights,
  rightsOf,
} from '../../../kernel/access/capabilities';

/**
 * Permissions that require another permission. Granting them also grants the required one; removing the required
 * permission also removes them.
 */
const needs: readonly (readonly [OrganizationRight, OrganizationRight])[] = [
  ['manage-organization-access', 'manage-teams'],
  ['manage-organization-access', 'manage-membership'],
  ['manage-teams', 'manage-membership'],
  ['manage-projects', 'manage-workspaces'],
  ['read-projects', 'read-workspaces'],
];

/**
 * Permissions in a request, by their names in the service: `manageProjects`. Absent and null permissions do not change.
 */
export type RightsInput = Readonly<Record<string, boolean | null | undefined>>;

/**
 * The permissions after a request. Granting a permission also grants the permission that it requires. Removing a
 * permission also removes the permissions that require it. Throws `invalid` with the name of the permission if a
 * request grants it and removes the permission that it requires.
 */
export function updateRights(current: Rights, input: RightsInput): Rights {
  const requested = new Map(organizationRights.map((right) => [right, input[camel(right)] ?? undefined]));
  const contradictions = needs.filter(
    ([right, needed]) => requested.get(right) === true && requested.get(needed) === false,
  );
  if (contradictions.length > 0) {
    throw invalidAll(
      contradictions.map(([right, needed]) => ({
        path: ['organizationAccess', right],
        message: `requires ${needed} to be set to true`,
      })),
    );
  }
  let rights = current;
  for (const [right, value] of requested) {
    if (value !== undefined) rights = value ? rights | rightsOf(right) : rights & ~rightsOf(right);
  }
  for (const [right, needed] of needs) {
    if (requested.get(right) === true) rights |= rightsOf(needed);
    else if (hasRight(rights, right) && !hasRight(rights, needed)) rights &= ~rightsOf(right);
  }
  return rights;
}

function camel(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
