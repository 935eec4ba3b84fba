import ipaddr from 'ipaddr.js';
import { collection } from '../../sdk/collection';
import { announced, bool, duration, int, keyValues, object, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { signerNames } from './certificate';

const flag = (text: string) => bool().describe(text);
const text = (about: string) => string().describe(about);

/** Fields of a role. Lists are comma-separated strings, as clients send them. */
export const roleFields = recordFields({
  key_type: [
    announced(string(), { enum: ['ca', 'otp'] }).describe('ca: signs certificates. otp: creates one-time passwords.'),
    '',
  ],
  default_user: [text('User if a request names none.'), ''],
  default_user_template: [flag('Replace identity templates in default_user.'), false],
  allowed_users: [text('Users that requests may name; * allows all.'), ''],
  allowed_users_template: [flag('Replace identity templates in allowed_users.'), false],
  allowed_domains: [text('Host domains that requests may name; * allows all.'), ''],
  allowed_domains_template: [flag('Replace identity templates in allowed_domains.'), false],
  allow_commas_in_identity_templates: [
    flag('Allow commas in the value of a template: the value then gives several names.'),
    false,
  ],
  allow_bare_domains: [flag('Allow the domains themselves as host names.'), false],
  allow_subdomains: [flag('Allow subdomains of the domains as host names.'), false],
  allow_user_certificates: [flag('Allow user certificates.'), false],
  allow_host_certificates: [flag('Allow host certificates.'), false],
  allow_empty_principals: [
    flag('Allow certificates without principals, which are valid for all users or hosts.'),
    false,
  ],
  allow_user_key_ids: [flag('Requests may set the key ID.'), false],
  key_id_format: [
    text(
      'Format of the key ID, with {{token_display_name}}, {{role_name}} and {{public_key_hash}}. Default: the format that existing clients expect.',
    ),
    '',
  ],
  allowed_critical_options: [text('Critical options that requests may set. Empty: all.'), ''],
  allowed_extensions: [text('Extensions that requests may set; * allows all.'), ''],
  default_critical_options: [keyValues().describe('Critical options if a request sends none.'), {}],
  default_extensions: [keyValues().describe('Extensions if a request sends none.'), {}],
  default_extensions_template: [flag('Replace identity templates in the values of default_extensions.'), false],
  allowed_user_key_lengths: [
    object().describe('Types of keys that may be signed, each with a size or a list of sizes.'),
    {} as Record<string, unknown>,
  ],
  algorithm_signer: [
    announced(string(), { enum: signerNames }).describe('Signature algorithm of issuers with an RSA key.'),
    'default',
  ],
  ttl: [duration().describe('Default lifetime of certificates. 0: the default of the mount.'), 0],
  max_ttl: [duration().describe('Maximum lifetime of certificates. 0: the maximum of the mount.'), 0],
  not_before_duration: [duration().describe('How long before now certificates become valid.'), 30],
  issuer_ref: [text('The issuer: an ID, a name, or default.'), 'default'],
  cidr_list: [text('CIDR blocks of the hosts for which one-time passwords can be created.'), ''],
  exclude_cidr_list: [text('CIDR blocks to exclude from cidr_list.'), ''],
  port: [int().describe('SSH port of the hosts, which is returned to clients.'), 22],
});

/** A stored role. */
export type SshRole = typeof roleFields.defaults;

/** The roles of a mount. */
export const roles = collection('role/', roleFields.input);

/** Splits a comma-separated list. */
export const listed = (list: string): string[] => [
  ...new Set(
    list
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  ),
];

const otpFields = ['default_user', 'cidr_list', 'exclude_cidr_list', 'key_type', 'port', 'allowed_users'] as const;
const onlyOtp: readonly string[] = ['cidr_list', 'exclude_cidr_list', 'port'];

/** A role as responses show it: the fields of its key type. */
export function showRole(role: SshRole): Record<string, unknown> {
  const all = Object.entries(role);
  return Object.fromEntries(
    role.key_type === 'otp'
      ? all.filter(([name]) => (otpFields as readonly string[]).includes(name))
      : all.filter(([name]) => !onlyOtp.includes(name)),
  );
}

/** Checks a role for storage. Throws `invalid` for contradictory or unknown values. */
export function checkedRole(input: SshRole): SshRole {
  for (const [name, list] of [
    ['cidr_list', input.cidr_list],
    ['exclude_cidr_list entry', input.exclude_cidr_list],
  ] as const) {
    const wrong = listed(list).find((network) => !ipaddr.isValidCIDR(network));
    if (wrong !== undefined) refuse(`failed to validate ${name}: invalid CIDR address: ${wrong}`);
  }
  const role = { ...input, key_type: input.key_type.toLowerCase(), port: input.port || 22 };
  switch (role.key_type) {
    case '':
      return refuse('missing key type');
    case 'dynamic':
      return refuse('dynamic key type roles are no longer supported');
    case 'otp':
      if (role.port < 0 || role.port > 65_535) refuse('port must be between 1 and 65535');
      return role.default_user === '' ? refuse('missing default user') : role;
    case 'ca':
      return checkedCaRole(role);
    default:
      return refuse('invalid key type');
  }
}

function checkedCaRole(role: SshRole): SshRole {
  const algorithm_signer = role.algorithm_signer || 'default';
  if (!signerNames.includes(algorithm_signer)) refuse(`unknown algorithm signer ${JSON.stringify(algorithm_signer)}`);
  if (!role.allow_user_certificates && !role.allow_host_certificates) {
    refuse("Either 'allow_user_certificates' or 'allow_host_certificates' must be set to 'true'");
  }
  const allowed_user_key_lengths = Object.fromEntries(
    Object.entries(role.allowed_user_key_lengths).map(([type, sizes]) => [type, checkedSizes(sizes)]),
  );
  if (role.ttl !== 0 && role.max_ttl !== 0 && role.ttl > role.max_ttl) {
    refuse('"ttl" value must be less than "max_ttl" when both are specified');
  }
  return { ...role, algorithm_signer, allowed_user_key_lengths, issuer_ref: role.issuer_ref || 'default' };
}

function checkedSizes(sizes: unknown): number[] {
  const numbers = [sizes].flat().map((size) => (/^\d{1,5}$/.test(String(size)) ? Number(size) : undefined));
  if (numbers.some((size) => size === undefined)) {
    refuse('error processing allowed_user_key_lengths: a size must be a whole number, or a list of them');
  }
  return numbers as number[];
}

const mostCounted = 1000;

/** Number of roles per issuer, counted over a limited number of roles. */
export async function countReferences(storage: Storage): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const name of await roles.list(storage, { limit: mostCounted })) {
    const role = await roles.find(storage, name);
    if (role?.key_type === 'ca') counts.set(role.issuer_ref, (counts.get(role.issuer_ref) ?? 0) + 1);
  }
  return counts;
}
