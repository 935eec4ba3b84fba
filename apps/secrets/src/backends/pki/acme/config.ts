import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { usualReach } from '@keystead/outside';
import { single } from '../../../sdk/collection';
import { announced, bool, commaList, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { recordFields } from '../../../sdk/record-fields';
import { refuse } from '../../../sdk/refuse';
import { data } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { findCa, issuerRef, noIssuer } from '../ca';
import { roles } from '../role';
import { mountAddress } from '../urls';
import { keepNonceKey } from './nonce';

const policies = ['not-required', 'new-account-required', 'always-required'];

const acmeFields = recordFields({
  enabled: [bool().describe('Enable ACME.'), false],
  allowed_issuers: [commaList().describe('Issuers that ACME clients may use; * for all.'), ['*']],
  allowed_roles: [commaList().describe('Roles that ACME clients may use; * for all.'), ['*']],
  allow_role_ext_key_usage: [
    bool().describe(
      'Use the extended key usages of the role. Otherwise certificates are for server authentication only.',
    ),
    false,
  ],
  default_directory_policy: [
    string().describe('How ACME directories without a role issue: sign-verbatim, role:NAME, or forbid.'),
    'sign-verbatim',
  ],
  dns_resolver: [string().describe('Address and port of the DNS resolver. Empty: the system’s resolver.'), ''],
  eab_policy: [
    announced(string(), { enum: policies }).describe(
      'Which accounts need external account binding (a key of new-eab): none, new accounts, or all.',
    ),
    'not-required',
  ],
  terms_of_service: [string().describe('URL of the terms of service that new accounts must accept. Empty: none.'), ''],
});

/** The ACME configuration. */
export type AcmeConfig = typeof acmeFields.defaults;

const stored = single('config/acme', acmeFields.input);

/** The ACME configuration of a mount. */
export const findAcmeConfig = async (storage: Storage): Promise<AcmeConfig> => ({
  ...acmeFields.defaults,
  ...(await stored.find(storage)),
});

/** Whether the list of allowed names contains one of these names. */
export const isAllowed = (allowed: readonly string[], names: readonly string[]): boolean =>
  allowed.includes('*') || names.some((name) => name !== '' && allowed.includes(name));

/** The role that a directory policy names, if any. */
export const roleOfPolicy = (policy: string): string | undefined => /^role:(.+)$/.exec(policy)?.[1];

/** Throws `invalid` unless the text is the address and port of a resolver. */
function checkResolver(text: string): void {
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const address = six ?? four ?? '';
  if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65535) {
    refuse(`dns_resolver: ${JSON.stringify(text)} is not an address with a port, such as 192.0.2.53:53`);
  }
  if (!usualReach.allows(address)) refuse(`dns_resolver: the address ${address} may not be called`);
}

const noRole = 'the request message was malformed: role does not exist';

async function checkConfig(storage: Storage, config: AcmeConfig): Promise<void> {
  const { allowed_roles: allowed, default_directory_policy: policy } = config;
  if (!policies.includes(config.eab_policy)) {
    refuse(`invalid eab policy name provided, valid values are ${policies.map((name) => `'${name}'`).join(', ')}`);
  }
  if (config.dns_resolver !== '') checkResolver(config.dns_resolver);
  if (config.terms_of_service !== '' && !/^https?:\/\/[\x21-\x7e]+$/.test(config.terms_of_service)) {
    refuse('terms_of_service: not an address');
  }
  const byRole = roleOfPolicy(policy);
  if (byRole === undefined && policy !== 'sign-verbatim' && policy !== 'forbid') {
    refuse(`invalid default_directory_policy: ${policy}: valid values are 'sign-verbatim', 'role:NAME' and 'forbid'`);
  }
  const isAny = (list: readonly string[]) => list.length === 1 && list[0] === '*';
  for (const name of ['allowed_roles', 'allowed_issuers'] as const) {
    if (config[name].length > 0) continue;
    refuse(
      `${name} must take a non-zero length value; specify '*' as the value to allow anything or specify enabled=false to disable ACME entirely`,
    );
  }
  if (byRole !== undefined && !isAllowed(allowed, [byRole])) {
    refuse(`default directory policy ${policy} was not specified in allowed_roles: [${allowed.join(' ')}]`);
  }
  if (!isAny(allowed) && allowed.includes('*')) refuse(`cannot use '*' as role name at index ${allowed.indexOf('*')}`);
  for (const name of isAny(allowed) ? [] : allowed) {
    if (!(await roles.find(storage, name))) refuse(`allowed_role ${name} is not a valid acme role: ${noRole}`);
  }
  if (byRole !== undefined && !(await roles.find(storage, byRole))) {
    refuse(`default directory policy role ${byRole} is not a valid ACME role: ${noRole}`);
  }
  const { allowed_issuers: issuers } = config;
  if (!isAny(issuers) && issuers.includes('*'))
    refuse(`cannot use '*' as issuer name at index ${issuers.indexOf('*')}`);
  const ca = await findCa(storage);
  const unknown = isAny(issuers) ? undefined : issuers.find((name) => !issuerRef(ca, name));
  if (unknown !== undefined) {
    refuse(`failed validating allowed_issuers: unable to fetch issuer: ${unknown}: ${noIssuer(unknown)}`);
  }
  if (config.enabled && (await mountAddress(storage)) === '') {
    refuse("ACME feature requires local cluster 'path' field configuration to be set");
  }
}

export const acmeConfigPath = path('config/acme', {
  summary: 'The ACME configuration.',
  stored: ({ storage }) => stored.find(storage),
  read: {
    summary: 'Read the ACME configuration.',
    operationId: 'read-acme-configuration',
    output: acmeFields.output,
    run: async ({ storage }) => data(await findAcmeConfig(storage)),
  },
  write: {
    summary: 'Change the ACME configuration.',
    operationId: 'configure-acme',
    update: 'merge',
    defaults: acmeFields.defaults,
    input: acmeFields.input,
    output: acmeFields.output,
    async run({ input, storage }) {
      await checkConfig(storage, input);
      await keepNonceKey(storage, randomBytes(32));
      stored.put(storage, input);
      return data(input);
    },
  },
});
