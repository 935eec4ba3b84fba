import type { z } from 'zod';
import { leavesInTheClear } from '../../sdk/clear-text';
import { configuration } from '../../sdk/collection';
import { bool, commaList, header, int, notRedirectable, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { refuseFields } from './refused-fields';

const fields = recordFields({
  access_key: [
    header().describe('Access key ID for looking up users and roles. Needs iam:GetUser and iam:GetRole.'),
    '',
  ],
  iam_endpoint: [string().describe('URL of IAM, if it is not the provider’s own.'), ''],
  sts_endpoint: [string().describe('URL of STS. Default: the provider’s own.'), ''],
  sts_region: [
    string().describe(
      'Region of the STS endpoint to which login requests must be addressed. Empty: the global endpoint.',
    ),
    '',
  ],
  use_sts_region_from_client: [bool().describe('Accept login requests for the STS endpoint of any region.'), false],
  iam_server_id_header_value: [
    string().describe(
      'Required value of the header X-Vault-AWS-IAM-Server-ID. The header is signed, so a request for another server is refused.',
    ),
    '',
  ],
  allowed_sts_header_values: [commaList().describe('Additional signed headers that login requests may have.'), []],
  max_retries: [int().describe('Retries of a failed call to IAM; -1 uses the default of the provider library.'), -1],
  secret_key: [
    notRedirectable(secretString()).describe('Secret access key that belongs to access_key; never shown.'),
    '',
  ],
});
const unbuilt = {
  endpoint: string().describe('For EC2 logins, which are not supported: must be empty.'),
  role_arn: string().describe('For identity tokens instead of a key, which are not supported: must be empty.'),
  identity_token_audience: string().describe(
    'For identity tokens instead of a key, which are not supported: must be empty.',
  ),
};
/** The stored settings for calls to AWS. */
export type AwsClient = z.output<typeof fields.input>;
const client = configuration('config/client', fields.input);

/** The settings with their generation, which is part of the cache key of clients. */
export type AskedClient = AwsClient & { readonly generation: string };

/** The current settings for calls to AWS; by default its public addresses without a key. */
export async function clientInForce(storage: Storage): Promise<AskedClient> {
  const { value, generation } = await client.inForce(storage);
  return { ...(value ?? fields.defaults), generation };
}

/** Settings for calls to AWS, and requirements for signed requests. */
export const clientPath = path('config/client', {
  summary: 'How the method calls AWS, and what signed requests must contain.',
  stored: ({ storage }) => client.find(storage),
  read: {
    summary: 'Read the configuration. The secret key is not shown.',
    output: fields.output.omit({ secret_key: true }),
    async run({ storage }) {
      const stored = await client.find(storage);
      if (!stored) return missing;
      const { secret_key: _never, ...rest } = stored;
      return data(rest);
    },
  },
  write: {
    summary: 'Configure the method, or change some of its fields. Keys are not tested.',
    update: 'merge',
    defaults: { ...fields.defaults, endpoint: '', role_arn: '', identity_token_audience: '' },
    input: fields.input.extend(unbuilt),
    run({ input, storage, warn }) {
      const { endpoint, role_arn, identity_token_audience, ...settings } = input;
      refuseFields({ endpoint, role_arn, identity_token_audience });
      if ((settings.access_key === '') !== (settings.secret_key === '')) {
        refuse('access_key and secret_key must be set together');
      }
      for (const field of ['iam_endpoint', 'sts_endpoint'] as const) {
        if (settings[field] === '') continue;
        if (!isOrigin(settings[field])) refuse(`${field} must be an https address without a path`);
        if (leavesInTheClear(settings[field])) warn(`${field} is not https: requests are sent in the clear`);
      }
      if (!/^[a-z0-9-]{0,40}$/.test(settings.sts_region)) refuse('sts_region must be letters, digits and hyphens');
      if (settings.use_sts_region_from_client && settings.sts_region !== '') {
        refuse('sts_region and use_sts_region_from_client cannot both be set');
      }
      if (settings.max_retries < -1 || settings.max_retries > 20) refuse('max_retries must be between -1 and 20');
      const odd = settings.allowed_sts_header_values.find((name) => !/^[A-Za-z0-9-]{1,100}$/.test(name));
      if (odd !== undefined) refuse(`allowed_sts_header_values: ${JSON.stringify(odd)} is not a name of a header`);
      if (/[^\x20-\x7e]/.test(settings.iam_server_id_header_value)) {
        refuse('iam_server_id_header_value must be printable ASCII');
      }
      client.put(storage, settings);
      return empty;
    },
  },
  delete: {
    summary: 'Delete the configuration. The method then uses the provider’s own URLs and no key.',
    run({ storage }) {
      client.delete(storage);
      return empty;
    },
  },
});

function isOrigin(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, pathname, search, hash } = new URL(url);
  return /^https?:$/.test(protocol) && username === '' && pathname === '/' && search === '' && hash === '';
}
