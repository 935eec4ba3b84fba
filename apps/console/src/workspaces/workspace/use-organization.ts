import { useOrganizationName } from '../api';
import type { Item, Permissions } from '../data/documents';
import { useOne } from '../data/use-api';
import { organizationPath } from './use-workspace';

/** An organization, as far as the console looks at it. */
export interface OrganizationAttributes {
  readonly name: string;
  readonly email: string;
  readonly 'created-at': string;
  readonly 'default-execution-mode': string;
  readonly 'session-timeout': number | null;
  readonly 'session-remember': number | null;
  readonly 'collaborator-auth-policy': string;
  readonly permissions: Permissions;
}

/** The organization that the address names. */
export function useOrganization() {
  const org = useOrganizationName();
  const asked = useOne<OrganizationAttributes>(org === '' ? undefined : organizationPath(org));
  return { ...asked, org, path: organizationPath(org), organization: asked.data?.data };
}

/** Why something may not be done in an organization. */
export function mayIn(organization: Item<OrganizationAttributes> | undefined, permission: string): string | undefined {
  if (organization === undefined || organization.attributes.permissions[permission] === true) return undefined;
  return `This needs ${permission}. Ask an owner of ${organization.attributes.name}.`;
}
