import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { int, oneOf, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { CloudTwo, Connection } from './cloud';
import { checkTemplate, nameLimits } from './user-name';

const credentialSources = ['static', 'environment'] as const;

const RootInput = z.object({
  access_key: string().describe('Access key id of the user that makes and ends credentials.'),
  secret_key: secretString().describe('Secret of access_key; never shown again.'),
  credential_source: oneOf(credentialSources).describe(
    'static: access_key and secret_key as given. environment: what the service finds around it.',
  ),
  region: string().describe('Region; empty takes CLOUDTWO_REGION, CLOUDTWO_DEFAULT_REGION, then us-east-1.'),
  max_retries: int().describe('Retries of a failed call; -1 leaves it to the provider library.'),
  iam_endpoint: string().describe('Address of the identity API, where it is not the provider’s own.'),
  sts_endpoint: string().describe('Address of the token service, where it is not the provider’s own.'),
  username_template: string().describe('Template of generated names; empty takes the built-in one.'),
});
/** The stored configuration; `pending` is a new root key that a rotation has not switched to yet. */
export const Root = RootInput.extend({
  pending: z.object({ access_key: z.string(), secret_key: z.string() }).optional(),
  retiring: z.string().optional(),
});
export type Root = z.output<typeof Root>;
export const root = single('config/root', Root);

const defaults: Root = {
  access_key: '',
  secret_key: '',
  credential_source: 'static',
  region: '',
  max_retries: -1,
  iam_endpoint: '',
  sts_endpoint: '',
  username_template: '',
};

/** The configuration in force; without a stored one everything comes from the environment. */
export async function rootInForce(storage: Storage): Promise<Root> {
  return (await root.find(storage)) ?? { ...defaults, credential_source: 'environment' };
}

/** How the provider is reached with a configuration. */
export function connection(config: Root): Connection {
  const isStatic = config.credential_source === 'static' && config.access_key !== '';
  return {
    region: config.region,
    maxRetries: config.max_retries,
    iamEndpoint: config.iam_endpoint,
    stsEndpoint: config.sts_endpoint,
    credentials: isStatic ? { accessKeyId: config.access_key, secretAccessKey: config.secret_key } : undefined,
  };
}

/** The root credentials and how the provider is reached. Spec: Cloud-provider engine (Root configuration). */
export const rootPath = (cloud: CloudTwo) =>
  path('config/root', {
    summary: 'Root credentials and how the cloud provider is reached.',
    spec: 'Cloud-provider engine',
    read: {
      summary: 'Read the root configuration, without the secret.',
      async run({ storage }) {
        const stored = await root.find(storage);
        if (!stored) return missing;
        const { access_key, iam_endpoint, max_retries, region, sts_endpoint, username_template } = stored;
        return data({ access_key, iam_endpoint, max_retries, region, sts_endpoint, username_template });
      },
    },
    write: {
      summary: 'Configure the engine; replaces everything. Credentials are not tried.',
      update: 'replace',
      defaults,
      input: RootInput,
      run({ input, storage, nowMs, warn }) {
        checkKeys(input);
        for (const field of ['iam_endpoint', 'sts_endpoint'] as const) checkEndpoint(field, input[field]);
        if (input.max_retries < -1 || input.max_retries > 20) {
          throw new Refusal('invalid', 'max_retries must be -1 (as the provider library has it) or between 0 and 20');
        }
        const worst = checkTemplate(input.username_template, { nowMs });
        for (const type of ['IAM', 'STS'] as const) {
          if (worst[type] > nameLimits[type]) {
            warn(
              `username_template can give ${type} names of ${worst[type]} characters; the limit is ${nameLimits[type]}`,
            );
          }
        }
        root.put(storage, input);
        cloud.forget();
        return empty;
      },
    },
  });

function checkKeys(input: z.output<typeof RootInput>): void {
  if (input.credential_source === 'environment') {
    if (!input.access_key && !input.secret_key) return;
    throw new Refusal('invalid', 'access_key and secret_key cannot be given with credential_source environment');
  }
  for (const field of ['access_key', 'secret_key'] as const) {
    if (!input[field]) {
      throw new Refusal('invalid', `'${field}' is a required parameter, unless credential_source is environment`);
    }
  }
}

function checkEndpoint(field: string, value: string): void {
  if (value === '') return;
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return;
  throw new Refusal('invalid', `${field} must be an http or https address, got ${JSON.stringify(value)}`);
}
