import type { Resource } from '../../api/workspaces';

/** The resources that the service can include with memberships. */
export type MemberIncluded = Resource<'UsersResource'> | Resource<'TeamsResource'> | Resource<'OrganizationsResource'>;

/** The name of a member. An invited person has no name yet, so the email address is returned. */
export function memberName(
  { attributes, relationships }: Resource<'OrganizationMembershipsResource'>,
  included: readonly MemberIncluded[],
): string {
  const person = included.find((one) => one.type === 'users' && one.id === relationships.user.data?.id);
  const isHere = attributes.status === 'active' && person?.type === 'users';
  return isHere ? person.attributes.username : attributes.email;
}
