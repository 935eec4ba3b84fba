import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { UserLockout } from '../../../kernel/mounts/lockout';
import type { MountConfig } from '../../../kernel/mounts/mount';
import { Failure, fieldProblem, shown, toText } from '../../../sdk/coerce';
import { parseDuration } from '../../../sdk/duration';
import {
  anything,
  bool,
  commaList,
  duration,
  int,
  keyValues,
  object,
  oneOf,
  readLike,
  signedDuration,
  string,
} from '../../../sdk/fields';

const tokenTypes = ['default-service', 'default-batch', 'service', 'batch'] as const;

const pluginVersion = () =>
  string().optional().describe('Only that of the catalog: engines and methods are part of the service.');

/** The fields of a mount's configuration, by wire name. */
export const tuneInput = z.object({
  default_lease_ttl: readLike(anything(), signedDuration())
    .optional()
    .describe('Default lifetime; `system` or -1 for the system default.'),
  max_lease_ttl: readLike(anything(), signedDuration())
    .optional()
    .describe('Longest lifetime; `system` or -1 for the system maximum.'),
  description: string().optional().describe('What the mount is for.'),
  force_no_cache: bool().optional().describe('Has no effect: caches are always coherent.'),
  listing_visibility: oneOf(['', 'hidden', 'unauth'], (v) => `invalid value for 'listing_visibility': "${v}"`)
    .optional()
    .describe('`unauth` shows the mount to everybody.'),
  token_type: oneOf(tokenTypes, () => "invalid value for 'token_type'")
    .optional()
    .describe('Kind of login tokens.'),
  passthrough_request_headers: commaList().optional().describe('Headers handed to the backend.'),
  allowed_response_headers: commaList().optional().describe('Headers a backend may set.'),
  audit_non_hmac_request_keys: commaList().optional().describe('Request fields that audit lines show as they are.'),
  audit_non_hmac_response_keys: commaList().optional().describe('Response fields that audit lines show as they are.'),
  options: keyValues().optional().describe('Options of the type, such as the version of kv.'),
  plugin_version: pluginVersion(),
  user_lockout_config: object()
    .optional()
    .describe(
      'How wrong passwords lock a name: lockout_threshold, lockout_duration, lockout_counter_reset_duration, lockout_disable. Only of methods with passwords.',
    ),
});

/** For rules about parameters a type that says the version as well is that type, and more. */
const mountType = () =>
  string().meta({
    meaning(given: unknown) {
      const type = toText(given);
      if (type instanceof Failure) return type;
      const { type: known, options } = withoutAlias(type, null);
      return options ? [known, `${known}-v${options.version}`] : [known];
    },
    several: true,
  });

/** A type as the catalog knows it, with the options that an older name of it stands for. */
export function withoutAlias(type: string, options: Readonly<Record<string, string>> | null) {
  if (type === 'kv-v2') return { type: 'kv', options: { ...options, version: '2' } };
  if (type === 'kv-v1' || type === 'generic') return { type: 'kv', options: { ...options, version: '1' } };
  return { type, options };
}

export const mountInput = z.object({
  type: mountType().optional().describe('The kind of mount: kv, userpass, …'),
  description: string().optional().describe('What the mount is for.'),
  config: object().optional().describe('Its configuration, as tune takes it.'),
  options: keyValues().optional().describe('Options of the type, such as the version of kv.'),
  local: bool().optional().describe('Whether the mount is local to this installation.'),
  seal_wrap: bool().optional().describe('Has no effect: everything is encrypted.'),
  external_entropy_access: bool().optional().describe('Randomness from elsewhere: not built, so it must be false.'),
  plugin_name: mountType().meta({ olderNameOf: 'type' }).optional().describe('Older way to name the type.'),
  plugin_version: pluginVersion(),
});

type TuneInput = Partial<z.output<typeof tuneInput>>;

/** Lays the given configuration over one; throws `invalid` for lifetimes that contradict each other. */
export function tuned(before: MountConfig, given: TuneInput): MountConfig {
  const after: MountConfig = {
    ...before,
    defaultLeaseTtlSeconds: ttl('default_lease_ttl', given.default_lease_ttl, before.defaultLeaseTtlSeconds),
    maxLeaseTtlSeconds: ttl('max_lease_ttl', given.max_lease_ttl, before.maxLeaseTtlSeconds),
    forceNoCache: given.force_no_cache ?? before.forceNoCache,
    listingVisibility:
      given.listing_visibility === undefined ? before.listingVisibility : given.listing_visibility || undefined,
    tokenType: given.token_type ?? before.tokenType,
    passthroughRequestHeaders: given.passthrough_request_headers ?? before.passthroughRequestHeaders,
    allowedResponseHeaders: given.allowed_response_headers ?? before.allowedResponseHeaders,
    auditClearRequestKeys: given.audit_non_hmac_request_keys ?? before.auditClearRequestKeys,
    auditClearResponseKeys: given.audit_non_hmac_response_keys ?? before.auditClearResponseKeys,
    userLockout: given.user_lockout_config
      ? lockedOut(before.userLockout, given.user_lockout_config)
      : before.userLockout,
  };
  return after;
}

function ttl(field: string, value: unknown, before: number): number {
  if (value === undefined || value === null) return before;
  if (value === 'system' || value === -1 || value === '-1' || value === '') return 0;
  const seconds = typeof value === 'string' || typeof value === 'number' ? parseDuration(String(value)) : undefined;
  if (seconds === undefined)
    throw new Refusal('invalid', `unable to parse ${field}: time: invalid duration "${value}"`);
  if (seconds < 0) throw new Refusal('invalid', `${field}: cannot provide negative value '${value}'`);
  return seconds;
}

const Lockout = z.strictObject({
  lockout_threshold: int().optional(),
  lockout_duration: duration().optional(),
  lockout_counter_reset_duration: duration().optional(),
  lockout_disable: bool().optional(),
});

/** Lays what is given over what there is; nothing and 0 stand for what holds for all. */
function lockedOut(before: UserLockout | undefined, given: Record<string, unknown>): UserLockout {
  const said = Object.entries(given).filter(([, value]) => value !== null && value !== '');
  const parsed = Lockout.safeParse(Object.fromEntries(said));
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    const name = String(path[0] ?? Object.keys(given).find((field) => !(field in Lockout.shape)));
    const problem = path.length > 0 ? fieldProblem(name, shown(given[name]), message) : `unknown field ${name}`;
    throw new Refusal('invalid', `user_lockout_config: ${problem}`);
  }
  const { lockout_threshold: threshold, lockout_disable: disabled } = parsed.data;
  if ((threshold ?? 0) < 0) throw new Refusal('invalid', 'user_lockout_config: lockout_threshold must not be negative');
  const number = (now: number | undefined, was: number | undefined) => (now === undefined ? was : now || undefined);
  return {
    threshold: number(threshold, before?.threshold),
    durationSeconds: number(parsed.data.lockout_duration, before?.durationSeconds),
    counterResetSeconds: number(parsed.data.lockout_counter_reset_duration, before?.counterResetSeconds),
    disabled: disabled ?? before?.disabled,
  };
}
