import type { Resource } from '../../api/workspaces';

/** What can be included with memberships. */
export type MemberIncluded = Resource<'UsersResource'> | Resource<'TeamsResource'> | Resource<'OrganizationsResource'>;

/** The name of a member. Invited people have none yet and are shown by their email address. */
export function memberName(
  { attributes, relationships }: Resource<'OrganizationMembershipsResource'>,
  included: readonly MemberIncluded[],
): string {
  const person = included.find((one) => one.type === 'users' && one.id === relationships.user.data?.id);
  const isHere = attributes.status === 'active' && person?.type === 'users';
  return isHere ? person.attributes.username : attributes.email;
}
