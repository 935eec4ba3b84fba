import type { Database } from '../../kernel/database';
import type { SiteSettings } from '../../kernel/environment';
import { gather } from '../../kernel/gather';

const NAME = 'general';

/** What an installation starts with; `apiRateLimit` differs by edition. */
export function defaultSettings(edition: 'hosted' | 'self-hosted'): SiteSettings {
  return {
    limitUserOrganizationCreation: false,
    apiRateLimitingEnabled: true,
    apiRateLimit: edition === 'hosted' ? 30 : 1000,
    sendPassingStatusesForUntriggeredSpeculativePlans: false,
    allowSpeculativePlansOnPullRequestsFromForks: false,
    requireTwoFactorForAdmins: false,
    fairRunQueuingEnabled: false,
    limitOrganizationsPerUser: false,
    defaultOrganizationsPerUserCeiling: 100,
    limitWorkspacesPerOrganization: false,
    defaultWorkspacesPerOrganizationCeiling: 500,
    defaultRemoteStateAccess: false,
    costEstimationEnabled: true,
  };
}

const readGeneral = { name: 'site_settings', text: 'SELECT value::text AS value FROM setting WHERE name = $1' };

/**
 * A reader of the installation's settings: always as they are in the database, requests of one moment share a query.
 * `rateLimit` from the configuration replaces what is stored.
 */
export function settingsReader(db: Database, edition: 'hosted' | 'self-hosted', rateLimit?: number) {
  const defaults = defaultSettings(edition);
  if (rateLimit !== undefined) {
    Object.assign(defaults, { apiRateLimit: rateLimit, apiRateLimitingEnabled: rateLimit > 0 });
  }
  let lastText: string | undefined;
  let last = defaults;
  const read = gather<string, string>(async () => {
    const [row] = await db.rows<{ value: string }>({ ...readGeneral, values: [NAME] });
    return new Map(row === undefined ? [] : [[NAME, row.value]]);
  });
  return async (): Promise<SiteSettings> => {
    const text = await read(NAME);
    if (text !== lastText) {
      last = { ...defaults, ...(text === undefined ? {} : (JSON.parse(text) as Partial<SiteSettings>)) };
      lastText = text;
    }
    return last;
  };
}

/** Changes the named settings and returns them all. */
export async function updateSettings(
  db: Database,
  defaults: SiteSettings,
  changes: Partial<SiteSettings>,
): Promise<SiteSettings> {
  const text = JSON.stringify(changes);
  await db.prisma.$executeRaw`
    INSERT INTO setting (name, value) VALUES (${NAME}, ${text}::jsonb)
    ON CONFLICT (name) DO UPDATE SET value = setting.value || EXCLUDED.value`;
  const stored = await db.prisma.setting.findUniqueOrThrow({ where: { name: NAME } });
  return { ...defaults, ...(stored.value as Partial<SiteSettings>) };
}
