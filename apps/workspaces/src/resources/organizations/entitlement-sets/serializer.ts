import { serializer } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../organizations/organization';
import { entitlementAttributes, entitlementShape } from '../subscriptions/entitlement-attributes';

const entitlementSetAttributes = {
  ...entitlementShape,
};

/** Spec: Entitlement set (type `entitlement-sets`; id equals the organization external-id) */
export const entitlementSetSerializer = serializer<Organization, View, typeof entitlementSetAttributes>({
  type: 'entitlement-sets',
  shape: entitlementSetAttributes,
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/entitlement-sets/${id}`,
  aliases: { polengine: 'sentinel' },
  attributes: ({ entitlements }, { edition, settings }) => ({
    ...entitlementAttributes(entitlements),
    'cost-estimation': entitlements.costEstimation && (edition === 'hosted' || settings.costEstimationEnabled),
  }),
});
