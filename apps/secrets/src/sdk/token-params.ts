import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { Refusal } from '@keystead/refusal';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { durationText } from './duration';
import { anyCase, bool, commaList, duration, int, olderName, oneOf } from './fields';
import { type FieldRows, type FieldTypes, recordFields } from './record-fields';
import type { Login } from './reply';

const tokenTypes = ['service', 'batch', 'default', ''] as const;

const MOST_USES = 2 ** 31 - 1;

const invalidType = (value: string) => `invalid 'token_type' value ${JSON.stringify(value)}`;

/**
 * The properties of a login's token, set by roles or users of every auth method. Spec: Cloud-identity auth role (Token
 * parameters).
 */
export const tokenFields = recordFields({
  token_ttl: [duration().describe('Initial lifetime of tokens; also the default at renewals.'), 0],
  token_max_ttl: [duration().describe('Maximum lifetime of tokens with renewals; checked again at each renewal.'), 0],
  token_explicit_max_ttl: [duration().describe('Absolute maximum lifetime, stored in the token.'), 0],
  token_period: [duration().describe('Make tokens periodic: every renewal sets their lifetime to this value.'), 0],
  token_policies: [anyCase(commaList()).describe('Policies of the tokens.'), []],
  token_bound_cidrs: [commaList().describe('CIDR blocks from which users can log in and tokens can be used.'), []],
  token_no_default_policy: [bool().describe('Do not add the default policy.'), false],
  token_num_uses: [int().describe('Number of uses of a token; 0 is unlimited.'), 0],
  token_type: [
    oneOf(tokenTypes, invalidType).describe('service, batch, or default (the type that the mount sets).'),
    'default',
  ],
  token_strictly_bind_ip: [bool().describe('Tokens can be used only from the IP address of the login.'), false],
});

/** The older names. They set the corresponding token_* field if it is missing, and are shown by a read. */
const tokenAliases = z.object({
  policies: olderName(anyCase(commaList()), 'token_policies'),
  ttl: olderName(duration(), 'token_ttl'),
  max_ttl: olderName(duration(), 'token_max_ttl'),
  period: olderName(duration(), 'token_period'),
  num_uses: olderName(int(), 'token_num_uses'),
  bound_cidrs: olderName(commaList(), 'token_bound_cidrs'),
});

const names = z.array(z.string());

/** Token parameters as shown by a read; merge them into a role's own output. */
export const tokenParamsOutput = tokenFields.output.extend({
  policies: names.optional(),
  ttl: z.int().optional(),
  max_ttl: z.int().optional(),
  period: z.int().optional(),
  num_uses: z.int().optional(),
  bound_cidrs: names.optional(),
});

/** Token parameters as stored. */
export type TokenParams = z.output<typeof tokenFields.input>;
type TokenAliases = z.output<typeof tokenAliases>;

/** The fields of a role or user for logins: its own fields and the token parameters. */
export function loginFields<const S extends FieldTypes>(ownFields: FieldRows<S>) {
  const { input, defaults, output } = recordFields<S>(ownFields);
  return {
    input: z.object({ ...input.shape, ...tokenFields.input.shape, ...tokenAliases.shape }),
    defaults: { ...tokenFields.defaults, ...defaults },
    output: tokenParamsOutput.extend(output.shape),
  };
}

const aliasOf = {
  policies: 'token_policies',
  ttl: 'token_ttl',
  max_ttl: 'token_max_ttl',
  period: 'token_period',
  num_uses: 'token_num_uses',
  bound_cidrs: 'token_bound_cidrs',
} as const satisfies Record<keyof TokenAliases, keyof TokenParams>;

/**
 * Resolves aliases against their token_* fields, which take precedence, and checks the result. Call it in a write with
 * the merged input and the fields as sent. Returns the input to store. Throws `invalid` with the messages that clients
 * expect.
 */
export function settleTokenParams<T extends TokenParams & TokenAliases>(
  input: T,
  sentFields: Readonly<Record<string, unknown>>,
): T {
  const normalized: Record<string, unknown> = { ...input };
  for (const [alias, field] of Object.entries(aliasOf)) {
    if (isGiven(sentFields, field, normalized)) {
      // While the alias is in use, it shows the effective value.
      if (normalized[alias] !== undefined) normalized[alias] = normalized[field];
    } else if (isGiven(sentFields, alias, normalized)) normalized[field] = normalized[alias];
  }
  if (normalized.token_type === '') normalized.token_type = 'default';
  const params = normalized as T;
  checkTokenParams(params);
  return params;
}

/** Whether a body sets a field: null empties a list, but unsets any other field. */
export const isGiven = (
  sent: Readonly<Record<string, unknown>>,
  field: string,
  read: Readonly<Record<string, unknown>>,
): boolean => sent[field] != null || (sent[field] === null && Array.isArray(read[field]));

