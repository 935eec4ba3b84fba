import { endpoints, includable, type Resource } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../organizations/policy';
import * as organizations from '../organizations/service';
import { entitlementSetSerializer } from './serializer';

const visible = organizationPolicy['can-traverse'];
const { get } = endpoints(organizationPolicy, entitlementSetSerializer, { visible });

const ofOrganization = get('/organizations/:organization_name/entitlement-set', {
  summary: 'Show what the plan of an organization allows.',
  spec: 'Organizations',
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: async ({ target }) => target,
});

const byId = get('/entitlement-sets/:id', {
  summary: 'Show an entitlement set by the external ID of its organization.',
  load: ({ db, env, params }) => organizations.find(db, env, params.id),
  run: async ({ target }) => target,
});

/** Entitlement sets: what plans allow. */
export const entitlementSetResource: Resource = {
  name: 'entitlement-sets',
  endpoints: [ofOrganization, byId],
  includable: {
    'entitlement-sets': includable({
      serializer: entitlementSetSerializer,
      load: async (db, ids, env) =>
        (await Promise.all(ids.map((id) => organizations.find(db, env, id)))).filter((found) => found !== undefined),
      visible,
    }),
  },
};
