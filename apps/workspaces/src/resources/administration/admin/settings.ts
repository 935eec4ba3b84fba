import { document, flag, serializer, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import { type Endpoint, endpoints, type View } from '../../../kernel/endpoints/endpoint';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import { timeout } from '../../../kernel/installation/run-timeouts';
import { updateSettings } from '../../installation/settings/service';
import { shownTimeouts, timeoutAliases, timeoutsOf, timeoutText, withOneName } from './timeouts';

const settingsAttributes = {
  'limit-user-organization-creation': flag,
  'api-rate-limiting-enabled': flag,
  'api-rate-limit': whole,
  'send-passing-statuses-for-untriggered-speculative-plans': flag,
  'allow-speculative-plans-on-pull-requests-from-forks': flag,
  'require-two-factor-for-admins': flag,
  'fair-run-queuing-enabled': flag,
  'limit-organizations-per-user': flag,
  'default-organizations-per-user-ceiling': whole,
  'limit-workspaces-per-organization': flag,
  'default-workspaces-per-organization-ceiling': whole,
  'default-remote-state-access': flag,
  ...timeoutText,
};

const settingsSerializer = serializer<SiteSettings, View, typeof settingsAttributes>({
  type: 'general-settings',
  shape: settingsAttributes,
  id: () => 'general',
  aliases: timeoutAliases,
  attributes: (settings) => ({
    'limit-user-organization-creation': settings.limitUserOrganizationCreation,
    'api-rate-limiting-enabled': settings.apiRateLimitingEnabled,
    'api-rate-limit': settings.apiRateLimit,
    'send-passing-statuses-for-untriggered-speculative-plans':
      settings.sendPassingStatusesForUntriggeredSpeculativePlans,
    'allow-speculative-plans-on-pull-requests-from-forks': settings.allowSpeculativePlansOnPullRequestsFromForks,
    'require-two-factor-for-admins': settings.requireTwoFactorForAdmins,
    'fair-run-queuing-enabled': settings.fairRunQueuingEnabled,
    'limit-organizations-per-user': settings.limitOrganizationsPerUser,
    'default-organizations-per-user-ceiling': settings.defaultOrganizationsPerUserCeiling,
    'limit-workspaces-per-organization': settings.limitWorkspacesPerOrganization,
    'default-workspaces-per-organization-ceiling': settings.defaultWorkspacesPerOrganizationCeiling,
    'default-remote-state-access': settings.defaultRemoteStateAccess,
    ...shownTimeouts(settings.planTimeout, settings.applyTimeout),
  }),
});

const costAttributes = {
  enabled: flag,
};

const costSerializer = serializer<SiteSettings, View, typeof costAttributes>({
  type: 'cost-estimation-settings',
  shape: costAttributes,
  id: () => 'cost-estimation',
  attributes: ({ costEstimationEnabled }) => ({ enabled: costEstimationEnabled }),
});

const ceiling = z.int().min(1).max(1_000_000).optional();
const switched = z.boolean().optional();

const UpdateGeneral = document('general-settings', {
  untyped: true,
  attributes: {
    'limit-user-organization-creation': switched,
    'api-rate-limiting-enabled': switched,
    'api-rate-limit': z.int().min(0).max(1_000_000).optional(),
    'send-passing-statuses-for-untriggered-speculative-plans': switched,
    'allow-speculative-plans-on-pull-requests-from-forks': switched,
    'require-two-factor-for-admins': switched,
    'fair-run-queuing-enabled': switched,
    'limit-organizations-per-user': switched,
    'default-organizations-per-user-ceiling': ceiling,
    'limit-workspaces-per-organization': switched,
    'default-workspaces-per-organization-ceiling': ceiling,
    'default-remote-state-access': switched,
    ...timeoutsOf(timeout.optional()),
  },
  aliases: timeoutAliases,
});

const UpdateCost = document('cost-estimation-settings', { untyped: true, attributes: { enabled: switched } });

const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const general = endpoints({} as Policy<undefined>, settingsSerializer);
const cost = endpoints({} as Policy<undefined>, costSerializer);

type Changing = Parameters<typeof actorOf>[0] & { settings: SiteSettings; db: Parameters<typeof recordChange>[0] };

async function change(call: Changing, changes: Partial<SiteSettings>): Promise<SiteSettings> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  return call.db.transaction(async (tx) => {
    const after = await updateSettings(tx, call.settings, given);
    await recordChange(tx, actorOf(call), {
      organizationId: null,
      action: 'settings.update',
      target: { type: 'general-settings', id: 'general' },
      before: { ...call.settings },
      after: { ...after },
    });
    return after;
  });
}

/** Settings of the installation. */
export const settingEndpoints: readonly Endpoint[] = [
  general.get('/admin/general-settings', {
    ...admin,
    summary: 'Show the settings of the installation.',
    run: async ({ settings }) => settings,
  }),
  general.patch('/admin/general-settings', {
    ...admin,
    summary: 'Change settings of the installation; what is left out keeps its value.',
    body: UpdateGeneral,
    run: ({ body, ...call }) => change(call, withOneName(body)),
  }),
  cost.get('/admin/cost-estimation-settings', {
    ...admin,
    summary: 'Show whether cost estimation is offered.',
    run: async ({ settings }) => settings,
  }),
  cost.patch('/admin/cost-estimation-settings', {
    ...admin,
    summary: 'Offer cost estimation, or stop offering it.',
    body: UpdateCost,
    run: ({ body, ...call }) => change(call, { costEstimationEnabled: body.enabled }),
  }),
];
