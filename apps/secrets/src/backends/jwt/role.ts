import { textsOf } from '@keystead/auth';
import { z } from 'zod';
import { collection } from '../../sdk/collection';
import {
  bool,
  commaList,
  duration,
  exactObject,
  int,
  keyValues,
  oneOf,
  signedDuration,
  string,
} from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { boundByMount, loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import { comparable } from './exact-numbers';

const fields = loginFields({
  role_type: [
    oneOf(['oidc', 'jwt', ''], (roleType) => `invalid 'role_type': ${roleType}`).describe(
      'jwt: the caller sends a signed JWT. oidc: users sign in with a browser or device. Default: oidc on mounts of type oidc and with allowed_redirect_uris, otherwise jwt.',
    ),
    '',
  ],
  bound_audiences: [commaList().describe('Audiences; the JWT must be for one of them.'), []],
  bound_subject: [string().describe('Required sub claim.'), ''],
  bound_claims: [exactObject().describe('Required claims, each with a value or a list of allowed values.'), {}],
  bound_claims_type: [
    oneOf(['string', 'glob'], (claimsType) => `invalid 'bound_claims_type': ${claimsType}`).describe(
      'string: values of bound_claims must match exactly. glob: * in them matches any text.',
    ),
    'string',
  ],
  user_claim: [string().describe('The claim that identifies the user; it becomes the name of the alias.'), ''],
  user_claim_json_pointer: [bool().describe('user_claim is a JSON pointer.'), false],
  groups_claim: [
    string().describe(
      'The claim that lists the user’s groups, for external groups. A JSON pointer if it begins with /.',
    ),
    '',
  ],
  groups_claim_optional: [
    bool().describe(
      'Accept JWTs without groups_claim, as if the user had no groups. By default they are refused, so that you notice when the provider stops sending the claim.',
    ),
    false,
  ],
  claim_mappings: [keyValues().describe('Claims to copy to the metadata of the token, as claim=key.'), {}],
  expiration_leeway: [signedDuration().describe('Lifetime of JWTs without exp. 0: 150 seconds. -1: no limit.'), 0],
  not_before_leeway: [
    signedDuration().describe(
      'For JWTs without iat and nbf: how long before exp they become valid. 0: 150 seconds. -1: no limit.',
    ),
    0,
  ],
  clock_skew_leeway: [signedDuration().describe('Tolerated clock difference. 0: 60 seconds. -1: none.'), 0],
  allowed_redirect_uris: [
    commaList().describe('oidc: allowed redirect URIs. The port of http addresses on loopback may differ.'),
    [],
  ],
  oidc_scopes: [
    commaList().describe(
      'oidc: scopes to request in addition to openid. With offline_access, each token renewal also refreshes the sign-in at the provider.',
    ),
    [],
  ],
  max_age: [duration().describe('oidc: maximum time since the user signed in at the provider. 0: no limit.'), 0],
  callback_mode: [
    oneOf(['client', 'direct', 'device'], (mode) => `invalid 'callback_mode': ${mode}`).describe(
      'oidc: client: the browser returns to the client. direct: it returns to this service, and the client polls. device: the device flow.',
    ),
    'client',
  ],
  poll_interval: [int().describe('oidc: seconds between polls. 0: the interval of the provider, or 5.'), 0],
  verbose_oidc_logging: [bool().describe('oidc: log the claims of logins at the level debug.'), false],
});
/** A role as stored. */
export type JwtRole = Omit<z.output<typeof fields.input>, 'role_type'> & { readonly role_type: 'oidc' | 'jwt' };
type SentRole = z.output<typeof fields.input>;
const roles = collection('role/', z.custom<JwtRole>());

const Output = fields.output.extend({
  bound_audiences: z.array(z.string()).nullable(),
  bound_claims: z.record(z.string(), z.unknown()).nullable(),
  claim_mappings: z.record(z.string(), z.string()).nullable(),
  allowed_redirect_uris: z.array(z.string()).nullable(),
  oidc_scopes: z.array(z.string()).nullable(),
  poll_interval: z.int().optional(),
});

/** Finds a role; the case of names is ignored. */
export async function findRole(storage: Storage, name: string): Promise<JwtRole | undefined> {
  const found = await roles.find(storage, name.toLowerCase());
  // Records of earlier versions lack newer fields.
  return found && { ...fields.defaults, ...found };
}

/** The names of the roles. */
export const roleListPath = namesPath('role', roles, {
  summary: 'The roles of this method.',
  list: 'List the roles.',
});

/** One role. */
export const rolePath = recordPath(
  'role/:name',
  { find: findRole, delete: roles.delete },
  {
    folds: { name: 'case' },
    summary: 'A role: which JWTs may log in, and the settings of the issued tokens.',
    read: {
      summary: 'Read a role.',
      output: Output,
      exact: true,
      show: roleData,
    },
    write: {
      summary: 'Create a role, or change some of its fields.',
      update: 'merge',
      defaults: fields.defaults,
      input: fields.input,
      run({ params, input, fields: sent, storage, mount, warn }) {
        const role = { ...settleTokenParams(input, sent), role_type: roleType(input, mount.type) };
        checkRole(role);
        if (role.verbose_oidc_logging) {
          warn('verbose_oidc_logging writes personal data from the provider to the log at level debug');
        }
        boundByMount(role, mount, warn);
        roles.put(storage, params.name, role);
        return empty;
      },
    },
    delete: 'Delete a role. Deleting an absent role succeeds; its tokens can no longer be renewed.',
  },
);

function roleType(
  { role_type: requestedType, allowed_redirect_uris: uris }: SentRole,
  mountType: string,
): 'oidc' | 'jwt' {
  if (requestedType !== '') return requestedType;
  return mountType === 'oidc' || uris.length > 0 ? 'oidc' : 'jwt';
}

function checkRole(role: JwtRole): void {
  if (!role.user_claim) refuse('a user claim must be defined on the role');
  if (role.role_type === 'oidc') checkBrowser(role);
  else requireBound(role);
  checkClaims(role);
}

function checkBrowser({ allowed_redirect_uris: uris, callback_mode: mode, poll_interval: poll }: JwtRole): void {
  if (poll < 0) refuse('poll_interval cannot be negative');
  if (mode !== 'device' && uris.length === 0) {
    refuse("'allowed_redirect_uris' must be set if 'role_type' is 'oidc' or unspecified.");
  }
  const wrong = uris.find((uri) => !URL.canParse(uri));
  if (wrong !== undefined) refuse(`allowed_redirect_uris: ${JSON.stringify(wrong)} is not an absolute address`);
}

function requireBound(role: JwtRole): void {
  const bounds = [role.bound_audiences, role.token_bound_cidrs, Object.keys(role.bound_claims)];
  // A role without bounds would admit every user of the issuer.
  if (!role.bound_subject && bounds.every((bound) => bound.length === 0)) {
    refuse('must have at least one bound constraint when creating/updating a role');
  }
}

function checkClaims(role: JwtRole): void {
  for (const [name, expected] of Object.entries(role.bound_claims)) {
    const texts = textsOf(comparable(expected));
    if (!texts || texts.length === 0) {
      refuse(`bound claim ${JSON.stringify(name)} must be a string, number or boolean, or a list of them`);
    }
    if (role.bound_claims_type === 'glob' && ![expected].flat().every((value) => typeof value === 'string')) {
      refuse(
        `bound claim ${JSON.stringify(name)} must be a string or a list of strings where bound_claims_type is glob`,
      );
    }
  }
  const targets = Object.values(role.claim_mappings);
  const twice = targets.find((key, at) => targets.indexOf(key) !== at);
  if (twice !== undefined) refuse(`multiple keys are mapped to metadata key ${JSON.stringify(twice)}`);
  if (targets.includes('role')) refuse('metadata key "role" is reserved and may not be a mapping destination');
}

const empties = ['bound_audiences', 'bound_claims', 'claim_mappings', 'allowed_redirect_uris', 'oidc_scopes'] as const;

function roleData(role: JwtRole): Record<string, unknown> {
  const fieldNames = Object.keys(fields.defaults).filter((field) => !field.startsWith('token_'));
  const values: Record<string, unknown> = Object.fromEntries(
    fieldNames.map((field) => [field, role[field as keyof JwtRole]]),
  );
  for (const field of empties) if (Object.keys(role[field]).length === 0) values[field] = null;
  if (role.poll_interval === 0) delete values.poll_interval;
  return { ...values, ...showTokenParams(role) };
}
