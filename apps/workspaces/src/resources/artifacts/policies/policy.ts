import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

interface OfOrganization {
  readonly organizationId: string;
}

/** Whether the caller may read policies. Members of an organization see the policies that apply to their runs. */
export const readsPolicies = (access: Access, { organizationId }: OfOrganization): boolean =>
  access.isMember(organizationId);

/** The permission rules of policies, policy sets and their parameters. */
export const policyPolicy = policy<OfOrganization>()({
  'can-manage': (access, { organizationId }) => access.can(organizationId, 'manage-policies'),
});
