import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

interface InOrganization {
  readonly organizationId: string;
}

const manages = (access: Access, { organizationId }: InOrganization): boolean =>
  access.can(organizationId, 'manage-vcs-settings');

/**
 * The permission rules of connections. Administrators of a workspace may see the connections through which it can be
 * linked.
 */
export const oauthPolicy = policy<InOrganization>()({
  'can-read': (access, target) => manages(access, target) || access.administersSome(target.organizationId),
  'can-update': manages,
});
