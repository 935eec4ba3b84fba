import { attributesOf, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { SiteSettings } from '../../../kernel/endpoints/environment';

const { setting, toggle, table } = attributesOf<SiteSettings, View>();

const upTo = { type: whole, takes: z.int().min(1).max(1_000_000) };

/**
 * The settings of the installation, one row each. Request bodies, responses, initial values and the API description are
 * derived from this table.
 */
export const settingsAttributes = table({
  'limit-user-organization-creation': toggle('limitUserOrganizationCreation', false),
  'api-rate-limiting-enabled': toggle('apiRateLimitingEnabled', true),
  // The hosted edition starts with a lower limit.
  'api-rate-limit': setting('apiRateLimit', { type: whole, takes: z.int().min(0).max(1_000_000), initial: 1000 }),
  'send-passing-statuses-for-untriggered-speculative-plans': toggle(
    'sendPassingStatusesForUntriggeredSpeculativePlans',
    false,
  ),
  'allow-speculative-plans-on-pull-requests-from-forks': toggle('allowSpeculativePlansOnPullRequestsFromForks', false),
  'require-two-factor-for-admins': toggle('requireTwoFactorForAdmins', false),
  'fair-run-queuing-enabled': toggle('fairRunQueuingEnabled', true),
  'limit-organizations-per-user': toggle('limitOrganizationsPerUser', false),
  'default-organizations-per-user-ceiling': setting('defaultOrganizationsPerUserCeiling', { ...upTo, initial: 100 }),
  'limit-workspaces-per-organization': toggle('limitWorkspacesPerOrganization', false),
  'default-workspaces-per-organization-ceiling': setting('defaultWorkspacesPerOrganizationCeiling', {
    ...upTo,
    initial: 500,
  }),
  'default-remote-state-access': toggle('defaultRemoteStateAccess', false),
});
