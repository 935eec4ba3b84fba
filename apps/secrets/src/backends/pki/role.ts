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
  ttl: [duration().describe('Default lifetime of certificates. 0: the default of the mount.'), 0],
  max_ttl: [duration().describe('Maximum lifetime of certificates. 0: the maximum of the mount.'), 0],
  allow_localhost: [flag('Allow localhost and localdomain.'), true],
  allowed_domains: [list('Domains to which allow_bare_domains, allow_subdomains and allow_glob_domains apply.'), none],
  allowed_domains_template: [flag('Replace {{identity.…}} in allowed_domains with values of the caller.'), false],
  allow_globs_in_identity_templates: [flag('Allow wildcards in values that replace templates.'), false],
  allow_bare_domains: [flag('Allow the domains themselves as names.'), false],
  allow_subdomains: [flag('Allow subdomains of the domains.'), false],
  allow_glob_domains: [flag('Allow * in the domains as a wildcard.'), false],
  allow_wildcard_certificates: [flag('Allow wildcard certificates.'), true],
  allow_any_name: [flag('Allow any name.'), false],
  enforce_hostnames: [flag('DNS names must be valid host names.'), true],
  allow_ip_sans: [flag('Allow IP addresses as alternative names.'), true],
  allowed_ip_sans_cidr: [list('CIDR blocks in which IP addresses must be.'), none],
  allowed_uri_sans: [list('Allowed URIs; * matches any text.'), none],
  allowed_uri_sans_template: [flag('Replace {{identity.…}} in allowed_uri_sans with values of the caller.'), false],
  allowed_other_sans: [
    list('Allowed other names: OID;UTF8:TEXT, where * in TEXT matches any text; or * for all.'),
    none,
  ],
  allowed_serial_numbers: [list('Allowed serial numbers in the subject; * matches any text.'), none],
  allowed_user_ids: [list('Allowed user IDs in the subject; * matches any text.'), none],
  server_flag: [flag('Extended key usage: server authentication.'), true],
  client_flag: [flag('Extended key usage: client authentication.'), true],
  code_signing_flag: [flag('Extended key usage: code signing.'), false],
  email_protection_flag: [flag('Extended key usage: email protection.'), false],
  key_type: [announced(string(), { enum: ['rsa', 'ec', 'ed25519', 'any'] }).describe('Type of the keys.'), 'rsa'],
  key_bits: [int().describe('Size of keys; the minimum size for CSRs. 0: the default of the type.'), 0],
  signature_bits: [int().describe('Hash size of signatures by RSA issuers. 0: the default.'), 0],
  use_pss: [flag('Use PSS for signatures by RSA issuers.'), false],
  key_usage: [list('Key usages.'), ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment']],
  ext_key_usage: [list('Additional extended key usages, by name.'), none],
  ext_key_usage_oids: [list('Additional extended key usages, as OIDs.'), none],
  use_csr_common_name: [flag('Take the common name from the CSR when signing one.'), true],
  use_csr_sans: [flag('Take the alternative names from the CSR when signing one.'), true],
  ...subjectRows,
  generate_lease: [flag('Issue certificates with a lease; revoking the lease revokes the certificate.'), false],
  no_store: [flag('Do not store certificates.'), false],
  require_cn: [flag('Require a common name.'), true],
  cn_validations: [
    list('Formats allowed for the common name: email, hostname; or disabled for any.'),
    ['email', 'hostname'],
  ],
  policy_identifiers: [list('OIDs of certificate policies.'), none],
  basic_constraints_valid_for_non_ca: [flag('Mark certificates as not CAs in their basic constraints.'), false],
  not_before: [string().describe('Time from which certificates are valid.'), ''],
  not_before_bound: [string().describe('Whether requests may set not_before: permit, forbid, duration.'), 'permit'],
  not_after: [string().describe('Expiry of certificates.'), ''],
  not_after_bound: [
    string().describe('Whether requests may set not_after: permit, forbid, ttl-limited, or the latest allowed time.'),
    'permit',
  ],
  not_before_duration: [duration().describe('How long before now certificates become valid.'), 30],
  issuer_ref: [string().describe('The issuer: an ID, a name, or default.'), 'default'],
});

/** A stored role. */
export type Role = typeof roleFields.defaults;

/** The roles of a mount. */
export const roles = collection('role/', roleFields.input);

/** The message for an unknown role. */
export const unknownRole = (name: string): string => `unknown role: ${name}`;

/** Fills in the defaults of a role. Throws `invalid` for contradictory or unknown values. */
export function checkedRole(input: Role): Role {
  if (input.max_ttl > 0 && input.ttl > input.max_ttl) refuse('"ttl" value must be less than "max_ttl" value');
  const role = checkedKeyRules({ ...input, issuer_ref: input.issuer_ref || 'default' });
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

/** A role that allows all names of a CSR. If a role is named, its lifetimes and issuer apply. */
export function verbatimRole(named: Role | undefined, overrides: Partial<Role>): Role {
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
    ...overrides,
  });
}

function checkedValidations(validations: readonly string[]): string[] {
  const folded = [...new Set(validations.map((text) => text.toLowerCase()))];
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
