import { document, one, type ParsedDocument } from '@keystead/jsonapi';
import { organizationAttributes } from './attributes';

const { create, update, editions } = organizationAttributes;
const relationships = { 'default-agent-pool': one('agent-pools') };

/** Body of a create. Spec: Organizations */
export const CreateOrganization = document('organizations', { attributes: create, relationships, editions });

/** Body of an update: what is left out keeps its value. Spec: Organizations */
export const UpdateOrganization = document('organizations', { attributes: update, relationships, editions });

/** What a create says. */
export type NewOrganization = ParsedDocument<typeof CreateOrganization>;
/** What an update says. */
export type OrganizationChanges = ParsedDocument<typeof UpdateOrganization>;
