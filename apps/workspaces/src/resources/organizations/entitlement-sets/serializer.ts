import { serializer } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import { entitlementAttributes, entitlementShape } from '../../../kernel/installation/entitlements';
import type { Organization } from '../organizations/organization';

/** Spec: Entitlement set (type `entitlement-sets`; id equals the organization external-id) */
export const entitlementSetSerializer = serializer<Organization, View, typeof entitlementShape>({
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
