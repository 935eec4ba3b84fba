import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { leavesInTheClear } from '../../sdk/clear-text';
import { configuration } from '../../sdk/collection';
import {
  anyCase,
  bool,
  document,
  duration,
  int,
  notRedirectable,
  oneOf,
  secretString,
  sentTo,
  string,
} from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { parses, refuse } from '../../sdk/refuse';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { settleTokenParams, showTokenParams, tokenFields, tokenParamsOutput } from '../../sdk/token-params';
import { checkTemplate } from './filter';

const versions = ['tls10', 'tls11', 'tls12', 'tls13'] as const;
const version = (name: string) => oneOf(versions, () => `invalid '${name}'`);

const shownFields = recordFields({
  url: [
    anyCase(string()).describe(
      'URLs of the directory servers, ldap:// or ldaps://, separated by commas. They are tried in this order.',
    ),
    'ldap://127.0.0.1',
  ],
  binddn: [string().describe('DN for the bind before searches. Empty: anonymous searches.'), ''],
  userdn: [string().describe('Base DN of users.'), ''],
  userattr: [string().describe('Attribute that contains the user name.'), 'cn'],
  userfilter: [
    document(string()).describe(
      'Filter that finds a user. {{.UserAttr}} and {{.Username}} are replaced by escaped values.',
    ),
    '({{.UserAttr}}={{.Username}})',
  ],
  upndomain: [string().describe('Domain for user principal names: users bind as <name>@<domain>.'), ''],
  groupdn: [string().describe('Base DN of groups. Empty: groups are not searched.'), ''],
  groupfilter: [
    document(string()).describe('Filter that finds a user’s groups, with {{.UserDN}} and {{.Username}}.'),
    '(|(memberUid={{.Username}})(member={{.UserDN}})(uniqueMember={{.UserDN}}))',
  ],
  groupattr: [string().describe('Attribute that contains the name of a group.'), 'cn'],
  discoverdn: [bool().describe('Search for users anonymously.'), false],
  deny_null_bind: [bool().describe('Refuse empty passwords, which directories treat as an anonymous bind.'), true],
  anonymous_group_search: [bool().describe('Search for groups anonymously.'), false],
  use_token_groups: [bool().describe('Use the group memberships that the directory computes (tokenGroups).'), false],
  username_as_alias: [
    bool().describe('Name the alias after the user name at login, not after the user name in the directory.'),
    false,
  ],
  case_sensitive_names: [bool().describe('Names of users and groups are case-sensitive.'), false],
  dereference_aliases: [
    oneOf(['never', 'finding', 'searching', 'always'], () => "invalid 'dereference_aliases'").describe(
      'When aliases of the directory are dereferenced.',
    ),
    'never',
  ],
  max_page_size: [int().describe('Results per page of a search. 0 or less: no paging.'), 0],
  starttls: [bool().describe('Use StartTLS on connections to ldap://.'), false],
  insecure_tls: [bool().describe('Do not verify the certificate of the directory.'), false],
  certificate: [string().describe('CA certificates (PEM) to trust. Empty: the system’s CAs.'), ''],
  client_tls_cert: [string().describe('Client certificate (PEM).'), ''],
  tls_min_version: [version('tls_min_version').describe('Minimum TLS version.'), 'tls12'],
  tls_max_version: [version('tls_max_version').describe('Maximum TLS version.'), 'tls12'],
  connection_timeout: [duration().describe('Timeout for connecting.'), 30],
  request_timeout: [duration().describe('Timeout for a response.'), 90],
});
const secretFields = recordFields({
  bindpass: [
    sentTo(secretString(), 'url', 'starttls', 'insecure_tls', 'certificate').describe(
      'Password of binddn; never shown.',
    ),
    '',
  ],
  client_tls_key: [notRedirectable(secretString()).describe('Key (PEM) of client_tls_cert; never shown.'), ''],
});
const Config = z.object({ ...shownFields.input.shape, ...secretFields.input.shape, ...tokenFields.input.shape });
/** The stored settings for the directory. */
export type LdapConfig = z.output<typeof Config>;
const config = configuration('config', Config);

