import { BlockList, isIP } from 'node:net';
import { collection } from '../../sdk/collection';
import { announced, bool, commaList, duration, int, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { isOid, policyExtension } from './extension';
import { checkedKeyRules } from './key-pair';
import { readOtherName } from './other-name';
import { subjectRows } from './subject';
import { requireTime } from './time';
import { checkUsages } from './usages';

const flag = (text: string) => bool().describe(text);
const list = (text: string) => commaList().describe(text);
const none: string[] = [];

/** Fields of a role. */
export const roleFields = recordFields({
  ttl: [duration().describe('Default lifetime of certificates; 0: the mount’s.'), 0],
  max_ttl: [duration().describe('Maximum lifetime of certificates; 0: the mount’s.'), 0],
  allow_localhost: [flag('Allow localhost and localdomain.'), true],
  allowed_domains: [list('Domains that the other rules speak of.'), none],
  allowed_domains_template: [flag('In allowed_domains, {{identity.…}} is filled in from the caller.'), false],
  allow_globs_in_identity_templates: [flag('A * in what is filled in is any text.'), false],
  allow_bare_domains: [flag('Allow the domains themselves.'), false],
  allow_subdomains: [flag('Allow names below the domains.'), false],
  allow_glob_domains: [flag('In the domains, * is any text.'), false],
  allow_wildcard_certificates: [flag('Allow names with *.'), true],
  allow_any_name: [flag('Allow any name.'), false],
  enforce_hostnames: [flag('Names must be names of hosts.'), true],
  allow_ip_sans: [flag('Allow addresses.'), true],
  allowed_ip_sans_cidr: [list('Networks that addresses must be in.'), none],
  allowed_uri_sans: [list('URIs that are allowed, * being any text.'), none],
  allowed_uri_sans_template: [flag('In allowed_uri_sans, {{identity.…}} is filled in from the caller.'), false],
  allowed_other_sans: [list('Other names that are allowed: OID;UTF8:TEXT, * being any text; or * for all.'), none],
  allowed_serial_numbers: [list('Serial numbers of the subject that are allowed, * being any text.'), none],
  allowed_user_ids: [list('User ids of the subject that are allowed, * being any text.'), none],
  server_flag: [flag('For servers.'), true],
  client_flag: [flag('For clients.'), true],
  code_signing_flag: [flag('For signing code.'), false],
  email_protection_flag: [flag('For protecting mail.'), false],
  key_type: [announced(string(), { enum: ['rsa', 'ec', 'ed25519', 'any'] }).describe('Type of the keys.'), 'rsa'],
  key_bits: [int().describe('Size of the keys, for requests the minimum; 0: the default of the type.'), 0],
  signature_bits: [int().describe('Size of the hash for signatures of RSA issuers; 0: the default.'), 0],
  use_pss: [flag('RSA issuers sign with PSS.'), false],
  key_usage: [list('What keys may be used for.'), ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment']],
  ext_key_usage: [list('Further purposes.'), none],
  ext_key_usage_oids: [list('Further purposes, by object identifier.'), none],
  use_csr_common_name: [flag('The common name is that of the request that is signed.'), true],
  use_csr_sans: [flag('The alternative names are those of the request that is signed.'), true],
  ...subjectRows,
  generate_lease: [flag('Give certificates a lease, whose end revokes them.'), false],
  no_store: [flag('Do not keep certificates.'), false],
  require_cn: [flag('A common name is needed.'), true],
  cn_validations: [
    list('What a common name may be: email, hostname; or disabled for anything.'),
    ['email', 'hostname'],
  ],
  policy_identifiers: [list('Policies: object identifiers.'), none],
  basic_constraints_valid_for_non_ca: [flag('Say that certificates are of no authority.'), false],
  not_before: [string().describe('Start of the validity of certificates.'), ''],
  not_before_bound: [string().describe('Whether requests may set not_before: permit, forbid, duration.'), 'permit'],
  not_after: [string().describe('End of the validity of certificates.'), ''],
  not_after_bound: [
    string().describe('Whether requests may set not_after: permit, forbid, ttl-limited, or a latest time.'),
    'permit',
  ],
  not_before_duration: [duration().describe('How long before now certificates become valid.'), 30],
  issuer_ref: [string().describe('The issuer: an id, a name, or default.'), 'default'],
});

/** A stored role. */
export type Role = typeof roleFields.defaults;

/** The roles of a mount. */
export const roles = collection('role/', roleFields.input);

/** The message for an unknown role. */
export const unknownRole = (name: string): string => `unknown role: ${name}`;

/** Fills in the defaults of a role. Throws `invalid` for contradictory or unknown values. */
export function checkedRole(asked: Role): Role {
  if (asked.max_ttl > 0 && asked.ttl > asked.max_ttl) refuse('"ttl" value must be less than "max_ttl" value');
  const role = checkedKeyRules({ ...asked, issuer_ref: asked.issuer_ref || 'default' });
  checkUsages(role);
  for (const id of role.ext_key_usage_oids) {
    if (!isOid(id)) refuse(`"${id}" could not be parsed as a valid oid for an extended key usage`);
  }
  for (const text of role.allowed_other_sans) {
    if (text !== '*') readOtherName(text, 'error parsing allowed_other_sans');
  }
  networksOf(role);
  policyExtension(role.policy_identifiers);
  if (!['permit', 'forbid', 'duration'].includes(role.not_before_bound)) {
    refuse('Unknown value for field `not_before_bound`. Possible values are `permit`, `forbid` and `duration`.');
  }
  if (
    !['permit', 'forbid', 'ttl-limited'].includes(role.not_after_bound) &&
    Number.isNaN(Date.parse(role.not_after_bound))
  ) {
    refuse(
      'Unknown value for field `not_after_bound`. Possible values are `permit`, `forbid`, `ttl-limited` and a timestamp.',
    );
  }
  for (const name of ['not_before', 'not_after'] as const) if (role[name] !== '') requireTime(role[name]);
  const cn_validations = checkedValidations(role.cn_validations);
  return { ...role, cn_validations, generate_lease: role.generate_lease && !role.no_store };
}

/**
 * The role for one caller, with templates filled in. Omits values whose template is empty for the caller, and values that add a `*`
 * where the role does not allow globs from templates.
 */
export function filledRole(role: Role, fill: (text: string) => string | undefined): Role {
  if (!role.allowed_domains_template && !role.allowed_uri_sans_template) return role;
  const stars = (text: string) => text.split('*').length;
  const each = (isTemplate: boolean, texts: string[]) =>
    isTemplate
      ? texts.flatMap((text) => {
          const filled = fill(text);
          if (filled === undefined || filled === '') return [];
          return role.allow_globs_in_identity_templates || stars(filled) <= stars(text) ? [filled] : [];
        })
      : texts;
  return {
    ...role,
    allowed_domains: each(role.allowed_domains_template, role.allowed_domains),
    allowed_uri_sans: each(role.allowed_uri_sans_template, role.allowed_uri_sans),
  };
}

/** Drops strings with templates, for callers without an entity. */
export const withoutTemplates = (text: string): string | undefined => (text.includes('{{') ? undefined : text);

const anything = ['*'];

/** A role that allows all names of a CSR; a named role adds lifetimes and issuer. */
export function verbatimRole(named: Role | undefined, said: Partial<Role>): Role {
  const {
    ttl,
    max_ttl,
    not_before_duration,
    no_store,
    generate_lease,
    issuer_ref,
    basic_constraints_valid_for_non_ca,
  } = named ?? roleFields.defaults;
  return checkedRole({
    ...roleFields.defaults,
    ...{ ttl, max_ttl, not_before_duration, no_store, generate_lease, issuer_ref, basic_constraints_valid_for_non_ca },
    allow_any_name: true,
    enforce_hostnames: false,
    require_cn: false,
    key_type: 'any',
    server_flag: false,
    client_flag: false,
    allowed_other_sans: anything,
    allowed_serial_numbers: anything,
    allowed_uri_sans: anything,
    allowed_user_ids: anything,
    cn_validations: ['disabled'],
    ...said,
  });
}

function checkedValidations(asked: readonly string[]): string[] {
  const folded = [...new Set(asked.map((text) => text.toLowerCase()))];
  const problem = (text: string) => refuse(`cn_validations value incorrect: ${text}`);
  const unknown = folded.find((text) => !['disabled', 'email', 'hostname'].includes(text));
  if (unknown !== undefined) problem(`unknown type: \`${unknown}\``);
  if (folded.includes('disabled') && folded.length > 1) {
    problem('cannot specify `disabled` along with `email` or `hostname`');
  }
  return folded.length === 0 ? ['email', 'hostname'] : folded;
}

/** The networks that IP SANs must be in; undefined for any. Throws `invalid` for malformed CIDRs. */
export function networksOf({ allowed_ip_sans_cidr: texts }: Pick<Role, 'allowed_ip_sans_cidr'>): BlockList | undefined {
  if (texts.length === 0) return undefined;
  const networks = new BlockList();
  for (const text of texts) {
    const [address = '', prefix = '', ...more] = text.split('/');
    const family = isIP(address);
    if (family === 0 || more.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) {
      refuse(`error parsing allowed_ip_sans_cidr: invalid CIDR address: ${text}`);
    }
    networks.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}
