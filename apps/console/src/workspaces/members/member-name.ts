import type { Resource } from '../../api/workspaces';

/** What can come along with memberships. */
export type MemberIncluded = Resource<'UsersResource'> | Resource<'TeamsResource'> | Resource<'OrganizationsResource'>;

/** What a member is called. Invited people have chosen no name yet: they go by their address. */
export function memberName(
  { attributes, relationships }: Resource<'OrganizationMembershipsResource'>,
  included: readonly MemberIncluded[],
): string {
  const person = included.find((one) => one.type === 'users' && one.id === relationships.user.data?.id);
  const isHere = attributes.status === 'active' && person?.type === 'users';
  return isHere ? person.attributes.username : attributes.email;
}