const defaults: LdapConfig = { ...tokenFields.defaults, ...shownFields.defaults, ...secretFields.defaults };

/** The configuration; undefined if there is none. */
export async function findConfig(storage: Storage): Promise<DirectoryConfig | undefined> {
  const { value, generation } = await config.inForce(storage);
  return value && { ...value, generation };
}

/** A configuration, and the generation for the connection cache. */
export type DirectoryConfig = LdapConfig & { readonly generation: string };

/** The settings for the directory. */
export const configPath = path('config', {
  summary: 'The directory, how users are found in it, and the settings of their tokens.',
  stored: ({ storage }) => config.find(storage),
  read: {
    operationId: 'read-auth-configuration',
    summary: 'Read the configuration, or the defaults if there is none. Secrets are not shown.',
    output: z.object({ ...shownFields.output.shape, ...tokenParamsOutput.shape }),
    async run({ storage, warn }) {
      const { bindpass: _password, client_tls_key: _key, ...publicFields } = (await config.find(storage)) ?? defaults;
      // The warnings are in the response to the read. Existing clients expect 204 for the write, and treat a body as a
      // failure.
      if (isInTheClear(publicFields)) warn('passwords are sent in the clear: use ldaps:// or starttls');
      return data({ ...publicFields, ...showTokenParams(publicFields) });
    },
  },
  write: {
    operationId: 'configure-auth',
    summary: 'Configure the method, or change some of its fields.',
    update: 'merge',
    defaults,
    input: Config,
    run({ input, fields, storage }) {
      const nextConfig = settleTokenParams(input, fields);
      checkConfig(nextConfig);
      config.put(storage, { ...nextConfig, url: nextConfig.url.toLowerCase() });
      return empty;
    },
  },
});

/** Whether passwords leave this machine without TLS for one of the directories. */
function isInTheClear({ url, starttls }: Pick<LdapConfig, 'url' | 'starttls'>): boolean {
  return !starttls && url.split(',').some((one) => leavesInTheClear(one.trim()));
}

function checkConfig(nextConfig: LdapConfig): void {
  for (const url of nextConfig.url.split(',')) {
    if (!/^ldaps?:\/\/[^/?#@\s]+\/?$/i.test(url.trim()) || !URL.canParse(url.trim())) {
      refuse(`url: ${JSON.stringify(url)} is not an address of a directory: use ldap://host or ldaps://host`);
    }
  }
  if (!/^[a-zA-Z0-9][\w;.-]*$/.test(nextConfig.userattr)) refuse('userattr must be the name of an attribute');
  if (!/^[a-zA-Z0-9][\w;.-]*$/.test(nextConfig.groupattr)) refuse('groupattr must be the name of an attribute');
  checkTemplate('userfilter', nextConfig.userfilter, ['UserAttr', 'Username']);
  checkTemplate('groupfilter', nextConfig.groupfilter, ['UserDN', 'Username']);
  if (nextConfig.tls_min_version > nextConfig.tls_max_version) {
    refuse("'tls_max_version' must be greater than or equal to 'tls_min_version'");
  }
  if ((nextConfig.client_tls_cert === '') !== (nextConfig.client_tls_key === '')) {
    refuse('both client_tls_cert and client_tls_key must be set');
  }
  if (nextConfig.certificate !== '' && !parses(() => new X509Certificate(nextConfig.certificate))) {
    refuse('certificate: failed to parse server tls cert');
  }
  if (nextConfig.client_tls_key !== '' && !parses(() => createPrivateKey(nextConfig.client_tls_key))) {
    refuse('client_tls_key: failed to parse client X509 key pair');
  }
  if (nextConfig.connection_timeout > 90 || nextConfig.request_timeout > 90) {
    refuse('connection_timeout and request_timeout cannot be longer than 90 seconds');
  }
}
