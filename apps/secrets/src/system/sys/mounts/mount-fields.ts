import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { MountConfig } from '../../../kernel/mounts/mount';
import { parseDuration } from '../../../sdk/duration';
import { anything, bool, commaList, keyValues, object, oneOf, string } from '../../../sdk/fields';

const tokenTypes = ['default-service', 'default-batch', 'service', 'batch'] as const;

/** The fields of a mount's configuration, by wire name. */
export const tuneInput = z.object({
  default_lease_ttl: anything().optional().describe('Default lifetime; `system` or -1 for the system default.'),
  max_lease_ttl: anything().optional().describe('Longest lifetime; `system` or -1 for the system maximum.'),
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
  plugin_version: string().optional().describe('Has no effect.'),
  user_lockout_config: object().optional().describe('Has no effect.'),
});

export const mountInput = z.object({
  type: string().optional().describe('The kind of mount: kv, userpass, …'),
  description: string().optional().describe('What the mount is for.'),
  config: object().optional().describe('Its configuration, as tune takes it.'),
  options: keyValues().optional().describe('Options of the type, such as the version of kv.'),
  local: bool().optional().describe('Whether the mount is local to this installation.'),
  seal_wrap: bool().optional().describe('Has no effect: everything is encrypted.'),
  external_entropy_access: bool().optional().describe('Has no effect.'),
  plugin_name: string().optional().describe('Older way to name the type.'),
  plugin_version: string().optional().describe('Has no effect.'),
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
