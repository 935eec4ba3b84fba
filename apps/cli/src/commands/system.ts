import type { Command } from 'commander';
import { type Body, numberIn } from '../client';
import type { AddCommands, Context } from '../context';
import { readPgpKeys } from '../pgp-keys';
import { Problem } from '../problem';

const SEALED = 2;

/** `status`, `init`, `unseal`, `seal`: the service itself, before and after anybody has a token. */
export const addSystemCommands: AddCommands = (program, context) => {
  program
    .command('status')
    .description('Show whether the service is initialised and unsealed. Exit code 2 when it is sealed.')
    .action(async (_, command: Command) => {
      const { client, output } = context(command);
      const { body } = await client.get('sys/seal-status', { anonymous: true });
      output.show(body, statusFields(body ?? {}));
      if (body?.sealed) process.exitCode = SEALED;
    });

  program
    .command('init')
    .description('Make keys, key shares and the root token of a new service; they are shown once.')
    .option('--shares <n>', 'number of key shares', '5')
    .option('--threshold <n>', 'shares that act together', '3')
    .option('--pgp-key <file...>', 'encrypt each share to one of these public keys, in this order')
    .action(async (options: { shares: string; threshold: string; pgpKey?: string[] }, command: Command) => {
      const { client, output } = context(command);
      const { body: status } = await client.get('sys/seal-status', { anonymous: true });
      const kind = status?.recovery_seal === false || status?.type === 'shamir' ? 'secret' : 'recovery';
      const pgpKeys = options.pgpKey && readPgpKeys(options.pgpKey);
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
      output.note(`Shown this once. Give the ${name}s to different people; ${options.threshold} act together.`);
    });

  program
    .command('unseal')
    .description('Give key shares, one after the other, until the service is unsealed. Shares are never arguments.')
    .option('--reset', 'forget the shares given so far')
    .option('--once', 'give one share only')
    .action(async (options: { reset?: boolean; once?: boolean }, command: Command) => {
      const made = context(command);
      if (options.reset) {
        const { body } = await made.client.post('sys/unseal', { reset: true }, { anonymous: true });
        made.output.show(body, statusFields(body ?? {}));
        return;
      }
      const body = await giveShares(made, options.once ?? false);
      made.output.show(body, statusFields(body));
      if (body.sealed && !options.once) process.exitCode = SEALED;
    });

  program
    .command('seal')
    .description('Seal the service on every node: it answers nothing until it is unsealed.')
    .action(async (_, command: Command) => {
      const { client, output } = context(command);
      await client.post('sys/seal');
      output.note('sealed');
    });
};

async function giveShares({ client, ask, output }: Context, once: boolean): Promise<Body> {
  for (;;) {
    const { body: before } = await client.get('sys/seal-status', { anonymous: true });
    if (!before?.sealed) return before ?? {};
    const share = await ask(`Key share ${numberIn(before, 'progress') + 1} of ${numberIn(before, 't')}`);
    const { body } = await client.post('sys/unseal', { key: share }, { anonymous: true });
    if (once || !body?.sealed) return body ?? {};
    output.note(`${String(body.progress)} of ${String(body.t)} shares`);
  }
}

function statusFields(status: Body): Record<string, unknown> {
  const progress = status.sealed ? { progress: `${String(status.progress)} of ${String(status.t)} shares` } : {};
  return {
    initialised: status.initialized,
    sealed: status.sealed,
    ...progress,
    'seal type': status.type,
    'key shares': `${String(status.n)}, ${String(status.t)} act together`,
    storage: status.storage_type,
    version: status.version,
  };
}

/** A whole number given as an option. */
export function count(text: string, name: string): number {
  if (!/^\d+$/.test(text)) throw new Problem(`${name} ${text}: give a whole number`);
  return Number(text);
}
