import type { z } from 'zod';
import { leavesInTheClear } from '../../sdk/clear-text';
import { single } from '../../sdk/collection';
import { int, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import type { Organizations } from './organizations';

const fields = loginFields({
  organization: [string().describe('Organization whose members may log in.'), ''],
  organization_id: [int().describe('ID of the organization. If it is 0, the service looks it up at GitHub once.'), 0],
  base_url: [string().describe('URL of the API of a GitHub Enterprise Server: https://github.example/api/v3/.'), ''],
});
/** Who may log in, as stored. */
export type GithubConfig = z.output<typeof fields.input>;
const config = single('config', fields.input);

/** The configuration. Throws `invalid` if there is none yet. */
export const requireConfig = (storage: Storage): Promise<GithubConfig> =>
  config.require(storage, 'configuration has not been set');

/** The organization whose members may log in. */
export const configPath = (organizations: Organizations) =>
  path('config', {
    summary: 'The organization whose members may log in, and the settings of their tokens.',
    stored: ({ storage }) => config.find(storage),
    read: {
      summary: 'Read the configuration.',
      output: fields.output,
      async run({ storage }) {
        const stored = await config.find(storage);
        if (!stored) return missing;
        const { organization, organization_id, base_url } = stored;
        return data({ organization, organization_id, base_url, ...showTokenParams(stored) });
      },
    },
    write: {
      summary: 'Configure the method, or change some of its fields. Without an ID, the service looks it up at GitHub.',
      update: 'merge',
      // Not repeated after a conflict, because it calls GitHub.
      once: true,
      defaults: fields.defaults,
      input: fields.input,
      async run({ input, fields: sent, stored, storage, warn }) {
        const settings = settleTokenParams(input, sent);
        if (settings.organization === '') refuse('organization is a required parameter');
        if (settings.organization_id < 0) refuse('organization_id cannot be negative');
        const base_url = addressOf(settings.base_url);
        if (leavesInTheClear(base_url)) warn('base_url is not https: tokens are sent in the clear');
        const before = stored as GithubConfig | undefined;
        const moved = before && (before.organization !== settings.organization || before.base_url !== base_url);
        // The stored id is not kept for another organization, because it would allow members of the old one.
        const organizationId = moved && sent.organization_id == null ? 0 : settings.organization_id;
        const organization_id =
          organizationId || (await organizations.idOf({ base_url, organization: settings.organization }));
        config.put(storage, { ...settings, base_url, organization_id });
        return empty;
      },
    },
  });

function addressOf(url: string): string {
  if (url === '') return '';
  const read = URL.canParse(url) ? new URL(url) : undefined;
  if (!read || !/^https?:$/.test(read.protocol) || read.username !== '' || read.search !== '' || read.hash !== '') {
    refuse('base_url must be an https address');
  }
  return url.endsWith('/') ? url : `${url}/`;
}
