import type { Database } from '../../../kernel/database/database';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import { defaultTimeouts } from '../../../kernel/installation/run-timeouts';
import { settingsAttributes } from './attributes';

const NAME = 'general';

/** The initial settings of an installation; `apiRateLimit` differs by edition. */
function defaultSettings(edition: 'hosted' | 'self-hosted'): SiteSettings {
  return {
    ...settingsAttributes.initial,
    ...(edition === 'hosted' ? { apiRateLimit: 30 } : {}),
    costEstimationEnabled: true,
    samlEnabled: false,
    scimEnabled: false,
    planTimeout: defaultTimeouts.plan,
    applyTimeout: defaultTimeouts.apply,
  };
}

const readSettings = {
  name: 'site_settings',
  text: 'SELECT name AS key, value::text AS value FROM setting WHERE name = ANY($1)',
  quick: true,
};

/** The stored settings as text, for statements that read them together with other data; null if there are none. */
export const storedSettings = `(SELECT s.value::text FROM setting s WHERE s.name = '${NAME}')`;

/** Reads the installation's settings, always as they are in the database. */
export interface SettingsReader {
  /** Simultaneous requests share a query. */
  read(): Promise<SiteSettings>;
  /** The settings in a string that was read as `storedSettings`. */
  of(text: string | null): SiteSettings;
}

/** A reader of settings; `rateLimit` from the configuration replaces the stored one. */
export function settingsReader(db: Database, edition: 'hosted' | 'self-hosted', rateLimit?: number): SettingsReader {
  const defaults = defaultSettings(edition);
  if (rateLimit !== undefined) {
    Object.assign(defaults, { apiRateLimit: rateLimit, apiRateLimitingEnabled: rateLimit > 0 });
  }
  let lastText: string | null = null;
  let last = defaults;
  const of = (text: string | null): SiteSettings => {
    if (text !== lastText) {
      last = { ...defaults, ...(text === null ? {} : (JSON.parse(text) as Partial<SiteSettings>)) };
      lastText = text;
    }
    return last;
  };
  return {
    of,
    read: async () => of((await db.readOne<{ key: string; value: string }>(readSettings, NAME))?.value ?? null),
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
