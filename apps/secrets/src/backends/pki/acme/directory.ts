import type { Call } from '../../../sdk/call';
import { withoutEndSlashes } from '../../../sdk/path-text';
import { findCa, requireIssuer } from '../ca';
import { filledRole, type Role, roles, verbatimRole, withoutTemplates } from '../role';
import { mountAddress } from '../urls';
import { type AcmeConfig, findAcmeConfig, isAllowed, roleOfPolicy } from './config';
import { asProblem, fail } from './problem';

/** Paths of the ACME directories: of the mount, its roles and its issuers. */
export const directoryPrefixes = [
  'acme',
  'roles/:role/acme',
  'issuer/:ref/acme',
  'issuer/:ref/roles/:role/acme',
] as const;

/** Parameters of an ACME path. */
export interface AcmeParams {
  readonly role?: string;
  readonly ref?: string;
  readonly id?: string;
  readonly type?: string;
}

/** An ACME directory, with its issuer and role. */
export interface Directory {
  /** Path below the mount. */
  readonly prefix: string;
  /** External URL of the directory. */
  readonly base: string;
  readonly config: AcmeConfig;
  readonly role: Role;
  readonly issuerRef: string;
}

/** Path of a directory below its mount. */
export const prefixOf = ({ role, ref }: AcmeParams): string =>
  [...(ref === undefined ? [] : ['issuer', ref]), ...(role === undefined ? [] : ['roles', role]), 'acme'].join('/');

/** External URL of the mount. */
export async function baseOf(storage: Call['storage']): Promise<string> {
  const address = withoutEndSlashes(await mountAddress(storage));
  return address === '' ? fail('serverInternal', "config/cluster has no 'path'") : address;
}

const longestSeconds = 90 * 24 * 3600;

/** The directory that a path names; undefined if ACME is disabled. Throws a problem if the directory may not be used. */
export async function findDirectory({
  storage,
  params,
  mount,
}: Pick<Call<AcmeParams>, 'storage' | 'params' | 'mount'>): Promise<Directory | undefined> {
  const config = await findAcmeConfig(storage);
  if (!config.enabled) return undefined;
  const prefix = prefixOf(params);
  const base = `${await baseOf(storage)}/${prefix}`;
  const name = params.role ?? roleOfPolicy(config.default_directory_policy);
  if (name === undefined && config.default_directory_policy === 'forbid') {
    fail('unauthorized', 'the default directory is disabled: use the directory of a role');
  }
  if (name !== undefined && !isAllowed(config.allowed_roles, [name])) {
    fail('unauthorized', `the role ${name} may not be used with ACME`);
  }
  const stored = name === undefined ? undefined : await roles.find(storage, name);
  if (name !== undefined && !stored) fail('malformed', `there is no role ${name}`);
  const issuerRef = params.ref ?? stored?.issuer_ref ?? 'default';
  const ca = await findCa(storage);
  const issuer = await asProblem('malformed', () => requireIssuer(ca, issuerRef));
  const allowed = config.allowed_issuers.map((ref) => (ref === '*' ? ref : requireIssuerId(ca, ref)));
  if (!isAllowed(allowed, [issuer.issuer_id])) fail('unauthorized', 'this issuer may not be used with ACME');
  const role = stored
    ? filledRole(stored, withoutTemplates)
    : verbatimRole(undefined, { server_flag: true, enforce_hostnames: true });
  const ttl = Math.min(role.ttl || mount.defaultLeaseTtlSeconds, longestSeconds);
  const forServers = { server_flag: true, client_flag: false, code_signing_flag: false, email_protection_flag: false };
  return {
    ...{ prefix, base, config, issuerRef },
    role: {
      ...role,
      // Certificates are found and revoked through their orders, so each certificate must be stored.
      ...{ no_store: false, generate_lease: false, ttl },
      max_ttl: Math.min(role.max_ttl || mount.maxLeaseTtlSeconds, longestSeconds),
      ...(!config.allow_role_ext_key_usage && { ...forServers, ext_key_usage: [], ext_key_usage_oids: [] }),
    },
  };
}

const requireIssuerId = (ca: Parameters<typeof requireIssuer>[0], ref: string): string => {
  try {
    return requireIssuer(ca, ref).issuer_id;
  } catch {
    return '';
  }
};
