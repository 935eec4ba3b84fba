import { document, flag } from '@keystead/jsonapi';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import { type Endpoint, endpoints, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import { timeout } from '../../../kernel/installation/run-timeouts';
import { settingsAttributes } from '../../installation/settings/attributes';
import { updateSettings } from '../../installation/settings/service';
import { shownTimeouts, timeoutAliases, timeoutsOf, timeoutText, withOneName } from './timeouts';

const generalId = 'general';
const costId = 'cost-estimation';

const shape = { ...settingsAttributes.shape, ...timeoutText };

const settingsSerializer = serializerOf<SiteSettings>()({
  type: 'general-settings',
  shape,
  id: () => generalId,
  aliases: timeoutAliases,
  attributes: (settings, view) => ({
    ...settingsAttributes.show(settings, view),
    ...shownTimeouts(settings.planTimeout, settings.applyTimeout),
  }),
});

const costSerializer = serializerOf<SiteSettings>()({
  type: 'cost-estimation-settings',
  shape: {
    enabled: flag,
  },
  id: () => costId,
  attributes: ({ costEstimationEnabled }) => ({ enabled: costEstimationEnabled }),
});

const UpdateGeneral = document('general-settings', {
  untyped: true,
  attributes: { ...settingsAttributes.update, ...timeoutsOf(timeout.optional()) },
  aliases: timeoutAliases,
});

const noEstimates = 'cost estimation is not supported';
const UpdateCost = document('cost-estimation-settings', {
  untyped: true,
  attributes: { enabled: flag.optional() },
  unserved: {
    'aws-access-key-id': noEstimates,
    'aws-secret-key': noEstimates,
    'gcp-credentials': noEstimates,
    'azure-client-id': noEstimates,
    'azure-client-secret': noEstimates,
    'azure-subscription-id': noEstimates,
    'azure-tenant-id': noEstimates,
  },
});

const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const general = endpoints({} as Policy<undefined>, settingsSerializer);
const cost = endpoints({} as Policy<undefined>, costSerializer);

type Changing = Parameters<typeof actorOf>[0] & { settings: SiteSettings; db: Parameters<typeof recordChange>[0] };

async function change(call: Changing, changes: Partial<SiteSettings>): Promise<SiteSettings> {
  const sent = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  return call.db.transaction(async (tx) => {
    const after = await updateSettings(tx, call.settings, sent);
    await recordChange(tx, actorOf(call), {
      organizationId: null,
      action: 'settings.update',
      target: { type: 'general-settings', id: generalId },
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
    summary: 'Change settings of the installation; omitted fields keep their values.',
    body: UpdateGeneral,
    names: () => generalId,
    run: ({ body, ...call }) => change(call, withOneName(body)),
  }),
  cost.get('/admin/cost-estimation-settings', {
    ...admin,
    summary: 'Show the cost estimation settings.',
    run: async ({ settings }) => settings,
  }),
  cost.patch('/admin/cost-estimation-settings', {
    ...admin,
    summary: 'Turn cost estimation on or off.',
    body: UpdateCost,
    names: () => costId,
    run: ({ body, ...call }) => change(call, { costEstimationEnabled: body.enabled }),
  }),
];
