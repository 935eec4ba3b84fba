import { Refusal } from '@keystead/refusal';
import { configuration } from '../../sdk/collection';
import { announced, notRedirectable, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { type CloudHosts, cloudNamed, cloudNames, defaultCloud } from './clouds';

const fields = recordFields({
  tenant_id: [string().describe('Tenant of the directory. Default: CLOUDONE_TENANT_ID.'), ''],
  resource: [string().describe('Required audience of JWTs at login. Default: CLOUDONE_AD_RESOURCE.'), ''],
  environment: [
    announced(string(), { enum: cloudNames, default: defaultCloud }).describe(
      'Name of the cloud. Default: CLOUDONE_ENVIRONMENT.',
    ),
    '',
  ],
  client_id: [
    string().describe(
      'Client ID for calls to the compute API; it must be able to read compute resources. Default: CLOUDONE_CLIENT_ID.',
    ),
    '',
  ],
  client_secret: [
    notRedirectable(secretString()).describe('Client secret for client_id. Default: CLOUDONE_CLIENT_SECRET.'),
    '',
  ],
});
type CloudOneConfig = typeof fields.defaults;
/** How to reach the directory, and whose tokens are accepted. */
export const config = configuration('config', fields.input);

/** Defaults from the process environment, and overrides of outside hosts. */
export interface CloudOneDefaults {
  readonly tenantId: string;
  readonly resource: string;
  readonly environment: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly authorityHost: string;
  readonly resourceManager: string;
  readonly metadataHost: string;
}

/** The current configuration. */
export interface InForce {
  readonly tenantId: string;
  readonly resource: string;
  readonly hosts: CloudHosts;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly generation: string;
}

/**
 * The stored configuration with defaults from the environment. Throws `invalid` while tenant or resource is unknown.
 */
export async function configInForce(storage: Storage, defaults: CloudOneDefaults): Promise<InForce> {
  const { value, generation } = await config.inForce(storage);
  return { ...fill(value ?? fields.defaults, defaults), generation };
}

function fill(stored: CloudOneConfig, defaults: CloudOneDefaults): Omit<InForce, 'generation'> {
  const tenantId = stored.tenant_id || defaults.tenantId;
  const resource = stored.resource || defaults.resource;
  if (!tenantId) throw new Refusal('invalid', 'tenant_id is required');
  if (!resource) throw new Refusal('invalid', 'resource is required');
  const { hosts } = cloudNamed(stored.environment || defaults.environment || defaultCloud);
  return {
    tenantId,
    resource,
    hosts: {
      authority: defaults.authorityHost || hosts.authority,
      resourceManager: defaults.resourceManager || hosts.resourceManager,
      audience: hosts.audience,
    },
    clientId: stored.client_id || defaults.clientId,
    clientSecret: stored.client_secret || defaults.clientSecret,
  };
}

const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/;

/** Spec: Cloud-identity auth method configuration. */
export const configPath = (defaults: CloudOneDefaults) =>
  path('config', {
    summary: 'The directory that issues the tokens, and the client that calls the compute API.',
    spec: 'Cloud-identity auth method configuration',
    stored: ({ storage }) => config.find(storage),
    read: {
      summary: 'Read the configuration, including credentials.',
      output: fields.output,
      async run({ storage, warn }) {
        const stored = await config.find(storage);
        if (!stored) return missing;
        if (stored.client_secret) warn('this response contains client_secret: restrict read access to this path');
        const { client_id, client_secret, environment, resource, tenant_id } = stored;
        return data({ client_id, client_secret, environment, resource, tenant_id });
      },
    },
    write: {
      summary: 'Configure the method; omitted fields keep their values.',
      update: 'merge',
      defaults: fields.defaults,
      input: fields.input,
      run({ input, storage }) {
        fill(input, defaults);
        if (input.tenant_id && !tenantPattern.test(input.tenant_id)) {
          throw new Refusal('invalid', 'tenant_id must be a UUID or a domain name');
        }
        const environment = input.environment ? cloudNamed(input.environment).name : defaultCloudUnlessSet(defaults);
        config.put(storage, { ...input, environment });
        return empty;
      },
    },
    delete: {
      summary: 'Delete the configuration. Settings in the environment remain.',
      run({ storage }) {
        config.delete(storage);
        return empty;
      },
    },
  });

/**
 * The environment to store if a request contains none: empty while the process environment sets one, otherwise the
 * default cloud.
 */
function defaultCloudUnlessSet(defaults: CloudOneDefaults): string {
  return defaults.environment ? '' : defaultCloud;
}
