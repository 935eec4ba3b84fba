import type { Includable, Resource } from '../kernel/endpoints/endpoint';
import { adminResource } from './administration/admin/routes';
import { auditResource } from './administration/audit';
import { auditConfigurationResource } from './administration/audit-configuration';
import { explorerResource } from './administration/explorer/routes';
import { moduleTestResource } from './artifacts/module-tests/routes';
import { moduleResource } from './artifacts/modules/routes';
import { noCodeResource } from './artifacts/no-code/routes';
import { policyResource } from './artifacts/policies/routes';
import { policySetResource } from './artifacts/policies/set-routes';
import { policyDryRunResource } from './artifacts/policy-dry-runs/routes';
import { gpgKeyResource } from './artifacts/providers/gpg-keys';
import { providerResource } from './artifacts/providers/routes';
import { addressListResource } from './connections/address-lists/routes';
import { agentPoolResource } from './connections/agent-pools/routes';
import { appInstallationsResource } from './connections/app-installations/routes';
import { oauthResource } from './connections/oauth/routes';
import { repositoryResource } from './connections/repositories/routes';
import { sshKeyResource } from './connections/ssh-keys/routes';
import { identityTokensResource } from './installation/identity-tokens/routes';
import { serviceResource } from './installation/settings/discovery';
import { ipRangesResource } from './installation/settings/ip-ranges';
import { openapiResource } from './openapi';
import { entitlementSetResource } from './organizations/entitlement-sets/routes';
import { moduleProducerResource } from './organizations/organizations/module-producers';
import { organizationResource } from './organizations/organizations/routes';
import { tokenLifetimeResource } from './organizations/organizations/token-lifetimes';
import { subscriptionResource } from './organizations/subscriptions/routes';
import { membershipResource } from './people/memberships/routes';
import { scimResource } from './people/scim/admin-routes';
import { sessionResource } from './people/sessions/routes';
import { signInProviderResource } from './people/sign-in-providers/routes';
import { samlResource } from './people/sign-in-providers/saml/routes';
import { teamResource } from './people/teams/routes';
import { tokenResource } from './people/tokens/routes';
import { userResource } from './people/users/routes';
import { agentResource } from './runs/agents/routes';
import { applyResource } from './runs/applies';
import { assessmentResource } from './runs/assessments/routes';
import { changeRequestResource } from './runs/change-requests';
import { commentResource } from './runs/comments';
import { configurationVersionResource } from './runs/configuration-versions/routes';
import { notificationResource } from './runs/notifications/routes';
import { planExportResource } from './runs/plan-exports/routes';
import { planResource } from './runs/plans';
import { judgingResource } from './runs/policy-evaluations/judging-routes';
import { policyEvaluationResource } from './runs/policy-evaluations/routes';
import { queryResource } from './runs/queries/routes';
import { runEventResource } from './runs/run-events';
import { runTriggerResource } from './runs/run-triggers/routes';
import { runResource } from './runs/runs/routes';
import { taskStageResource } from './runs/task-stages/routes';
import { fetchResource } from './runs/vcs/fetch-routes';
import { vcsResource } from './runs/vcs/routes';
import { retentionResource } from './states/data-retention/routes';
import { stateVersionResource } from './states/state-versions/routes';
import { identityResource } from './workspaces/identities/routes';
import { projectResource } from './workspaces/projects/routes';
import { runTaskResource } from './workspaces/run-tasks/routes';
import { tagResource } from './workspaces/tags/routes';
import { teamAccessResource } from './workspaces/team-access/routes';
import { variableSetResource } from './workspaces/variable-sets/routes';
import { variableResource } from './workspaces/variables/routes';
import { workspaceResource } from './workspaces/workspaces/routes';

/** All resources in the API description, in dependency order: each resource comes after the resources that it uses. */
const described: readonly Resource[] = [
  serviceResource,
  ipRangesResource,
  identityTokensResource,
  userResource,
  organizationResource,
  moduleProducerResource,
  tokenLifetimeResource,
  subscriptionResource,
  entitlementSetResource,
  teamResource,
  membershipResource,
  tokenResource,
  sessionResource,
  signInProviderResource,
  samlResource,
  scimResource,
  projectResource,
  sshKeyResource,
  oauthResource,
  repositoryResource,
  appInstallationsResource,
  agentPoolResource,
  addressListResource,
  workspaceResource,
  tagResource,
  teamAccessResource,
  variableResource,
  variableSetResource,
  identityResource,
  runTaskResource,
  stateVersionResource,
  runResource,
  agentResource,
  taskStageResource,
  policyEvaluationResource,
  judgingResource,
  fetchResource,
  runTriggerResource,
  notificationResource,
  planResource,
  planExportResource,
  assessmentResource,
  applyResource,
  runEventResource,
  commentResource,
  changeRequestResource,
  configurationVersionResource,
  queryResource,
  vcsResource,
  moduleResource,
  moduleTestResource,
  noCodeResource,
  providerResource,
  gpgKeyResource,
  policyResource,
  policySetResource,
  policyDryRunResource,
  retentionResource,
  adminResource,
  auditResource,
  auditConfigurationResource,
  explorerResource,
];

/** Every resource of the service. */
export const resources: readonly Resource[] = [...described, openapiResource(described)];

/** The values that `?include=` accepts, by resource type. */
export function includablesOf(all: readonly Resource[]): ReadonlyMap<string, Includable> {
  return new Map(all.flatMap((resource) => Object.entries(resource.includable ?? {})));
}
