import { numberIn, type ResponseBody } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { readPgpKeys } from '../pgp-keys';
import { exitCodes, Problem } from '../problem';
import { version } from '../version';
import { printData } from './print';
import { count, listed } from './values';

const SEALED = 2;

/** Commands that need no token: about the service itself, and about this program. */
export const systemCommands: readonly CommandSpec[] = [
  {
    name: 'status',
    help: 'Show whether the service is initialised and unsealed. Exit code 2 if it is sealed.',
    flags: {},
    examples: ['status', 'status -format=json'],
    async run({ client, output, exitWith }) {
      const { body } = await client.get('sys/seal-status', { anonymous: true }).catch((error: unknown) => {
        // For this command, exit code 2 only means that the service is sealed.
        throw error instanceof Problem ? new Problem(error.message, exitCodes.usage) : error;
      });
      output.show(body, statusFields(body ?? {}));
      if (body?.sealed) exitWith(SEALED);
    },
  },
  {
    name: 'version',
    help: 'Print the version of this program.',
    flags: {},
    examples: ['version'],
    run({ output }) {
      if (output.forPrograms) output.show({ version: version() });
      else output.line(`keystead ${version()}`);
    },
  },
  {
    name: 'operator init',
    also: ['init'],
    help: 'Initialise a new service. Creates keys, key shares and the root token, and shows the shares and the token once.',
    flags: {
      '--shares <n>': { help: 'number of key shares', also: ['--key-shares', '--recovery-shares'], default: '5' },
      '--threshold <n>': {
        help: 'number of shares needed to unseal',
        also: ['--key-threshold', '--recovery-threshold'],
        default: '3',
      },
      '--pgp-key <file...>': {
        help: 'encrypt each share with one of these public keys, in this order',
        also: ['--pgp-keys', '--recovery-pgp-keys'],
      },
      '--status': 'only check whether it is initialised: exit code 2 when it is not',
    },
    examples: ['operator init', 'operator init -key-shares=3 -key-threshold=2 -format=json'],
    async run({ client, output, exitWith }, options: InitFlags) {
      const { body: status } = await client.get('sys/seal-status', { anonymous: true });
      if (options.status) {
        output.show({ initialized: status?.initialized }, { initialised: status?.initialized });
        if (!status?.initialized) exitWith(exitCodes.refused);
        return;
      }
      const kind = status?.recovery_seal === false || status?.type === 'shamir' ? 'secret' : 'recovery';
      const pgpKeys = options.pgpKey && readPgpKeys(listed(options.pgpKey) ?? []);
      const { body } = await client.post(
        'sys/init',
        {
          [`${kind}_shares`]: count(options.shares, '--shares'),
          [`${kind}_threshold`]: count(options.threshold, '--threshold'),
          ...(pgpKeys ? { [kind === 'secret' ? 'pgp_keys' : 'recovery_pgp_keys']: pgpKeys } : {}),
        },
        { anonymous: true },
      );
      const shares = ((kind === 'secret' ? body?.keys : body?.recovery_keys) ?? []) as string[];
      const name = kind === 'secret' ? 'unseal key' : 'recovery key';
      output.show(body, {
        ...Object.fromEntries(shares.map((share, index) => [`${name} ${index + 1}`, share])),
        'root token': body?.root_token,
      });
      output.note(
        `Shown only once. Give the ${name}s to different people; any ${options.threshold} of them are required together.`,
      );
    },
  },
  {
    name: 'operator unseal',
    also: ['unseal'],
    help: 'Unseal the service: prompts for key shares one by one. Shares cannot be passed as arguments.',
    flags: { '--reset': 'discard the shares entered so far', '--once': 'enter only one share' },
    examples: ['operator unseal', 'operator unseal -once', 'operator unseal -reset'],
    async run(context, options: { reset?: boolean; once?: boolean }) {
      if (options.reset) {
        const { body } = await context.client.post('sys/unseal', { reset: true }, { anonymous: true });
        context.output.show(body, statusFields(body ?? {}));
        return;
      }
      const body = await giveShares(context, options.once ?? false);
      context.output.show(body, statusFields(body));
      if (body.sealed && !options.once) context.exitWith(SEALED);
    },
  },
  {
    name: 'operator seal',
    also: ['seal'],
    help: 'Seal the service on every node: it serves no requests until it is unsealed.',
    flags: {},
    examples: ['operator seal'],
    async run({ client, output }) {
      await client.post('sys/seal');
      output.note('sealed');
    },
  },
  {
    name: 'operator rotate',
    help: 'Encrypt new values with a new key. Stored values are re-encrypted in the background.',
    flags: {},
    examples: ['operator rotate'],
    async run(context) {
      await context.client.post('sys/rotate');
      printData(context, await context.client.get('sys/key-status'));
    },
  },
  {
    name: 'operator key-status',
    help: 'Show the current encryption key.',
    flags: {},
    examples: ['operator key-status'],
    async run(context) {
      printData(context, await context.client.get('sys/key-status'));
    },
  },
  {
    name: 'operator members',
    help: 'List the nodes of the installation.',
    flags: {},
    examples: ['operator members'],
    async run({ client, output }) {
      const { body } = await client.get('sys/ha-status');
      const nodes = ((body?.data ?? body)?.nodes ?? []) as Record<string, unknown>[];
      const rows = nodes.map((node) => [node.api_address, node.hostname || '-', node.version || '-', node.last_echo]);
      output.rows({ nodes }, ['address', 'host', 'version', 'heard of'], rows);
    },
  },
];

interface InitFlags {
  shares: string;
  threshold: string;
  pgpKey?: string[];
  status?: boolean;
}

async function giveShares({ client, ask, output }: Context, once: boolean): Promise<ResponseBody> {
  for (;;) {
    const { body: before } = await client.get('sys/seal-status', { anonymous: true });
    if (!before?.sealed) return before ?? {};
    const share = await ask(`Key share ${numberIn(before, 'progress') + 1} of ${numberIn(before, 't')}`);
    const { body } = await client.post('sys/unseal', { key: share }, { anonymous: true });
    if (once || !body?.sealed) return body ?? {};
    output.note(`${String(body.progress)} of ${String(body.t)} shares`);
  }
}

function statusFields(status: ResponseBody): Record<string, unknown> {
  const progress = status.sealed ? { progress: `${String(status.progress)} of ${String(status.t)} shares` } : {};
  return {
    initialised: status.initialized,
    sealed: status.sealed,
    ...progress,
    'seal type': status.type,
    'key shares': `${String(status.n)}, threshold ${String(status.t)}`,
    storage: status.storage_type,
    version: status.version,
  };
}
