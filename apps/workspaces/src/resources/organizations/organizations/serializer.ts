import { hasOne, linksTo, related, sometimes, toOne } from '@keystead/jsonapi';
import { type Cached, serializerOf } from '../../../kernel/endpoints/endpoint';
import { organizationAttributes } from './attributes';
import type { Organization } from './organization';
import { organizationPolicy } from './policy';

const path = ({ name }: Organization): string => `/api/v2/organizations/${name}`;

/** The types of data retention policies. */
export const retentionTypes = ['data-retention-policy-dont-deletes', 'data-retention-policy-delete-olders'] as const;

/** The type of a policy: whether old data is deleted or kept. */
export function retentionType(days: number | null): (typeof retentionTypes)[number] {
  return days === null ? 'data-retention-policy-dont-deletes' : 'data-retention-policy-delete-olders';
}

const { shape, show } = organizationAttributes;

/** Spec: Organization (type `organizations`; id is the organization name) */
export const organizationSerializer = serializerOf<Organization>()({
  type: 'organizations',
  shape,
  relations: {
    'default-agent-pool': hasOne('agent-pools'),
    'default-project': hasOne('projects'),
    'oauth-tokens': linksTo(),
    'authentication-token': linksTo(),
    'entitlement-set': hasOne('entitlement-sets'),
    subscription: hasOne('subscriptions'),
    'module-producers': sometimes(linksTo()),
    'data-retention-policy': sometimes(hasOne(...retentionTypes)),
  },
  id: ({ name }) => name,
  self: path,
  aliases: { 'permissions.can-update-polengine': 'permissions.can-update-sentinel' },
  attributes: show,
  relationships: (org, view) => ({
    'default-agent-pool': toOne('agent-pools', org.defaultAgentPoolId),
    'default-project': toOne('projects', org.defaultProjectId),
    'oauth-tokens': related(`${path(org)}/oauth-tokens`),
    'authentication-token': related(`${path(org)}/authentication-token`),
    'entitlement-set': toOne('entitlement-sets', org.id, `${path(org)}/entitlement-set`),
    subscription:
      view.edition === 'hosted'
        ? toOne('subscriptions', org.subscriptionId, `${path(org)}/subscription`)
        : toOne('subscriptions', null),
    ...(view.edition === 'self-hosted'
      ? {
          'module-producers': related(`${path(org)}/relationships/module-producers`),
          'data-retention-policy': {
            data: org.retentionId === null ? null : { id: org.retentionId, type: retentionType(org.retentionDays) },
            links: { related: `${path(org)}/relationships/data-retention-policy` },
          },
        }
      : {}),
  }),
});

/** How organizations are shown from cached text. */
export const cachedOrganizations: Cached<Organization, Organization> = {
  version: ({ id, revision, twoFactorConformant }) => `${id} ${revision} ${twoFactorConformant}`,
  rights(org, { access, settings }) {
    const may = Object.values(organizationPolicy).map((rule) => (rule(access, org) ? '1' : '0'));
    const expired = org.planEndsAt !== null && org.planEndsAt.getTime() <= Date.now();
    const { fairRunQueuingEnabled, costEstimationEnabled, samlEnabled } = settings;
    return `${fairRunQueuingEnabled} ${costEstimationEnabled} ${samlEnabled} ${expired} ${may.join('')}`;
  },
  load: async (_db, organizations) => organizations,
  idOf: ({ id }) => id,
};
