import type { FieldRow } from '../field-rows';
import type { FormRecord } from '../record-form';

/** A role as the API shows it: the fields of its key type. Lists are strings separated by commas. */
export interface SshRole {
  readonly key_type: 'ca' | 'otp';
  readonly default_user: string;
  readonly allowed_users: string;
  readonly allowed_domains?: string;
  readonly allow_user_certificates?: boolean;
  readonly allow_host_certificates?: boolean;
  readonly ttl?: number;
  readonly max_ttl?: number;
  readonly cidr_list?: string;
  readonly exclude_cidr_list?: string;
  readonly port?: number;
}

/** The names in a list field of a role. */
export const namesOf = (list: string | undefined): readonly string[] =>
  (list ?? '').split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));

/** Extensions that OpenSSH supports. */
const extensions = [
  'permit-pty',
  'permit-port-forwarding',
  'permit-agent-forwarding',
  'permit-X11-forwarding',
  'permit-user-rc',
];
const criticalOptions = ['force-command', 'source-address', 'verify-required'];

const check = (name: string, label: string, hint?: string): FieldRow => ({
  name,
  label,
  as: 'check',
  ...(hint === undefined ? {} : { hint }),
});
const listed = (name: string, label: string, placeholder: string, hint: string): FieldRow => ({
  name,
  label,
  as: 'listed',
  placeholder,
  hint,
});

const users = listed('allowed_users', 'Allowed users', 'deploy', 'Press Enter after each; * allows any.');
const defaultUser: FieldRow = {
  name: 'default_user',
  label: 'Default user',
  placeholder: 'deploy',
  hint: 'Used if a request names none.',
};

const otpGroups = [
  {
    rows: [
      { ...defaultUser, required: true },
      users,
      listed('cidr_list', 'CIDR list', '10.0.0.0/8', 'Networks of the hosts that passwords are for.'),
    ],
  },
  {
    title: 'Advanced',
    rows: [
      listed('exclude_cidr_list', 'Exclude CIDR list', '10.0.9.0/24', 'Networks to leave out of these.'),
      { name: 'port', label: 'Port', as: 'number', hint: 'Sent to clients; 22 by default.' },
    ],
  },
] as const satisfies readonly { readonly title?: string; readonly rows: readonly FieldRow[] }[];

const caGroups = [
  {
    rows: [
      check('allow_user_certificates', 'Allow user certificates', 'People and programs log in with them.'),
      check('allow_host_certificates', 'Allow host certificates', 'Hosts prove who they are.'),
      defaultUser,
      users,
      listed(
        'allowed_domains',
        'Allowed domains',
        'example.com',
        'Domains that host certificates may name; * allows any.',
      ),
      check('allow_subdomains', 'Allow subdomains'),
      check('allow_bare_domains', 'Allow bare domains'),
      { name: 'ttl', label: 'TTL', as: 'ttl', hint: 'Used if a request names no TTL.' },
      { name: 'max_ttl', label: 'Maximum TTL', as: 'ttl' },
    ],
  },
  {
    title: 'Extensions and critical options',
    rows: [
      {
        name: 'default_extensions',
        label: 'Default extensions',
        as: 'pairs',
        options: extensions,
        hint: 'In every user certificate. permit-pty gives a terminal.',
      },
      {
        ...listed('allowed_extensions', 'Allowed extensions', 'permit-pty', 'That may be requested; * allows all.'),
        options: extensions,
      },
      {
        name: 'default_critical_options',
        label: 'Default critical options',
        as: 'pairs',
        placeholder: 'source-address=10.0.0.0/8',
        hint: 'A name, an equals sign and a value; press Enter after each.',
      },
      {
        ...listed(
          'allowed_critical_options',
          'Allowed critical options',
          'source-address',
          'That may be requested; without any, all may.',
        ),
        options: criticalOptions,
      },
    ],
  },
  {
    title: 'Advanced',
    rows: [
      check('allow_user_key_ids', 'Allow user key IDs', 'Requests may choose what servers log.'),
      { name: 'key_id_format', label: 'Key ID format', placeholder: '{{token_display_name}}-{{public_key_hash}}' },
      check('allow_empty_principals', 'Allow empty principals', 'Such a certificate is good for every user.'),
      check('allowed_users_template', 'Allowed users have templates'),
      check('default_user_template', 'Default user is a template'),
      check('allowed_domains_template', 'Allowed domains have templates'),
      check('default_extensions_template', 'Default extensions have templates'),
      {
        name: 'algorithm_signer',
        label: 'Signing algorithm',
        as: 'choice',
        options: ['default', 'ssh-rsa', 'rsa-sha2-256', 'rsa-sha2-512'],
        hint: 'Only for issuers with an RSA key.',
      },
      {
        name: 'not_before_duration',
        label: 'Not before duration',
        as: 'number',
        hint: 'In seconds: hosts may be late.',
      },
      { name: 'issuer_ref', label: 'Issuer', placeholder: 'default' },
    ],
  },
] as const satisfies readonly { readonly title?: string; readonly rows: readonly FieldRow[] }[];

export const roleGroups = ({ key_type }: FormRecord) => (key_type === 'otp' ? otpGroups : caGroups);

/** New roles by their key type. */
export const newRoles: Readonly<Record<SshRole['key_type'], FormRecord>> = {
  ca: {
    key_type: 'ca',
    allow_user_certificates: true,
    allowed_users: '',
    default_user: '',
    default_extensions: { 'permit-pty': '' },
    algorithm_signer: 'default',
    ttl: 1800,
    max_ttl: 8 * 3600,
  },
  otp: { key_type: 'otp', default_user: '', allowed_users: '', cidr_list: '', port: 22 },
};
