import type { Command } from 'commander';
import type { Auth, MfaRequirement } from '../client';
import type { AddCommands, Context } from '../context';
import { Problem } from '../problem';
import { forgetToken, keepToken } from '../settings';

interface LoginOptions {
  method: string;
  path?: string;
  printOnly?: boolean;
}

/** `login` and `logout`: who the next commands are. */
export const addLoginCommands: AddCommands = (program, context) => {
  program
    .command('login')
    .description('Log in and keep the token for the next commands, in a file that only you can read.')
    .argument('[name]', 'user name (userpass) or role id (approle)')
    .option('--method <method>', 'token, userpass or approle', 'token')
    .option('--path <mount>', 'where the method is mounted, when not at its own name')
    .option('--print-only', 'print the token and keep nothing')
    .addHelpText(
      'after',
      '\nToken, password, secret id and passcode are asked for, or read from standard input, one a line.',
    )
    .action(async (name: string | undefined, options: LoginOptions, command: Command) => {
      const made = context(command);
      const token = options.method === 'token' ? await made.ask('Token') : await logIn(made, name, options);
      if (options.printOnly) {
        made.output.line(token);
        return;
      }
      made.settings.token = token;
      const { body } = await made.client.get('auth/token/lookup-self');
      keepToken(made.settings, token);
      const { display_name, policies, ttl, entity_id } = body?.data ?? {};
      made.output.show(body, { name: display_name, policies, 'ttl (s)': ttl, entity: entity_id || '-' });
      made.output.note(`token kept in ${made.settings.tokenFile}`);
    });

  program
    .command('logout')
    .description('Revoke the kept token and forget it.')
    .action(async (_, command: Command) => {
      const { client, settings, output } = context(command);
      await client.post('auth/token/revoke-self', {}, { accept: [403] });
      forgetToken(settings);
      output.note('logged out');
    });
};

async function logIn(made: Context, name: string | undefined, options: LoginOptions): Promise<string> {
  if (!['userpass', 'approle'].includes(options.method)) throw unknownMethod(options.method);
  const mount = (options.path ?? options.method).replace(/^auth\/|\/$/g, '');
  if (!name)
    throw new Problem(`login --method ${options.method} needs a name: keystead login --method ${options.method} NAME`);
  const answer = await made.client.post(...(await credentials(made, options.method, mount, name)), { anonymous: true });
  made.output.warnings(answer.body?.mfa_requirement ? [] : answer.body?.warnings);
  const auth = answer.body?.auth;
  if (auth?.mfa_requirement) return (await validate(made, auth.mfa_requirement)).client_token;
  if (!auth?.client_token) throw new Problem('the login answered no token');
  return auth.client_token;
}

async function credentials(made: Context, method: string, mount: string, name: string): Promise<[string, unknown]> {
  if (method === 'userpass')
    return [`auth/${mount}/login/${name}`, { password: await made.ask(`Password of ${name}`) }];
  if (method === 'approle') return [`auth/${mount}/login`, { role_id: name, secret_id: await made.ask('Secret id') }];
  throw unknownMethod(method);
}

const unknownMethod = (method: string) =>
  new Problem(`${method} is no login method of this command: use token, userpass or approle`);

async function validate(made: Context, requirement: MfaRequirement): Promise<Auth> {
  const payload: Record<string, string[]> = {};
  for (const { any } of Object.values(requirement.mfa_constraints)) {
    const method = any[0];
    if (!method || any.some(({ id }) => payload[id])) continue;
    payload[method.id] = [await made.ask(`Passcode (${method.type} ${method.name || method.id})`)];
  }
  const body = { mfa_request_id: requirement.mfa_request_id, mfa_payload: payload };
  const answer = await made.client.post('sys/mfa/validate', body, { anonymous: true });
  if (!answer.body?.auth?.client_token) throw new Problem('the login answered no token');
  return answer.body.auth;
}
