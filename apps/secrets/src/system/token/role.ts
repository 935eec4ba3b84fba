import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { anyCase, bool, commaList, duration, int, olderName, oneOf, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty, keys, missing } from '../../sdk/reply';
import { checkCidrs, checkNumUses, isGiven } from '../../sdk/token-params';

const types = ['', 'default', 'service', 'batch', 'default-service', 'default-batch'] as const;

const fields = recordFields({
  allowed_policies: [anyCase(commaList()).describe('Policies that tokens of this role may have.'), []],
  disallowed_policies: [anyCase(commaList()).describe('Policies that tokens of this role must not have.'), []],
  allowed_policies_glob: [
    anyCase(commaList()).describe('Same as allowed_policies, but * in a name matches any text.'),
    [],
  ],
  disallowed_policies_glob: [
    anyCase(commaList()).describe('Same as disallowed_policies, but * in a name matches any text.'),
    [],
  ],
  orphan: [bool().describe('Tokens of this role have no parent.'), false],
  renewable: [bool().describe('Whether tokens of this role can be renewed.'), true],
  path_suffix: [string().describe('Suffix added to the path of the tokens, so that they can be revoked together.'), ''],
  allowed_entity_aliases: [
    anyCase(commaList()).describe('Entity aliases that a request may name; * in a name matches any text.'),
    [],
  ],
  token_type: [
    oneOf(types, (value) => `invalid 'token_type' value ${JSON.stringify(value)}`).describe('Type of tokens.'),
    'default-service',
  ],
  token_period: [duration().describe('Make tokens periodic, with this lifetime at every renewal.'), 0],
  token_explicit_max_ttl: [duration().describe('Absolute maximum lifetime, stored in the token.'), 0],
  token_bound_cidrs: [commaList().describe('CIDR blocks from which the tokens can be used.'), []],
  token_no_default_policy: [bool().describe('Do not add the default policy.'), false],
  token_num_uses: [int().describe('Number of uses of a token; 0 is unlimited.'), 0],
});
const Role = fields.input.extend({
  period: olderName(duration(), 'token_period'),
  explicit_max_ttl: olderName(duration(), 'token_explicit_max_ttl'),
  bound_cidrs: olderName(commaList(), 'token_bound_cidrs'),
});

/** The limits on tokens of a role. */
export type TokenRole = z.output<typeof Role>;

/** Token roles by name. */
export const roles = collection('roles/', Role);

const aliases = [
  ['period', 'token_period'],
  ['explicit_max_ttl', 'token_explicit_max_ttl'],
  ['bound_cidrs', 'token_bound_cidrs'],
] as const;

export const rolePaths = [
  path('roles', {
    summary: 'The token roles.',
    list: {
      summary: 'List the token roles.',
      operationId: 'token-list-roles',
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await roles.list(storage, pageOf(input))),
    },
  }),
  path('roles/:name', {
    summary: 'A token role.',
    paramDocs: { name: 'Name of the role.' },
    stored: ({ storage, params }) => roles.find(storage, params.name),
    read: {
      summary: 'Read a token role.',
      operationId: 'token-read-role',
      output: z.looseObject({ name: z.string() }),
      async run({ storage, params }) {
        const role = await roles.find(storage, params.name);
        if (!role) return missing;
        return data({
          explicit_max_ttl: role.token_explicit_max_ttl,
          name: params.name,
          period: role.token_period,
          ...role,
        });
      },
    },
    write: {
      summary: 'Create a token role, or change some of its fields.',
      operationId: 'token-write-role',
      input: Role,
      update: 'merge',
      auditClear: 'all',
      defaults: fields.defaults,
      run({ storage, params, input, fields: sent, warn }) {
        const role: Record<string, unknown> = { ...input };
        for (const [older, newer] of aliases) {
          if (!isGiven(sent, older, input)) continue;
          if (!isGiven(sent, newer, input)) role[newer] = role[older];
          else warn(`Both '${newer}' and deprecated '${older}' value supplied, ignoring the deprecated value`);
        }
        for (const [older] of aliases) delete role[older];
        if (role.token_type === '' || role.token_type === 'default') role.token_type = 'default-service';
        check(role as TokenRole);
        roles.put(storage, params.name, role as TokenRole);
        return empty;
      },
    },
    delete: {
      summary: 'Delete a token role. Also succeeds if it does not exist.',
      operationId: 'token-delete-role',
      run({ storage, params }) {
        roles.delete(storage, params.name);
        return empty;
      },
    },
  }),
];

function check(role: TokenRole): void {
  checkNumUses(role.token_num_uses);
  if (role.path_suffix !== '' && !/^\w[\w.-]+\w$/.test(role.path_suffix)) {
    throw new Refusal(
      'invalid',
      String.raw`given role path suffix contains invalid characters; must conform to \w[\w-.]+\w`,
    );
  }
  checkCidrs(role.token_bound_cidrs);
  if (role.token_type !== 'batch') return;
  const refuse = (why: string) =>
    new Refusal('invalid', `'token_type' cannot be 'batch' when role is set to generate ${why}`);
  if (!role.orphan) throw refuse('non-orphan tokens');
  if (role.token_period > 0) throw refuse('periodic tokens');
  if (role.renewable) throw refuse('renewable tokens');
  if (role.token_explicit_max_ttl > 0) throw refuse('tokens with an explicit max TTL');
}
