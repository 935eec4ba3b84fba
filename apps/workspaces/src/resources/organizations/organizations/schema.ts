import { document, one } from '@keystead/jsonapi';
import { organizationAttributes } from './attributes';

const { create, update, editions } = organizationAttributes;
const relationships = { 'default-agent-pool': one('agent-pools') };

/** Body of a create. Spec: Organizations */
export const CreateOrganization = document('organizations', { attributes: create, relationships, editions });

/** Body of an update: what is left out keeps its value. Spec: Organizations */
export const UpdateOrganization = document('organizations', { attributes: update, relationships, editions });

type ValueOf<S> = S extends { parse(...given: never[]): { value: infer V } } ? V : never;

/** What a create says. */
export type NewOrganization = ValueOf<typeof CreateOrganization>;
/** What an update says. */
export type OrganizationChanges = ValueOf<typeof UpdateOrganization>;
