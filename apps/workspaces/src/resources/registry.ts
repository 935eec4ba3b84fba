import type { Includable, Resource } from '../kernel/endpoint';
import { entitlementSetResource } from './entitlement-sets/routes';
import { membershipResource } from './memberships/routes';
import { organizationResource } from './organizations/routes';
import { projectResource } from './projects/routes';
import { serviceResource } from './settings/discovery';
import { teamResource } from './teams/routes';
import { tokenResource } from './tokens/routes';
import { userResource } from './users/routes';
import { workspaceResource } from './workspaces/routes';

/** Every resource of the service, each after those it calls. */
export const resources: readonly Resource[] = [
  serviceResource,
  userResource,
  organizationResource,
  entitlementSetResource,
  teamResource,
  membershipResource,
  tokenResource,
  projectResource,
  workspaceResource,
];

/** What answers may include, by type. */
export function includablesOf(all: readonly Resource[]): ReadonlyMap<string, Includable> {
  return new Map(all.flatMap((resource) => Object.entries(resource.includable ?? {})));
}
