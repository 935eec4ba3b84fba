import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

interface InOrganization {
  readonly organizationId: string;
}

const manages = (access: Access, { organizationId }: InOrganization): boolean =>
  !access.isOrganizationToken(organizationId) && access.can(organizationId, 'manage-vcs-settings');

/**
 * Reading keys requires permission to manage VCS settings, or to administer at least one workspace of the organization.
 * The organization token can never read keys. Spec: Authentication
 */
export const sshKeyPolicy = policy<InOrganization>()({
  'can-read': (access, target) =>
    manages(access, target) ||
    (!access.isOrganizationToken(target.organizationId) && access.administersSome(target.organizationId)),
  'can-update': manages,
});
