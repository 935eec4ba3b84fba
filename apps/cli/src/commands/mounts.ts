import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';
import { printOrSay } from './print';
import { listed, parsePairs } from './values';

/** The two kinds of mounts: engines (`secrets`) and login methods (`auth`). */
interface Kind {
  readonly group: 'secrets' | 'auth';
  readonly base: string;
  readonly thing: string;
  readonly example: string;
}

const kinds: readonly Kind[] = [
  { group: 'secrets', base: 'sys/mounts', thing: 'secrets engine', example: 'kv' },
  { group: 'auth', base: 'sys/auth', thing: 'login method', example: 'userpass' },
];

interface MountFlags {
  path?: string;
  detailed?: boolean;
  description?: string;
  defaultLeaseTtl?: string;
  maxLeaseTtl?: string;
  version?: string;
  local?: boolean;
  options?: string[];
  listingVisibility?: string;
  tokenType?: string;
  auditNonHmacRequestKeys?: string[];
  auditNonHmacResponseKeys?: string[];
  passthroughRequestHeaders?: string[];
  allowedResponseHeaders?: string[];
}

const tuning = (kind: Kind) => ({
  '--description <text>': 'what it is for',
  '--default-lease-ttl <duration>': 'default lifetime of what it issues',
  '--max-lease-ttl <duration>': 'maximum lifetime of what it issues',
  '--listing-visibility <value>': 'unauth: show it without a token; hidden',
  '--audit-non-hmac-request-keys <name>': {
    help: 'request field that is not hashed in the audit log',
    repeatable: true as const,
  },
  '--audit-non-hmac-response-keys <name>': {
    help: 'response field that is not hashed in the audit log',
    repeatable: true as const,
  },
  '--passthrough-request-headers <name>': { help: 'request header to pass to the plugin', repeatable: true as const },
  '--allowed-response-headers <name>': { help: 'response header that the plugin may set', repeatable: true as const },
  '--options <name=value>': { help: 'option of the type', repeatable: true as const },
  ...(kind.group === 'secrets' ? { '--version <number>': 'kv: 2 keeps versions, 1 does not' } : {}),
  ...(kind.group === 'auth' ? { '--token-type <type>': 'type of the tokens it issues' } : {}),
});

/** `secrets …` and `auth …`: mounts. */
export const mountCommands: readonly CommandSpec[] = kinds.flatMap((kind): CommandSpec[] => {
  const { group, base, thing, example } = kind;
  return [
    {
      name: `${group} list`,
      help: `List every ${thing}.`,
      flags: { '--detailed': 'with lifetimes and options' },
      examples: [`${group} list`, `${group} list -detailed -format=json`],
      async run({ client, output }, { detailed }: MountFlags) {
        const { body } = await client.get(base);
        const found = (body?.data ?? {}) as Record<string, Mounted>;
        const columns = ['path', 'type', 'accessor', 'description'];
        const rows = Object.entries(found).map(([path, one]) => [
          path,
          one.type,
          one.accessor,
          one.description,
          ...(detailed ? [one.config?.default_lease_ttl, one.config?.max_lease_ttl, one.options, one.uuid] : []),
        ]);
        output.rows(found, detailed ? [...columns, 'default ttl', 'max ttl', 'options', 'uuid'] : columns, rows);
      },
    },
    {
      name: `${group} enable`,
      help: `Enable a ${thing}.`,
      args: { '<type>': `for example ${example}` },
      flags: {
        '--path <path>': 'mount path [the type]',
        '--local': 'only in this installation, not replicated',
        ...tuning(kind),
      },
      examples: [
        `${group} enable -path=team ${example}`,
        group === 'secrets' ? 'secrets enable -version=2 kv' : 'auth enable -description=people userpass',
      ],
      async run(context, flags: MountFlags, type: string) {
        const path = (flags.path ?? type).replace(/\/$/, '');
        const { description, options, ...config } = tuned(flags);
        const answer = await context.client.post(`${base}/${path}`, {
          type,
          description,
          options,
          config,
          local: flags.local,
        });
        printOrSay(context, answer, `enabled: ${thing} ${type} at ${path}/`);
      },
    },
    {
      name: `${group} disable`,
      help: `Disable a ${thing}. Its leases are revoked and its data is removed.`,
      args: { '<path>': 'mount path' },
      flags: {},
      examples: [`${group} disable team`],
      async run(context, _, path: string) {
        const answer = await context.client.delete(`${base}/${path.replace(/\/$/, '')}`);
        printOrSay(context, answer, `disabled: ${thing} at ${path}`);
      },
    },
    {
      name: `${group} tune`,
      help: `Change the settings of a ${thing}.`,
      args: { '<path>': 'mount path' },
      flags: tuning(kind),
      examples: [`${group} tune -default-lease-ttl=30m ${example}`],
      async run(context, flags: MountFlags, path: string) {
        const change = tuned(flags);
        if (Object.keys(change).length === 0)
          throw new Problem(`give a setting to change (keystead ${group} tune --help)`);
        const answer = await context.client.post(`${base}/${path.replace(/\/$/, '')}/tune`, change);
        printOrSay(context, answer, `tuned: ${thing} at ${path}`);
      },
    },
    {
      name: `${group} move`,
      help: `Move a ${thing} to another path. Its leases are revoked first.`,
      args: { '<from>': 'mount path', '<to>': 'the new path' },
      flags: {},
      examples: [`${group} move team harbour`],
      async run(context, _, from: string, to: string) {
        const prefix = group === 'auth' ? 'auth/' : '';
        const full = (path: string) => (path.startsWith(prefix) ? path : `${prefix}${path}`);
        const { body } = await context.client.post('sys/remount', { from: full(from), to: full(to) });
        await moved(context, String(body?.data?.migration_id ?? body?.migration_id));
        context.output.note(`moved: ${from} to ${to}`);
      },
    },
  ];
});

interface Mounted {
  type: string;
  accessor: string;
  description: string;
  uuid: string;
  options: unknown;
  config?: { default_lease_ttl: number; max_lease_ttl: number };
}

function tuned(flags: MountFlags): Record<string, unknown> {
  const options = { ...parsePairs(flags.options, '--options'), ...(flags.version ? { version: flags.version } : {}) };
  const settings = {
    description: flags.description,
    default_lease_ttl: flags.defaultLeaseTtl,
    max_lease_ttl: flags.maxLeaseTtl,
    listing_visibility: flags.listingVisibility,
    token_type: flags.tokenType,
    audit_non_hmac_request_keys: listed(flags.auditNonHmacRequestKeys),
    audit_non_hmac_response_keys: listed(flags.auditNonHmacResponseKeys),
    passthrough_request_headers: listed(flags.passthroughRequestHeaders),
    allowed_response_headers: listed(flags.allowedResponseHeaders),
    ...(Object.keys(options).length > 0 ? { options } : {}),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** Waits until a move is over. */
async function moved({ client }: Context, id: string): Promise<void> {
  for (let waitMs = 20; ; waitMs = Math.min(waitMs * 2, 1000)) {
    const { body } = await client.get(`sys/remount/status/${id}`, { unwrapped: true });
    const info = body?.data?.migration_info as { status?: string } | undefined;
    if (info?.status === 'success') return;
    if (info?.status !== 'in-progress')
      throw new Problem(`the move failed: ${info?.status ?? 'its status is unknown'}`, exitCodes.refused);
    await sleep(waitMs);
  }
}
