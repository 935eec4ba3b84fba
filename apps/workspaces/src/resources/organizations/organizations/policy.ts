import type { Access } from '../../../kernel/access/access';
import { type Policy, policy } from '../../../kernel/access/policy';
import type { Organization } from './organization';

const owner = (access: Access, { id }: Organization): boolean => access.isOwner(id);
/**
 * Whether the caller has the organization's own token, which may use everything except settings about billing or
 * sign-in.
 */
const ownToken = (access: Access, { id }: Organization): boolean => access.isOrganizationToken(id);

const createsWorkspaces = (access: Access, org: Organization): boolean =>
  access.can(org.id, 'manage-workspaces') || access.createsInSome(org.id) || ownToken(access, org);

/**
 * The permission rules of organizations, by the names that the API shows. Permissions for features that do not exist or
 * are not in the plan are denied to everyone. Spec: Organization (type `organizations`; id is the organization name)
 */
export const organizationPolicy = policy<Organization>()({
  'can-update': owner,
  'can-destroy': owner,
  'can-access-via-teams': (access, org) => org.entitlements.teams && (owner(access, org) || ownToken(access, org)),
  'can-create-module': (access, org) => access.can(org.id, 'manage-modules'),
  'can-create-team': (access, org) => org.entitlements.teams && access.can(org.id, 'manage-teams'),
  'can-create-workspace': createsWorkspaces,
  'can-manage-users': (access, org) => access.can(org.id, 'manage-membership'),
  'can-manage-subscription': owner,
  'can-manage-sso': () => false,
  'can-update-oauth': (access, org) => access.can(org.id, 'manage-vcs-settings'),
  'can-update-polengine': (access, org) => org.entitlements.polengine && access.can(org.id, 'manage-policies'),
  'can-update-ssh-keys': (access, org) => access.can(org.id, 'manage-vcs-settings') && !ownToken(access, org),
  'can-update-api-token': owner,
  'can-traverse': (access, org) => access.canTraverse(org.id),
  'can-start-trial': owner,
  'can-update-agent-pools': (access, org) => org.entitlements.agents && access.can(org.id, 'manage-agent-pools'),
  'can-manage-tags': (access, org) => access.can(org.id, 'manage-workspaces'),
  'can-manage-varsets': (access, org) => access.can(org.id, 'manage-workspaces'),
  'can-read-varsets': (access, org) => access.can(org.id, 'read-workspaces'),
  'can-manage-public-providers': (access, org) => access.can(org.id, 'manage-public-providers'),
  'can-create-provider': (access, org) => access.can(org.id, 'manage-providers'),
  'can-manage-public-modules': (access, org) => access.can(org.id, 'manage-public-modules'),
  'can-manage-custom-providers': () => false,
  'can-manage-run-tasks': (access, org) => org.entitlements.runTasks && access.can(org.id, 'manage-run-tasks'),
  'can-read-run-tasks': (access, org) => org.entitlements.runTasks && access.isMember(org.id),
  'can-deploy-no-code-modules': createsWorkspaces,
  'can-manage-no-code-modules': (access, org) => access.can(org.id, 'manage-modules'),
  'can-create-project': (access, org) => access.can(org.id, 'manage-projects'),
} satisfies Policy<Organization>);
