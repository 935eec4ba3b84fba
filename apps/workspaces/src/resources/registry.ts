import type { Includable, Resource } from '../kernel/endpoint';
import { adminResource } from './admin/routes';
import { agentPoolResource } from './agent-pools/routes';
import { applyResource } from './applies/routes';
import { auditResource } from './audit/routes';
import { commentResource } from './comments/routes';
import { configurationVersionResource } from './configuration-versions/routes';
import { retentionResource } from './data-retention/routes';
import { entitlementSetResource } from './entitlement-sets/routes';
import { identityTokensResource } from './identity-tokens/routes';
import { membershipResource } from './memberships/routes';
import { oauthResource } from './oauth/routes';
import { openapiResource } from './openapi';
import { moduleProducerResource } from './organizations/module-producers';
import { organizationResource } from './organizations/routes';
import { planResource } from './plans/routes';
import { projectResource } from './projects/routes';
import { runEventResource } from './run-events/routes';
import { runTriggerResource } from './run-triggers/routes';
import { runResource } from './runs/routes';
import { sessionResource } from './sessions/routes';
import { serviceResource } from './settings/discovery';
import { ipRangesResource } from './settings/ip-ranges';
import { sshKeyResource } from './ssh-keys/routes';
import { stateVersionResource } from './state-versions/routes';
import { subscriptionResource } from './subscriptions/routes';
import { tagResource } from './tags/routes';
import { teamAccessResource } from './team-access/routes';
import { teamResource } from './teams/routes';
import { tokenResource } from './tokens/routes';
import { userResource } from './users/routes';
import { variableSetResource } from './variable-sets/routes';
import { variableResource } from './variables/routes';
import { workspaceResource } from './workspaces/routes';

/** What the service is about, each after those it calls. */
const described: readonly Resource[] = [
  serviceResource,
  ipRangesResource,
  identityTokensResource,
  userResource,
  organizationResource,
  moduleProducerResource,
  subscriptionResource,
  entitlementSetResource,
  teamResource,
  membershipResource,
  tokenResource,
  sessionResource,
  projectResource,
  sshKeyResource,
  oauthResource,
  agentPoolResource,
  workspaceResource,
  tagResource,
  teamAccessResource,
  variableResource,
  variableSetResource,
  stateVersionResource,
  runResource,
  runTriggerResource,
  planResource,
  applyResource,
  runEventResource,
  commentResource,
  configurationVersionResource,
  retentionResource,
  adminResource,
  auditResource,
];

/** Every resource of the service. */
export const resources: readonly Resource[] = [...described, openapiResource(described)];

/** What answers may include, by type. */
export function includablesOf(all: readonly Resource[]): ReadonlyMap<string, Includable> {
  return new Map(all.flatMap((resource) => Object.entries(resource.includable ?? {})));
}
