import { document, one, type ParsedDocument } from '@keystead/jsonapi';
import { organizationAttributes } from './attributes';

const { create, update, editions } = organizationAttributes;
const relationships = { 'default-agent-pool': one('agent-pools') };
// `stacks-enabled` is ignored: clients of this API send it with every organization.
const unserved = {
  'enforce-hyok': 'hold your own key (HYOK) is not supported',
  'registry-monorepo-support-enabled': 'modules in a monorepo need no setting',
};

/** Body of a create. Spec: Organizations */
export const CreateOrganization = document('organizations', { attributes: create, relationships, editions, unserved });

/** Body of an update: omitted fields keep their values. Spec: Organizations */
export const UpdateOrganization = document('organizations', { attributes: update, relationships, editions, unserved });

/** The content of a create. */
export type NewOrganization = ParsedDocument<typeof CreateOrganization>;
/** The content of an update. */
export type OrganizationChanges = ParsedDocument<typeof UpdateOrganization>;
