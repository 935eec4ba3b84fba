import type { Command } from 'commander';
import { type Body, numberIn } from '../client';
import type { AddCommands, Context } from '../context';
import { readPgpKeys } from '../pgp-keys';
import { Problem } from '../problem';
import { count } from './system';

interface StartOptions {
  shares: string;
  threshold: string;
  verify?: boolean;
  backup?: boolean;
  pgpKey?: string[];
}

const WRONG_SHARE = 2;
const RECOVERY = 'sys/rekey-recovery-key';

/** `rekey …`: new recovery key shares for old ones. Shares are asked for, never arguments. */
export const addRekeyCommands: AddCommands = (program, context) => {
  const rekey = program.command('rekey').description('Replace the recovery key shares.');

  rekey
    .command('run', { isDefault: true })
    .description('Walk through it: start, collect shares, show the new ones, verify. Goes on where a rekey stands.')
    .option('--shares <n>', 'number of new shares', '5')
    .option('--threshold <n>', 'new shares that act together', '3')
    .option('--no-verify', 'rotate without proof that the new shares were written down')
    .option('--backup', 'keep the encrypted shares in the service (with --pgp-key)')
    .option('--pgp-key <file...>', 'encrypt each new share to one of these public keys, in this order')
    .action(async (options: StartOptions, command: Command) => {
      const made = context(command);
      const before = await status(made);
      const begun = before.started ? before : await start(made, options);
      made.output.note(before.started ? 'going on with the rekey under way' : 'rekey started');
      const verification = begun.verification_nonce as string | undefined;
      const result = verification ? begun : await collect(made, begun);
      if (!verification) showShares(made, result);
      if (result.verification_nonce) await verify(made);
      made.output.note('done: the new shares hold, the old ones are void');
    });

  rekey
    .command('status')
    .description('Show how far a rekey is.')
    .action(async (_, command: Command) => {
      const made = context(command);
      made.output.show(await status(made));
    });

  rekey
    .command('check')
    .description(
      'Ask for one share and tell whether it is still right; nothing is used up. Exit code 2 when it is not.',
    )
    .action(async (_, command: Command) => {
      const { client, ask, output } = context(command);
      const key = await ask('Share to check');
      const { body } = await client.post(`${RECOVERY}/check`, { key });
      output.show(body, {
        'still right': body?.valid,
        'key shares': `${String(body?.n)}, ${String(body?.t)} act together`,
      });
      if (!body?.valid) process.exitCode = WRONG_SHARE;
    });

  rekey
    .command('cancel')
    .description('Forget a rekey; the current shares stay valid.')
    .action(async (_, command: Command) => {
      const { client, output } = context(command);
      await client.delete(`${RECOVERY}/init`);
      output.note('cancelled');
    });
};

async function status({ client }: Context): Promise<Body> {
  return (await client.get(`${RECOVERY}/init`)).body ?? {};
}

async function start({ client }: Context, options: StartOptions): Promise<Body> {
  const { body } = await client.post(`${RECOVERY}/init`, {
    secret_shares: count(options.shares, '--shares'),
    secret_threshold: count(options.threshold, '--threshold'),
    require_verification: options.verify ?? true,
    backup: options.backup ?? false,
    ...(options.pgpKey ? { pgp_keys: readPgpKeys(options.pgpKey) } : {}),
  });
  return body ?? {};
}

async function collect({ client, ask, output }: Context, begun: Body): Promise<Body> {
  let given = numberIn(begun, 'progress');
  const required = numberIn(begun, 'required');
  for (;;) {
    const key = await ask(`Current share ${given + 1} of ${required}`);
    const { body } = await client.post(`${RECOVERY}/update`, { key, nonce: begun.nonce });
    if (body?.complete) return body;
    const counted = numberIn(body ?? {}, 'progress');
    if (counted < given) throw new Problem('the shares do not belong together; give them again', 2);
    given = counted;
    output.note(`${given} of ${required} shares`);
  }
}

function showShares({ output }: Context, result: Body): void {
  const keys = (result.keys ?? []) as string[];
  output.show(result, Object.fromEntries(keys.map((key, index) => [`recovery key ${index + 1}`, key])));
  output.note('Shown this once. Give each to its holder now.');
}

async function verify({ client, ask, output }: Context): Promise<void> {
  for (;;) {
    const { body: pending } = await client.get(`${RECOVERY}/verify`);
    const key = await ask(
      `New share ${numberIn(pending ?? {}, 'progress') + 1} of ${numberIn(pending ?? {}, 't')}, to verify`,
    );
    const { body } = await client.post(`${RECOVERY}/verify`, { key, nonce: pending?.nonce });
    if (body?.complete) return;
    output.note(`${String(body?.progress)} of ${String(body?.t)} new shares`);
  }
}
