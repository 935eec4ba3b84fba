import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { configuration } from '../../sdk/collection';
import { bool, int, notKept, notRedirectable, secretHeader, secretString, sentTo, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { Scheduler } from './scheduler';
import { type SchedulerAccess, type SchedulerDefaults, schedulerRefusal } from './scheduler-client';

const fields = recordFields({
  address: [string().describe('Address of the scheduler, as protocol://host:port.'), ''],
  token: [
    sentTo(secretHeader(), 'address', 'ca_cert').describe(
      'Management token of the scheduler. Default: SCHEDULER_TOKEN, if address is the same as SCHEDULER_ADDR.',
    ),
    '',
  ],
  max_token_name_length: [
    int().describe('Maximum length of token names in bytes. 0: the limit of the scheduler’s version.'),
    0,
  ],
  ca_cert: [string().describe('CA certificate (PEM) of the scheduler.'), ''],
  client_cert: [string().describe('Client certificate (PEM) for the scheduler; needs client_key.'), ''],
  client_key: [notRedirectable(secretString()).describe('PEM key of client_cert.'), ''],
});
const AccessInput = fields.input.extend({
  verify: notKept(bool())
    .optional()
    .describe('Test address, TLS and token with the scheduler before storing the configuration.'),
  bootstrap: notKept(bool())
    .optional()
    .describe('Bootstrap ACLs: create and store the first management token of a scheduler that has none.'),
});
const access = configuration('config/access', fields.input);

/** The effective access: stored values take precedence over the environment's. Throws `invalid` without an address. */
export async function accessInForce(
  storage: Storage,
  defaults: SchedulerDefaults,
): Promise<SchedulerAccess & { nameLimit: number }> {
  const { value: stored, generation } = await access.inForce(storage);
  const found = resolve(stored ?? fields.defaults, defaults);
  if (!found.address) throw new Refusal('invalid', 'scheduler access is not configured: write config/access first');
  return { ...found, generation, nameLimit: stored?.max_token_name_length ?? 0 };
}

/**
 * The stored values; missing values are taken from the environment. The environment's token is never sent to an address
 * that a mount configures.
 */
function resolve(config: typeof fields.defaults, defaults: SchedulerDefaults): SchedulerAccess {
  const address = config.address || defaults.address;
  return {
    address,
    token: config.token || (isSame(address, defaults.address) ? defaults.token : ''),
    caCert: config.ca_cert,
    clientCert: config.client_cert,
    clientKey: config.client_key,
  };
}

const isSame = (one: string, other: string): boolean =>
  URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;

/** How to reach the scheduler. Spec: Job-scheduler engine (Access configuration). */
export const accessPath = (scheduler: Scheduler) =>
  path('config/access', {
    summary: 'The connection to the scheduler and its management token.',
    spec: 'Job-scheduler engine',
    stored: ({ storage }) => access.find(storage),
    read: {
      summary: 'Read the configuration. Token and key are not shown.',
      async run({ storage }) {
        const stored = await access.find(storage);
        if (!stored) return missing;
        const { address, ca_cert, client_cert, max_token_name_length } = stored;
        return data({ address, ca_cert, client_cert, max_token_name_length });
      },
    },
    write: {
      summary: 'Configure access; omitted fields keep their values.',
      update: 'merge',
      once: true,
      defaults: fields.defaults,
      resets: ['max_token_name_length'],
      input: AccessInput,
      async run({ input, storage, warn }) {
        const { verify, bootstrap, ...config } = input;
        checkAddress(config.address);
        checkCertificates(config);
        if (config.max_token_name_length < 0) throw new Refusal('invalid', 'max_token_name_length cannot be negative');
        const reach = resolve(config, scheduler.defaults);
        if (bootstrap && !reach.token) {
          // A bootstrap cannot be undone, so this call stores its token, or its failure reports the token as lost.
          config.token = await scheduler.client(requireAddress(reach)).bootstrap().catch(rethrow);
        }
        access.put(storage, config);
        if (!verify) return empty;
        const report = await verifyAccess(scheduler, requireAddress(resolve(config, scheduler.defaults)));
        if (report.version === '')
          warn('the version of the scheduler could not be read; names of 256 bytes are assumed');
        return data(report);
      },
    },
    delete: {
      summary: 'Delete the access configuration.',
      run({ storage }) {
        access.delete(storage);
        return empty;
      },
    },
  });

/**
 * Asks the scheduler for the type of our token. Throws a refusal with the problem: the address, TLS, or the token's
 * type.
 */
async function verifyAccess(scheduler: Scheduler, reach: SchedulerAccess) {
  const client = scheduler.client(reach);
  const type = await client.ownTokenType().catch(rethrow);
  if (type !== 'management') {
    throw new Refusal('invalid', `token is not a management token: its type is ${type || 'unknown'}`);
  }
  const version = await client.version().catch(() => '');
  return { address: reach.address, tls: reach.address.startsWith('https:'), token_type: type, version };
}

function rethrow(error: unknown): never {
  throw schedulerRefusal(error);
}

function requireAddress<T extends { address: string }>(reach: T): T {
  if (!reach.address) throw new Refusal('invalid', 'address is required: set it here or in SCHEDULER_ADDR');
  return reach;
}

function checkAddress(address: string): void {
  if (address === '') return;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password) return;
  throw new Refusal('invalid', `address must have the form protocol://host:port, got ${JSON.stringify(address)}`);
}

function checkCertificates(config: { ca_cert: string; client_cert: string; client_key: string }): void {
  if ((config.client_cert === '') !== (config.client_key === '')) {
    throw new Refusal('invalid', 'Both client cert and client key must be provided');
  }
  for (const field of ['ca_cert', 'client_cert'] as const) {
    if (config[field]) attempt(field, 'an x509 PEM certificate', () => new X509Certificate(config[field]));
  }
  if (!config.client_key) return;
  attempt('client_key', 'a PEM private key', () => createPrivateKey(config.client_key));
  if (!new X509Certificate(config.client_cert).checkPrivateKey(createPrivateKey(config.client_key))) {
    throw new Refusal('invalid', 'client_key does not belong to client_cert');
  }
}

function attempt(field: string, what: string, parse: () => unknown): void {
  try {
    parse();
  } catch {
    throw new Refusal('invalid', `${field} is not ${what}`);
  }
}
