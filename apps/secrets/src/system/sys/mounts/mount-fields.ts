import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { MountConfig, UserLockout } from '../../../kernel/mounts/mount';
import { Failure, toPairs, toText } from '../../../sdk/coerce';
import { bool, commaList, duration, int, keyValues, namedDuration, nested, oneOf, string } from '../../../sdk/fields';

const tokenTypes = ['default-service', 'default-batch', 'service', 'batch'] as const;

const pluginVersion = () =>
  string().optional().describe('Must be the version in the catalog: all plugins are built in.');

const mountLifetime = (name: string) =>
  namedDuration({
    none: ['', 'system', -1, '-1'],
    problem: (text) => `unable to parse ${name}: ${text}`,
    negative: (value) => `${name}: cannot provide negative value '${value}'`,
  });

const Lockout = z.strictObject({
  lockout_threshold: int().optional(),
  lockout_duration: duration().optional(),
  lockout_counter_reset_duration: duration().optional(),
  lockout_disable: bool().optional(),
});
type Lockout = z.output<typeof Lockout>;

/** The fields of a mount's configuration, by wire name. */
export const tuneInput = z.object({
  default_lease_ttl: mountLifetime('default_lease_ttl')
    .optional()
    .describe('Default lifetime; `system` or -1 for the system default.'),
  max_lease_ttl: mountLifetime('max_lease_ttl')
    .optional()
    .describe('Maximum lifetime; `system` or -1 for the system maximum.'),
  description: string().optional().describe('Description of the mount.'),
  force_no_cache: bool().optional().describe('Has no effect: caches are always consistent.'),
  listing_visibility: oneOf(['', 'hidden', 'unauth'], (v) => `invalid value for 'listing_visibility': "${v}"`)
    .optional()
    .describe('`unauth` shows the mount to unauthenticated callers.'),
  token_type: oneOf(tokenTypes, () => "invalid value for 'token_type'")
    .optional()
    .describe('Type of login tokens.'),
  passthrough_request_headers: commaList().optional().describe('Request headers to pass to the plugin.'),
  allowed_response_headers: commaList().optional().describe('Response headers that the plugin may set.'),
  audit_non_hmac_request_keys: commaList().optional().describe('Request fields that are not hashed in audit lines.'),
  audit_non_hmac_response_keys: commaList().optional().describe('Response fields that are not hashed in audit lines.'),
  options: keyValues().optional().describe('Options of the type, such as the version of kv.'),
  plugin_version: pluginVersion(),
  user_lockout_config: nested('user_lockout_config', Lockout, [null, ''])
    .optional()
    .describe(
      'Lockout after wrong passwords: lockout_threshold, lockout_duration, lockout_counter_reset_duration, lockout_disable. Only for auth methods with passwords.',
    ),
});

/** A type of the catalog, with the options that an older name implies. */
export function withoutAlias(type: string, options: Readonly<Record<string, string>> | null) {
  if (type === 'kv-v2') return { type: 'kv', options: { ...options, version: '2' } };
  if (type === 'kv-v1' || type === 'generic') return { type: 'kv', options: { ...options, version: '1' } };
  return { type, options };
}

/** The ways to request a kv mount and its version: by type, by older type, and by option. */
export function sameMount(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] {
  const { type, plugin_name: older, options, ...rest } = fields;
  const typeText = toText(type || older || '');
  const pairs = toPairs(options ?? {});
  if (typeText instanceof Failure || pairs instanceof Failure) return [];
  const resolved = withoutAlias(typeText, pairs);
  if (resolved.type !== 'kv') return [];
  const { version = '1', ...others } = resolved.options ?? {};
  const more = { ...rest, ...(Object.keys(others).length > 0 && { options: others }) };
  const names = version === '2' ? ['kv-v2'] : ['kv', 'kv-v1', 'generic'];
  return [{ ...rest, type: 'kv', options: { ...others, version } }, ...names.map((name) => ({ ...more, type: name }))];
}

export const mountInput = z.object({
  type: string().optional().describe('Type of the mount: kv, userpass, …'),
  description: string().optional().describe('Description of the mount.'),
  config: nested('config', tuneInput).optional().describe('Configuration of the mount, with the fields of tune.'),
  options: keyValues().optional().describe('Options of the type, such as the version of kv.'),
  local: bool().optional().describe('Whether the mount is local to this installation.'),
  seal_wrap: bool().optional().describe('Has no effect: everything is encrypted.'),
  external_entropy_access: bool().optional().describe('External entropy is not supported: must be false.'),
  plugin_name: string().meta({ olderNameOf: 'type' }).optional().describe('Older name of type.'),
  plugin_version: pluginVersion(),
});

type TuneInput = Partial<z.output<typeof tuneInput>>;

/** Merges the given configuration into another; throws `invalid` for contradictory lifetimes. */
export function tuned(before: MountConfig, input: TuneInput): MountConfig {
  const after: MountConfig = {
    ...before,
    defaultLeaseTtlSeconds: input.default_lease_ttl ?? before.defaultLeaseTtlSeconds,
    maxLeaseTtlSeconds: input.max_lease_ttl ?? before.maxLeaseTtlSeconds,
    forceNoCache: input.force_no_cache ?? before.forceNoCache,
    listingVisibility:
      input.listing_visibility === undefined ? before.listingVisibility : input.listing_visibility || undefined,
    tokenType: input.token_type ?? before.tokenType,
    passthroughRequestHeaders: input.passthrough_request_headers ?? before.passthroughRequestHeaders,
    allowedResponseHeaders: input.allowed_response_headers ?? before.allowedResponseHeaders,
    auditClearRequestKeys: input.audit_non_hmac_request_keys ?? before.auditClearRequestKeys,
    auditClearResponseKeys: input.audit_non_hmac_response_keys ?? before.auditClearResponseKeys,
    userLockout: input.user_lockout_config
      ? lockedOut(before.userLockout, input.user_lockout_config)
      : before.userLockout,
  };
  return after;
}

/** Merges the given settings into the current ones; undefined and 0 mean the default. */
function lockedOut(before: UserLockout | undefined, input: Lockout): UserLockout {
  const { lockout_threshold: threshold, lockout_disable: disabled } = input;
  if ((threshold ?? 0) < 0) throw new Refusal('invalid', 'user_lockout_config: lockout_threshold must not be negative');
  const number = (now: number | undefined, was: number | undefined) => (now === undefined ? was : now || undefined);
  return {
    threshold: number(threshold, before?.threshold),
    durationSeconds: number(input.lockout_duration, before?.durationSeconds),
    counterResetSeconds: number(input.lockout_counter_reset_duration, before?.counterResetSeconds),
    disabled: disabled ?? before?.disabled,
  };
}