/** Refuses token parameters that contradict each other. */
function checkTokenParams(params: TokenParams): void {
  if (params.token_max_ttl > 0 && params.token_ttl > params.token_max_ttl) {
    throw new Refusal('invalid', "'token_ttl' cannot be greater than 'token_max_ttl'");
  }
  checkNumUses(params.token_num_uses);
  if (params.token_type === 'batch') {
    if (params.token_period > 0)
      throw new Refusal('invalid', "'token_type' cannot be 'batch' when 'token_period' is set");
    if (params.token_num_uses > 0) {
      throw new Refusal('invalid', "'token_type' cannot be 'batch' when 'token_num_uses' is set");
    }
  }
  checkCidrs(params.token_bound_cidrs);
  if (params.token_strictly_bind_ip && params.token_bound_cidrs.length > 0) {
    const text = "'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one";
    throw new Refusal('invalid', text);
  }
}

/** Refuses a period that the mount does not allow, and warns of a lifetime that the mount caps. */
export function boundByMount(
  { token_period: period, token_max_ttl: maxTtl }: TokenParams,
  { maxLeaseTtlSeconds: most }: { readonly maxLeaseTtlSeconds: number },
  warn: (text: string) => void,
  warning = 'token_max_ttl is greater than the maximum lifetime of the mount, which caps it',
): void {
  if (period > most) {
    const [periodText, allowed] = [period, most].map(durationText);
    throw new Refusal(
      'invalid',
      `token period of "${periodText}" is greater than the backend's maximum lease TTL of "${allowed}"`,
    );
  }
  if (maxTtl > most) warn(warning);
}

/** Refuses a number of uses that no counter can hold. */
export function checkNumUses(numUses: number, name = "'token_num_uses'"): void {
  if (numUses < 0) throw new Refusal('invalid', `${name} cannot be negative`);
  if (numUses > MOST_USES) throw new Refusal('invalid', `${name} cannot be greater than ${MOST_USES}`);
}

/** Refuses a list with anything but addresses and CIDR blocks. */
export function checkCidrs(cidrs: readonly string[]): void {
  for (const cidr of cidrs) {
    if (isBlock(cidr)) continue;
    throw new Refusal(
      'invalid',
      `error parsing address "${cidr}": Unable to convert ${cidr} to an IP address or block`,
    );
  }
}

/**
 * Whether a string is an address or CIDR block that is written in full. Some parsers would read `10` or `127.1` as an
 * unintended address.
 */
function isBlock(cidr: string): boolean {
  const [address, bits] = cidr.split('/');
  return isIP(address!) !== 0 && (bits === undefined || (/^\d+$/.test(bits) && ipaddr.isValidCIDR(cidr)));
}

/** True if `address` is in one of the blocks; an empty list contains all addresses. */
export function withinCidrs(address: string, cidrs: readonly string[]): boolean {
  if (cidrs.length === 0) return true;
  if (!ipaddr.isValid(address)) return false;
  const peer = ipaddr.process(address);
  return cidrs.some((cidr) => {
    if (!cidr.includes('/')) return ipaddr.process(cidr).toString() === peer.toString();
    const [block, bits] = ipaddr.parseCIDR(cidr);
    return block.kind() === peer.kind() && peer.match(block, bits);
  });
}

/** Token parameters as shown by a read: all of token_*, and the aliases that were used. */
export function showTokenParams(params: TokenParams & TokenAliases): Record<string, unknown> {
  const shownParams: Record<string, unknown> = {};
  // Records of earlier versions lack later parameters.
  for (const [key, value] of Object.entries(tokenFields.defaults))
    shownParams[key] = params[key as keyof TokenParams] ?? value;
  for (const alias of Object.keys(aliasOf) as (keyof TokenAliases)[]) {
    if (params[alias] !== undefined) shownParams[alias] = params[alias];
  }
  return shownParams;
}

/**
 * Token parameters for the reply to a login or a renewal. `config` is the configuration, apart from the role or user,
 * that decided who may log in.
 */
export function loginParams(params: TokenParams, config?: unknown): Partial<Login> & Pick<Login, 'policies'> {
  // Roles of an earlier version may say default-service or default-batch.
  const type = params.token_type.replace('default-', '') as 'service' | 'batch' | 'default' | '';
  return {
    policies: params.token_policies,
    noDefaultPolicy: params.token_no_default_policy,
    ttlSeconds: params.token_ttl,
    maxTtlSeconds: params.token_max_ttl,
    explicitMaxTtlSeconds: params.token_explicit_max_ttl,
    periodSeconds: params.token_period,
    numUses: params.token_num_uses,
    boundCidrs: params.token_bound_cidrs,
    bindsAddress: params.token_strictly_bind_ip,
    demands: digestOf(params, config),
    type,
  };
}

/**
 * A waiting login with the current values of the method. Throws `denied` if the login was allowed by something else.
 */
export function loginAfterWait(waited: Login, now: Partial<Login>): Login {
  if (now.demands === undefined || now.demands !== waited.demands) {
    throw new Refusal('denied', 'the user, role or configuration of this login has changed: log in again');
  }
  return { ...waited, ...now };
}

/** A digest of everything that decided about the login, apart from the token parameters. */
function digestOf(params: TokenParams, config: unknown): string {
  const ownFields = Object.entries(params).filter(([name]) => !(name in tokenFields.defaults || name in aliasOf));
  return createHash('sha256')
    .update(JSON.stringify([ownFields, config]))
    .digest('base64url');
}
