import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { newGeneration, single } from '../../sdk/collection';
import {
  announced,
  document,
  duration,
  header,
  int,
  notRedirectable,
  oneOf,
  secretString,
  string,
} from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty, missing } from '../../sdk/reply';
import { checkTerms, hasTerms, rotationFields, shownRotation } from '../../sdk/rotation-plan';
import type { Storage } from '../../sdk/storage';
import type { CloudTwo, Connection } from './cloud';
import { plan, replan } from './root-plan';
import { checkTemplate, nameLimits } from './user-name';

/** The bounds of the number of retries. -1 means the default of the provider's library. */
const retryBounds = { minimum: -1, maximum: 20 } as const;

const credentialSources = ['static', 'environment'] as const;

const fields = recordFields({
  access_key: [header().describe('Access key ID of the user that creates and deletes credentials.'), ''],
  secret_key: [
    notRedirectable(secretString()).describe('Secret access key that belongs to access_key; never shown.'),
    '',
  ],
  credential_source: [
    oneOf(credentialSources).describe(
      'static: uses access_key and secret_key. environment: uses the credentials in the service’s environment.',
    ),
    'static',
  ],
  region: [string().describe('Region. Default: CLOUDTWO_REGION, CLOUDTWO_DEFAULT_REGION, or us-east-1.'), ''],
  max_retries: [
    announced(int(), retryBounds).describe('Retries of a failed call; -1 uses the default of the provider library.'),
    -1,
  ],
  iam_endpoint: [string().describe('URL of IAM, if it is not the provider’s own.'), ''],
  sts_endpoint: [string().describe('URL of STS, if it is not the provider’s own.'), ''],
  username_template: [
    document(string()).describe('Template for generated user names. Empty: the built-in template.'),
    '',
  ],
  role_arn: [
    string().describe('ARN of a role that the service assumes with its own identity tokens, instead of a key.'),
    '',
  ],
  identity_token_audience: [string().describe('Audience of these identity tokens, as configured at the provider.'), ''],
  identity_token_ttl: [duration().describe('Lifetime of these identity tokens; 1h by default.'), 3600],
});
const RootInput = fields.input.extend(rotationFields.input.shape);
/** The stored configuration; `pending` is a new root key that a rotation has not switched to yet. */
export const Root = RootInput.extend({
  pending: z.object({ access_key: z.string(), secret_key: z.string() }).optional(),
  retiring: z.string().optional(),
  /** The mount in identity tokens. */
  mount_uuid: z.string().optional(),
  /** A value that changes with every write, but not with rotations. */
  generation: z.string().optional(),
});
export type Root = z.output<typeof Root>;
export const root = single('config/root', Root);
/** The lock key for decisions about the root key. */
export const rootTurn = 'config/root';

const defaults: Root = { ...fields.defaults, ...rotationFields.defaults };

/** The current configuration. If none is stored, all values come from the environment. */
export async function rootInForce(storage: Storage): Promise<Root> {
  return (await root.find(storage)) ?? { ...defaults, credential_source: 'environment' };
}

/** How to reach the provider with a configuration. */
export function connection(config: Root): Connection {
  const isStatic = config.credential_source === 'static' && config.access_key !== '';
  return {
    region: config.region,
    maxRetries: config.max_retries,
    iamEndpoint: addressOf(config.iam_endpoint),
    stsEndpoint: addressOf(config.sts_endpoint),
    generation: config.generation,
    credentials: isStatic ? { accessKeyId: config.access_key, secretAccessKey: config.secret_key } : undefined,
    webIdentity: config.identity_token_audience
      ? {
          mountUuid: config.mount_uuid ?? '',
          roleArn: config.role_arn,
          audience: config.identity_token_audience,
          tokenTtlSeconds: config.identity_token_ttl,
        }
      : undefined,
  };
}

