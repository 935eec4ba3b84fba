import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { entitlementAttributes, entitlementShape } from '../../../kernel/installation/entitlements';
import type { Organization } from '../organizations/organization';

/** Spec: Entitlement set (type `entitlement-sets`; id equals the organization external-id) */
export const entitlementSetSerializer = serializerOf<Organization>()({
  type: 'entitlement-sets',
  shape: entitlementShape,
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/entitlement-sets/${id}`,
  aliases: { polengine: 'sentinel' },
  attributes: ({ entitlements }, { edition, settings }) => ({
    ...entitlementAttributes(entitlements),
    'cost-estimation': entitlements.costEstimation && (edition === 'hosted' || settings.costEstimationEnabled),
  }),
});
