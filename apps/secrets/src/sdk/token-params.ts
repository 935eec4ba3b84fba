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

/** What the token of a login will be, as the roles or users of every auth method say. Spec: Cloud-identity auth role (Token parameters). */
export const tokenFields = recordFields({
  token_ttl: [duration().describe('Initial lifetime of tokens; applied again at renewals.'), 0],
  token_max_ttl: [duration().describe('Maximum lifetime including renewals; applied again at renewals.'), 0],
  token_explicit_max_ttl: [duration().describe('Absolute maximum lifetime, stored in the token.'), 0],
  token_period: [duration().describe('Make tokens periodic: every renewal gives this lifetime.'), 0],
  token_policies: [anyCase(commaList()).describe('Policies of the tokens.'), []],
  token_bound_cidrs: [commaList().describe('Addresses that may log in and use the token.'), []],
  token_no_default_policy: [bool().describe('Leave out the default policy.'), false],
  token_num_uses: [int().describe('Number of uses of a token; 0 is unlimited.'), 0],
  token_type: [oneOf(tokenTypes, invalidType).describe('service, batch, or default (as the mount says).'), 'default'],
  token_strictly_bind_ip: [bool().describe('Only the address that logged in may use the token.'), false],
});

/** The older names; without their token_* field they fill it, and are echoed on read. */
const tokenAliases = z.object({
  policies: olderName(anyCase(commaList()), 'token_policies'),
  ttl: olderName(duration(), 'token_ttl'),
  max_ttl: olderName(duration(), 'token_max_ttl'),
  period: olderName(duration(), 'token_period'),
  num_uses: olderName(int(), 'token_num_uses'),
  bound_cidrs: olderName(commaList(), 'token_bound_cidrs'),
});

const names = z.array(z.string());

/** Token parameters as a read shows them; lay it under a role's own output. */
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

/** The fields of a role or user that people and programs log in as: its own, and what their tokens will be. */
export function loginFields<const S extends FieldTypes>(own: FieldRows<S>) {
  const { input, defaults, output } = recordFields<S>(own);
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
 * Settles aliases against their token_* fields, which win, and checks what the whole must obey. Call it in a write with
 * the merged input and the fields as sent; answers the input to store. Throws `invalid` with the texts clients know.
 */
export function settleTokenParams<T extends TokenParams & TokenAliases>(
  input: T,
  given: Readonly<Record<string, unknown>>,
): T {
  const settled: Record<string, unknown> = { ...input };
  for (const [alias, field] of Object.entries(aliasOf)) {
    if (isGiven(given, field, settled)) {
      // The alias shows the winning value while it is in use at all.
      if (settled[alias] !== undefined) settled[alias] = settled[field];
    } else if (isGiven(given, alias, settled)) settled[field] = settled[alias];
  }
  if (settled.token_type === '') settled.token_type = 'default';
  const params = settled as T;
  checkTokenParams(params);
  return params;
}

/** Whether a body says something of a field: null does of a list, which it empties, and takes back what it said of others. */
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

/** Refuses a period that the mount does not allow, and warns of a lifetime that it cuts short. */
export function boundByMount(
  { token_period: period, token_max_ttl: maxTtl }: TokenParams,
  { maxLeaseTtlSeconds: most }: { readonly maxLeaseTtlSeconds: number },
  warn: (text: string) => void,
  warning = 'token_max_ttl is greater than the maximum lifetime of the mount, which caps it',
): void {
  if (period > most) {
    const [given, allowed] = [period, most].map(durationText);
    throw new Refusal(
      'invalid',
      `token period of "${given}" is greater than the backend's maximum lease TTL of "${allowed}"`,
    );
  }
  if (maxTtl > most) warn(warning);
}

/** Refuses a number of uses that no counter can hold. */
export function checkNumUses(numUses: number, name = "'token_num_uses'"): void {
  if (numUses < 0) throw new Refusal('invalid', `${name} cannot be negative`);
  if (numUses > MOST_USES) throw new Refusal('invalid', `${name} cannot be greater than ${MOST_USES}`);
}

/** Refuses a list that holds anything but addresses and address blocks. */
export function checkCidrs(cidrs: readonly string[]): void {
  for (const cidr of cidrs) {
    if (isBlock(cidr)) continue;
    throw new Refusal(
      'invalid',
      `error parsing address "${cidr}": Unable to convert ${cidr} to an IP address or block`,
    );
  }
}

/** In full: `10` and `127.1` are numbers that some readers take for an unintended address. */
function isBlock(cidr: string): boolean {
  const [address, bits] = cidr.split('/');
  return isIP(address!) !== 0 && (bits === undefined || (/^\d+$/.test(bits) && ipaddr.isValidCIDR(cidr)));
}

/** True if `address` lies in one of the blocks; an empty list holds all addresses. */
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

/** Token parameters as a read shows them: all of token_*, and the aliases that were used. */
export function showTokenParams(params: TokenParams & TokenAliases): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  // What was stored by an earlier version lacks what came later.
  for (const [key, value] of Object.entries(tokenFields.defaults))
    shown[key] = params[key as keyof TokenParams] ?? value;
  for (const alias of Object.keys(aliasOf) as (keyof TokenAliases)[]) {
    if (params[alias] !== undefined) shown[alias] = params[alias];
  }
  return shown;
}

/**
 * Token parameters as the reply to a login wants them, or that to a renewal. `config` is what besides the role or user
 * decided who may log in.
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

/** A login that waited, with what the method gives now. Throws `denied` if it was let in by something else. */
export function loginAfterWait(waited: Login, now: Partial<Login>): Login {
  if (now.demands === undefined || now.demands !== waited.demands) {
    throw new Refusal('denied', 'the user, role or configuration of this login has changed: log in again');
  }
  return { ...waited, ...now };
}

/** Of everything that is not about the token. */
function digestOf(params: TokenParams, config: unknown): string {
  const own = Object.entries(params).filter(([name]) => !(name in tokenFields.defaults || name in aliasOf));
  return createHash('sha256')
    .update(JSON.stringify([own, config]))
    .digest('base64url');
}
