import { numberIn, type ResponseBody } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { readPgpKeys } from '../pgp-keys';
import { exitCodes, Problem } from '../problem';

interface OperatorOptions {
  init?: boolean;
  status?: boolean;
  cancel?: boolean;
  replace?: boolean;
  decode?: string;
  nonce?: string;
  pgpKey?: string[];
}

const ATTEMPT = 'sys/generate-root/attempt';
const anonymous = { anonymous: true } as const;
const command = 'keystead operator generate-root';

/**
 * `operator generate-root`: generates a root token from key shares. Shares are read from a prompt, never from arguments.
 */
export const operatorCommands: readonly CommandSpec[] = [
  {
    name: 'operator generate-root',
    help: 'Generate a root token from enough key shares: prompts for them one by one and shows the token.',
    flags: {
      '--init': 'only start an attempt; show its nonce and one-time password',
      '--nonce <nonce>': 'the attempt to give shares to, or to cancel (with --cancel)',
      '--decode <text>': 'decode an encoded token, with the one-time password of its attempt',
      '--status': 'show the progress of an attempt',
      '--cancel': 'cancel an attempt that has no shares yet',
      '--replace': 'replace a running attempt: prompts for one of the shares first',
      '--pgp-key <file...>': 'encrypt the token to this public key, instead of with a one-time password',
    },
    examples: ['operator generate-root', 'operator generate-root -init', 'operator generate-root -status'],
    more:
      `If one person has all shares:                ${command}\n` +
      `If several people have them, one starts:     ${command} --init\n` +
      `  each person enters a share:                ${command} --nonce NONCE\n` +
      `  the person who started decodes the token:  ${command} --decode ENCODED`,
    async run(context, options: OperatorOptions) {
      const actions = (['init', 'status', 'cancel', 'decode'] as const).filter((name) => options[name] !== undefined);
      if (actions.length > 1) throw new Problem(`give one of --${actions.join(' and --')}`);
      if (options.status) return showStatus(context, await statusOf(context));
      if (options.cancel) return cancel(context, options.nonce);
      if (options.decode !== undefined) return decode(context, options.decode);
      if (options.init) return showBegun(context, await begin(context, options));
      if (options.nonce) return giveShares(context, { nonce: options.nonce });
      const attempt = await begin(context, options);
      context.output.note(`started attempt ${String(attempt.nonce)}`);
      return giveShares(context, { nonce: String(attempt.nonce), otp: String(attempt.otp ?? '') });
    },
  },
];

async function statusOf({ client }: Context): Promise<ResponseBody> {
  return (await client.get(ATTEMPT, anonymous)).body ?? {};
}

async function begin(context: Context, { pgpKey, replace }: OperatorOptions): Promise<ResponseBody> {
  const current = await statusOf(context);
  if (current.started && !replace) {
    throw new Problem(
      `attempt ${String(current.nonce)} is running, with ${progressOf(current)}: ` +
        `${command} --nonce ${String(current.nonce)} continues it, --cancel cancels it, --replace starts another (needs one share)`,
      exitCodes.refused,
    );
  }
  const pgp_key = pgpKey && readPgpKeys(pgpKey)[0];
  const key = replace ? await context.ask('One of the shares, to replace the attempt') : undefined;
  const body = { ...(pgp_key ? { pgp_key } : {}), ...(key ? { key } : {}) };
  return (await context.client.post(ATTEMPT, body, anonymous)).body ?? {};
}

function showBegun({ output }: Context, attempt: ResponseBody): void {
  output.show(attempt, {
    nonce: attempt.nonce,
    ...(attempt.otp ? { 'one-time password': attempt.otp } : { 'encrypted to': attempt.pgp_fingerprint }),
    shares: progressOf(attempt),
  });
  if (attempt.otp) output.note('Shown only once. Keep the password secret: it decodes the token.');
}

function showStatus({ output }: Context, status: ResponseBody): void {
  output.show(status, {
    started: status.started,
    nonce: status.nonce || '-',
    shares: progressOf(status),
    ...(status.pgp_fingerprint ? { 'encrypted to': status.pgp_fingerprint } : {}),
  });
}

const progressOf = (facts: ResponseBody): string =>
  `${String(facts.progress ?? 0)} of ${String(facts.required ?? 0)} shares`;

async function cancel(context: Context, nonce: string | undefined): Promise<void> {
  // The request names the attempt, if known, so that it does not cancel another attempt that has replaced it.
  const attemptNonce = nonce ?? ((await statusOf(context)).nonce as string | undefined);
  await context.client.delete(ATTEMPT, { ...anonymous, ...(attemptNonce ? { body: { nonce: attemptNonce } } : {}) });
  context.output.note('cancelled');
}

/** Asks for shares until there are enough, and shows the result. */
async function giveShares(context: Context, attempt: { nonce: string; otp?: string }): Promise<void> {
  const { client, ask, output } = context;
  const { nonce, otp } = attempt;
  try {
    let facts = await statusOf(context);
    if (!facts.started || facts.nonce !== nonce) throw new Problem(`there is no attempt ${nonce}`, exitCodes.refused);
    for (;;) {
      const before = numberIn(facts, 'progress');
      const key = await ask(`Share ${before + 1} of ${numberIn(facts, 'required')}`);
      facts = (await client.post('sys/generate-root/update', { key, nonce }, anonymous)).body ?? {};
      if (facts.complete) break;
      if (numberIn(facts, 'progress') <= before) {
        throw new Problem('the shares do not match: they were discarded', exitCodes.refused);
      }
      output.note(progressOf(facts));
    }
    showToken(context, facts, otp);
  } catch (error) {
    const current = await statusOf(context).catch((): ResponseBody => ({}));
    if (current.started && current.nonce === nonce) {
      const withOtp = otp ? `, then --decode with the one-time password ${otp}` : '';
      output.note(`to continue: ${command} --nonce ${nonce}${withOtp}; --cancel cancels it`);
    }
    throw error;
  }
}

function showToken({ output }: Context, facts: ResponseBody, otp: string | undefined): void {
  const encoded = String(facts.encoded_token ?? facts.encoded_root_token ?? '');
  if (!otp) {
    output.show(facts, { 'encoded token': encoded });
    if (facts.pgp_fingerprint)
      output.note(`encrypted to ${String(facts.pgp_fingerprint)}: base64 --decode, then gpg --decrypt`);
    else output.note(`the person who started the attempt decodes it with ${command} --decode`);
    return;
  }
  const token = decoded(encoded, otp);
  output.show({ ...facts, token }, { 'root token': token });
  output.note('Revoke it as soon as you no longer need it: SERVICE_TOKEN=… keystead token revoke --self');
}

async function decode({ ask, output }: Context, encoded: string): Promise<void> {
  const token = decoded(encoded, await ask('One-time password of the attempt'));
  output.show({ token }, { 'root token': token });
}

/** The token is encoded with a one-time pad of the same length. Throws `Problem` if the lengths differ. */
function decoded(encoded: string, otp: string): string {
  const bytes = Buffer.from(encoded.trim(), 'base64');
  const pad = Buffer.from(otp);
  if (bytes.length === 0 || bytes.length !== pad.length) {
    throw new Problem('the encoded token and the one-time password do not match: they differ in length');
  }
  const token = Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0))).toString();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Problem('the encoded token and the one-time password do not match: the result is not a token');
  }
  return token;
}
