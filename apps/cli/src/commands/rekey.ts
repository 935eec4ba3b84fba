import { numberIn, type ResponseBody } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { readPgpKeys } from '../pgp-keys';
import { Problem } from '../problem';
import { count, listed } from './values';

interface StartOptions {
  shares: string;
  threshold: string;
  verify?: boolean;
  backup?: boolean;
  pgpKey?: string[];
  init?: boolean;
  nonce?: string;
  status?: boolean;
  cancel?: boolean;
}

const WRONG_SHARE = 2;
const RECOVERY = 'sys/rekey-recovery-key';

/** `operator rekey …`: replaces the recovery key shares. The command prompts for shares; they are never arguments. */
export const rekeyCommands: readonly CommandSpec[] = [
  {
    name: 'operator rekey',
    also: ['rekey'],
    help: 'Replace the key shares step by step: start, collect shares, show the new ones, verify. Continues a pending rekey.',
    flags: {
      '--init': 'only start a rekey; show its nonce',
      '--nonce <nonce>': 'give shares for the rekey with this nonce',
      '--status': 'show the progress of a rekey',
      '--cancel': 'cancel a rekey; the current shares stay valid',
      '--shares <n>': { help: 'number of new shares', also: ['--key-shares'], default: '5' },
      '--threshold <n>': { help: 'number of new shares needed to unseal', also: ['--key-threshold'], default: '3' },
      '--no-verify': 'skip the verification of the new shares',
      '--backup': 'keep the encrypted shares in the service (with --pgp-key)',
      '--pgp-key <file...>': {
        help: 'encrypt each new share with one of these public keys, in this order',
        also: ['--pgp-keys'],
      },
    },
    examples: ['operator rekey -key-shares=3 -key-threshold=2', 'rekey'],
    async run(context, options: StartOptions) {
      if (options.status) return showStatus(context);
      if (options.cancel) return cancel(context);
      const before = await status(context);
      if (options.init) {
        if (before.started)
          throw new Problem('a rekey is running: give shares with --nonce, or cancel it with --cancel', 2);
        return context.output.show(await start(context, options));
      }
      if (options.nonce !== undefined && (!before.started || before.nonce !== options.nonce)) {
        throw new Problem('no rekey with this nonce is running', 2);
      }
      const attempt = before.started ? before : await start(context, options);
      context.output.note(before.started ? 'continuing the rekey in progress' : 'rekey started');
      const verification = attempt.verification_nonce as string | undefined;
      const result = verification ? attempt : await collect(context, attempt);
      if (!verification) showShares(context, result);
      if (result.verification_nonce) await verify(context);
      context.output.note('done: the new shares are valid, the old ones are not');
    },
  },
  {
    name: 'operator rekey status',
    also: ['rekey status'],
    help: 'Show the progress of a rekey.',
    flags: {},
    examples: ['operator rekey status'],
    run: showStatus,
  },
  {
    name: 'operator rekey check',
    also: ['rekey check'],
    help: 'Prompt for one share and say whether it is still valid. Does not start or advance anything. Exit code 2 if it is not valid.',
    flags: {},
    examples: ['operator rekey check'],
    async run({ client, ask, output, exitWith }) {
      const key = await ask('Share to check');
      const { body } = await client.post(`${RECOVERY}/check`, { key });
      output.show(body, {
        'still valid': body?.valid,
        'key shares': `${String(body?.n)}, threshold ${String(body?.t)}`,
      });
      if (!body?.valid) exitWith(WRONG_SHARE);
    },
  },
  {
    name: 'operator rekey cancel',
    also: ['rekey cancel'],
    help: 'Cancel a rekey; the current shares stay valid.',
    flags: {},
    examples: ['operator rekey cancel'],
    run: cancel,
  },
];

async function showStatus(context: Context): Promise<void> {
  context.output.show(await status(context));
}

async function cancel({ client, output }: Context): Promise<void> {
  await client.delete(`${RECOVERY}/init`);
  output.note('cancelled');
}

async function status({ client }: Context): Promise<ResponseBody> {
  return (await client.get(`${RECOVERY}/init`)).body ?? {};
}

async function start({ client }: Context, options: StartOptions): Promise<ResponseBody> {
  const { body } = await client.post(`${RECOVERY}/init`, {
    secret_shares: count(options.shares, '--shares'),
    secret_threshold: count(options.threshold, '--threshold'),
    require_verification: options.verify ?? true,
    backup: options.backup ?? false,
    ...(options.pgpKey ? { pgp_keys: readPgpKeys(listed(options.pgpKey) ?? []) } : {}),
  });
  return body ?? {};
}

async function collect({ client, ask, output }: Context, attempt: ResponseBody): Promise<ResponseBody> {
  let sharesGiven = numberIn(attempt, 'progress');
  const required = numberIn(attempt, 'required');
  for (;;) {
    const key = await ask(`Current share ${sharesGiven + 1} of ${required}`);
    const { body } = await client.post(`${RECOVERY}/update`, { key, nonce: attempt.nonce });
    if (body?.complete) return body;
    const newCount = numberIn(body ?? {}, 'progress');
    if (newCount < sharesGiven) throw new Problem('the shares do not match; give them again', 2);
    sharesGiven = newCount;
    output.note(`${sharesGiven} of ${required} shares`);
  }
}

function showShares({ output }: Context, result: ResponseBody): void {
  const keys = (result.keys ?? []) as string[];
  output.show(result, Object.fromEntries(keys.map((key, index) => [`recovery key ${index + 1}`, key])));
  output.note('Shown only once. Give each to its holder now.');
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