/** The root credentials and how to reach the provider. Spec: Cloud-provider engine (Root configuration). */
export const rootPath = (cloud: CloudTwo) =>
  path('config/root', {
    summary: 'Root credentials and the connection to the cloud provider.',
    spec: 'Cloud-provider engine',
    read: {
      operationId: 'read-root-iam-credentials-configuration',
      summary: 'Read the root configuration. The secret key is not shown.',
      async run({ storage }) {
        const stored = await root.find(storage);
        if (!stored) return missing;
        const { access_key, iam_endpoint, max_retries, region, sts_endpoint, username_template } = stored;
        return data({
          access_key,
          iam_endpoint,
          max_retries,
          region,
          sts_endpoint,
          username_template,
          ...shownIdentity(stored),
          ...(hasTerms(stored) ? shownRotation(stored, await plan.find(storage)) : {}),
        });
      },
    },
    write: {
      operationId: 'configure-root-iam-credentials',
      summary: 'Configure the engine. Replaces the whole configuration. Credentials are not tested.',
      update: 'replace',
      defaults,
      input: RootInput,
      run({ input, storage, mount, nowMs, warn }) {
        checkKeys(input);
        if (input.identity_token_audience) cloud.checkIdentityTokens();
        for (const field of ['iam_endpoint', 'sts_endpoint'] as const) checkEndpoint(field, input[field]);
        checkRegion(input.region);
        if (input.max_retries < retryBounds.minimum || input.max_retries > retryBounds.maximum) {
          const text = 'max_retries must be -1 (the default of the provider library) or between 0 and';
          throw new Refusal('invalid', `${text} ${retryBounds.maximum}`);
        }
        const worst = checkTemplate(input.username_template, { nowMs });
        for (const type of ['IAM', 'STS'] as const) {
          if (worst[type] > nameLimits[type]) {
            warn(
              `username_template can give ${type} names of ${worst[type]} characters; the limit is ${nameLimits[type]}`,
            );
          }
        }
        checkTerms(input, input.access_key !== '');
        replan(storage, input, nowMs);
        root.put(storage, { ...input, mount_uuid: mount.uuid, generation: newGeneration() });
        return empty;
      },
    },
  });

function shownIdentity({ role_arn, identity_token_audience, identity_token_ttl }: Root) {
  return identity_token_audience ? { role_arn, identity_token_audience, identity_token_ttl } : {};
}

function checkKeys(input: z.output<typeof RootInput>): void {
  if (input.identity_token_audience || input.role_arn) {
    checkIdentity(input);
    return;
  }
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

/** Throws `invalid` for a string that cannot be a region, because a region becomes part of host names. */
function checkRegion(region: string): void {
  if (/^[a-z0-9-]{0,63}$/i.test(region)) return;
  throw new Refusal(
    'invalid',
    `region must be letters, digits and hyphens, got ${JSON.stringify(region.slice(0, 80))}`,
  );
}

function checkIdentity(input: z.output<typeof RootInput>): void {
  if (input.access_key || input.secret_key || input.credential_source === 'environment') {
    throw new Refusal(
      'invalid',
      'identity_token_audience cannot be combined with access_key or credential_source environment',
    );
  }
  for (const field of ['role_arn', 'identity_token_audience'] as const) {
    if (!input[field]) throw new Refusal('invalid', 'role_arn and identity_token_audience must be set together');
  }
  if (!/^arn:[^:]+:iam::\d{12}:role\/./.test(input.role_arn)) {
    throw new Refusal('invalid', `role_arn must be the ARN of a role, got ${JSON.stringify(input.role_arn)}`);
  }
  if (input.identity_token_ttl < 60 || input.identity_token_ttl > 86_400) {
    throw new Refusal('invalid', 'identity_token_ttl must be between 60 seconds and 24 hours');
  }
}

function checkEndpoint(field: string, value: string): void {
  if (value === '') return;
  const address = addressOf(value);
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return;
  throw new Refusal('invalid', `${field} must be an http or https address, got ${JSON.stringify(value)}`);
}

/** Existing configurations may contain only a host; it is called with HTTPS like the provider’s own addresses. */
const addressOf = (value: string): string => (/^[a-z0-9.-]+(:\d+)?$/i.test(value) ? `https://${value}` : value);
