import type { ServiceResponse } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { Problem } from '../problem';
import { findToken } from '../settings';
import { print, printOrField } from './print';
import { count, listed, parsePairs } from './values';

interface CreateFlags {
  policy?: string[];
  ttl?: string;
  explicitMaxTtl?: string;
  period?: string;
  uses?: string;
  displayName?: string;
  orphan?: boolean;
  noDefaultPolicy?: boolean;
  renewable?: string;
  type?: string;
  role?: string;
  entityAlias?: string;
  metadata?: string[];
  field?: string;
}

interface OneFlags {
  accessor?: string;
  self?: boolean;
  increment?: string;
  mode?: string;
  field?: string;
}

const which = { '[token]': 'only -, which prompts for it: a token cannot be an argument' } as const;
const accessor = { '--accessor <accessor>': 'the token with this accessor' } as const;
const field = { '--field <name>': 'print only this field' } as const;

/** `token …`: create, look up, renew and revoke tokens. */
export const tokenCommands: readonly CommandSpec[] = [
  {
    name: 'token create',
    help: 'Create a child of your token; it can do no more than you can.',
    flags: {
      '--policy <name...>': 'policies of the new token [yours]',
      '--ttl <duration>': 'lifetime, for example 30m',
      '--explicit-max-ttl <duration>': 'lifetime that no renewal exceeds',
      '--period <duration>': 'make the token periodic: every renewal gives this lifetime',
      '--uses <n>': { help: 'number of times that the token can be used', also: ['--use-limit'] },
      '--display-name <text>': 'name in logs and lists',
      '--metadata <name=value>': { help: 'a key-value pair of the metadata', repeatable: true },
      '--type <type>': 'service or batch',
      '--role <name>': 'token role to use',
      '--entity-alias <name>': 'entity alias; needs --role',
      '--renewable <bool>': 'whether it can be renewed (true or false)',
      '--orphan': 'create an orphan, which is not revoked with your token',
      '--no-default-policy': 'without the policy default',
      '--field <name>': 'print only this field, for example client_token',
    },
    examples: ['token create -policy=readers -ttl=30m', 'token create -field=client_token -period=24h'],
    async run(context, flags: CreateFlags) {
      if (flags.renewable !== undefined && !/^(true|false)$/.test(flags.renewable)) {
        throw new Problem(`--renewable ${flags.renewable}: give true or false`);
      }
      const answer = await context.client.post(`auth/token/create${flags.role ? `/${flags.role}` : ''}`, {
        ...(flags.policy ? { policies: listed(flags.policy) } : {}),
        ...(flags.metadata ? { meta: parsePairs(flags.metadata, '--metadata') } : {}),
        ttl: flags.ttl,
        explicit_max_ttl: flags.explicitMaxTtl,
        period: flags.period,
        num_uses: flags.uses === undefined ? undefined : count(flags.uses, '--uses'),
        display_name: flags.displayName,
        type: flags.type,
        no_parent: flags.orphan,
        no_default_policy: flags.noDefaultPolicy,
        entity_alias: flags.entityAlias,
        renewable: flags.renewable === undefined ? undefined : flags.renewable === 'true',
      });
      printOrField(context, answer, fieldOf(flags));
    },
  },
  {
    name: 'token lookup',
    help: 'Show a token: yours by default.',
    args: which,
    flags: { ...accessor, ...field },
    examples: ['token lookup', 'token lookup -accessor 8eWqE3c0'],
    async run(context, flags: OneFlags, tokenText?: string) {
      const other = await tokenOf(context, tokenText);
      const answer = flags.accessor
        ? await context.client.post('auth/token/lookup-accessor', { accessor: flags.accessor })
        : other
          ? await context.client.post('auth/token/lookup', { token: other })
          : await context.client.get('auth/token/lookup-self');
      printOrField(context, answer, flags.field);
    },
  },
  {
    name: 'token renew',
    help: 'Renew a token: yours by default.',
    args: which,
    flags: {
      ...accessor,
      '--increment <duration>': { help: 'requested lifetime from now; the service may grant less', also: ['--i'] },
    },
    examples: ['token renew -increment=1h', 'token renew -accessor 8eWqE3c0'],
    async run(context, flags: OneFlags, tokenText?: string) {
      const { increment } = flags;
      const other = await tokenOf(context, tokenText);
      const [path, body] = flags.accessor
        ? ['renew-accessor', { accessor: flags.accessor, increment }]
        : other
          ? ['renew', { token: other, increment }]
          : ['renew-self', { increment }];
      print(context, await context.client.post(`auth/token/${path}`, body));
    },
  },
  {
    name: 'token revoke',
    help: 'Revoke a token and everything it created.',
    args: which,
    flags: {
      ...accessor,
      '--self': 'your own token',
      '--mode <mode>': 'orphan: keep its children',
    },
    examples: ['token revoke -self', 'token revoke -accessor 8eWqE3c0', 'token revoke -mode=orphan -'],
    async run(context, flags: OneFlags, tokenText?: string) {
      const { client, output } = context;
      if (!flags.accessor && !flags.self && !tokenText)
        throw new Problem('use --accessor or --self, or - to be prompted');
      const other = flags.self || flags.accessor ? undefined : await tokenOf(context, tokenText);
      if (flags.mode !== undefined && (flags.mode !== 'orphan' || !other)) {
        throw new Problem('--mode can only be orphan, and needs -');
      }
      const [path, body] = flags.accessor
        ? ['revoke-accessor', { accessor: flags.accessor }]
        : other
          ? [flags.mode ? 'revoke-orphan' : 'revoke', { token: other }]
          : ['revoke-self', {}];
      const answer = await client.post(`auth/token/${path}`, body);
      output.warnings(answer.body?.warnings);
      output.note('revoked');
    },
  },
  {
    name: 'token capabilities',
    help: 'Show the capabilities of a token on paths.',
    args: { '<paths...>': 'for example sys/mounts; with - before the paths, the command prompts for another token' },
    flags: accessor,
    examples: [
      'token capabilities kv/app/db',
      'token capabilities sys/mounts sys/auth',
      'token capabilities - kv/app/db',
    ],
    async run(context, flags: OneFlags, ...tokenText: string[]) {
      const { client, output } = context;
      const [first = '', ...rest] = tokenText;
      // The form `TOKEN PATH` must never be read as two paths: the token would be one of them.
      const isToken = first === '-' || tokenForm.test(first) || (rest.length > 0 && !first.includes('/'));
      const other = isToken ? await tokenOf(context, first) : undefined;
      const paths = isToken ? rest : tokenText;
      if (paths.length === 0) throw new Problem('give a path, for example sys/mounts');
      if (other && flags.accessor) throw new Problem('give - or --accessor, not both');
      const answer: ServiceResponse = flags.accessor
        ? await client.post('sys/capabilities-accessor', { accessor: flags.accessor, paths })
        : other
          ? await client.post('sys/capabilities', { token: other, paths })
          : await client.post('sys/capabilities-self', { paths });
      const found = Object.fromEntries(paths.map((path) => [path, answer.body?.data?.[path]]));
      const [only] = paths;
      output.show(paths.length === 1 && only ? found[only] : found, found);
    },
  },
  {
    name: 'print token',
    help: 'Print the token that commands use.',
    flags: {},
    examples: ['print token'],
    run({ settings, output }) {
      const token = findToken(settings);
      if (!token) throw new Problem('there is no token: run keystead login');
      if (output.forPrograms) output.show(token);
      else output.line(token);
    },
  },
];

/** The format of tokens of this and similar services. */
const tokenForm = /^(hv[sbr]|[sbr])\.[\w-]{20,}(\.\w+)?$/;

/** The field of the answer to print. The answer calls the field `token` `client_token`. */
function fieldOf({ field: name }: CreateFlags): string | undefined {
  return name === 'token' ? 'client_token' : name === 'token_accessor' ? 'accessor' : name;
}

async function tokenOf({ ask }: Context, tokenText: string | undefined): Promise<string | undefined> {
  if (tokenText === undefined) return undefined;
  if (tokenText === '-') return ask('Token');
  throw new Problem(
    'a token cannot be an argument, because shell history and process lists would show it: use - to be prompted, or --accessor',
  );
}
