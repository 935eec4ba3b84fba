import { spanOf, type TtlChoice } from '../ttl-field';

/** The fields of a role that its form uses. */
export interface PkiRole {
  readonly issuer_ref: string;
  /** The default lifetime in seconds; 0 for the TTL of the mount. */
  readonly ttl: number;
  readonly max_ttl: number;
  readonly allowed_domains: readonly string[];
  readonly allow_bare_domains: boolean;
  readonly allow_subdomains: boolean;
  readonly allow_wildcard_certificates: boolean;
  readonly allow_glob_domains: boolean;
  readonly allow_localhost: boolean;
  readonly allow_any_name: boolean;
  readonly allow_ip_sans: boolean;
  readonly enforce_hostnames: boolean;
  readonly require_cn: boolean;
  readonly server_flag: boolean;
  readonly client_flag: boolean;
  readonly code_signing_flag: boolean;
  readonly email_protection_flag: boolean;
  readonly key_type: string;
  readonly key_bits: number;
  readonly organization: readonly string[];
  readonly no_store: boolean;
  readonly generate_lease: boolean;
}

/** A new role, with the defaults of the API except for the key type. */
export const newRole: PkiRole = {
  issuer_ref: 'default',
  ttl: 0,
  max_ttl: 90 * 86_400,
  allowed_domains: [],
  allow_bare_domains: false,
  allow_subdomains: true,
  allow_wildcard_certificates: true,
  allow_glob_domains: false,
  allow_localhost: true,
  allow_any_name: false,
  allow_ip_sans: true,
  enforce_hostnames: true,
  require_cn: true,
  server_flag: true,
  client_flag: true,
  code_signing_flag: false,
  email_protection_flag: false,
  key_type: 'ec',
  key_bits: 256,
  organization: [],
  no_store: false,
  generate_lease: false,
};

/** Lifetimes of certificates to choose from, in seconds. */
export const leafTtls: readonly TtlChoice[] = [1, 7, 30, 90, 365].map((days) => [
  String(days * 86_400),
  spanOf(days * 86_400),
]);

export const roleKeys = [
  { value: 'ec 256', label: 'EC P-256' },
  { value: 'ec 384', label: 'EC P-384' },
  { value: 'ec 521', label: 'EC P-521' },
  { value: 'rsa 2048', label: 'RSA 2048' },
  { value: 'rsa 3072', label: 'RSA 3072' },
  { value: 'rsa 4096', label: 'RSA 4096' },
  { value: 'ed25519 0', label: 'Ed25519' },
  { value: 'any 0', label: 'any – the request decides' },
] as const;

/** The names that a role allows, in words. */
export function allowedBy(role: PkiRole): string {
  if (role.allow_any_name) return 'any name';
  const domains = role.allowed_domains.join(', ');
  const kinds = [
    ...(role.allow_subdomains && domains !== '' ? [`names below ${domains}`] : []),
    ...(role.allow_bare_domains && domains !== '' ? [domains] : []),
    ...(role.allow_glob_domains && domains !== '' ? [`names that match ${domains}`] : []),
    ...(role.allow_localhost ? ['localhost'] : []),
  ];
  return kinds.length === 0 ? 'no name yet' : kinds.join('; ');
}

/** The keys of a role, in words. */
export const keyOfRole = ({ key_type, key_bits }: PkiRole): string =>
  key_type === 'any'
    ? 'any'
    : (roleKeys.find(({ value }) => value === `${key_type} ${key_bits}`)?.label ?? `${key_type} ${key_bits}`);
