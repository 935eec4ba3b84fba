import type { Command } from 'commander';
import type { AddCommands } from '../context';
import { print } from './data';
import { count } from './system';

interface CreateOptions {
  policy?: string[];
  ttl?: string;
  explicitMaxTtl?: string;
  period?: string;
  uses?: string;
  displayName?: string;
  orphan?: boolean;
  type?: string;
  role?: string;
  field?: string;
}

/** `token …`: make, look at, renew and end tokens. */
export const addTokenCommands: AddCommands = (program, context) => {
  const token = program.command('token').description('Make, look at, renew and end tokens.');

  token
    .command('create')
    .description('Make a child of your token; it can do no more than you can.')
    .option('--policy <name...>', 'policies of the new token; yours when not given')
    .option('--ttl <duration>', 'lifetime, for example 30m')
    .option('--explicit-max-ttl <duration>', 'lifetime that no renewal exceeds')
    .option('--period <duration>', 'renewable for ever, each time for this long')
    .option('--uses <n>', 'how often it may be used')
    .option('--display-name <text>', 'name in logs and lists')
    .option('--type <type>', 'service or batch')
    .option('--role <name>', 'rules of a token role')
    .option('--orphan', 'lives on when your token ends')
    .option('--field <name>', 'print this field alone, for example client_token')
    .action(async (options: CreateOptions, command: Command) => {
      const made = context(command);
      const answer = await made.client.post(`auth/token/create${options.role ? `/${options.role}` : ''}`, {
        ...(options.policy ? { policies: options.policy.flatMap((text) => text.split(',')) } : {}),
        ttl: options.ttl,
        explicit_max_ttl: options.explicitMaxTtl,
        period: options.period,
        num_uses: options.uses === undefined ? undefined : count(options.uses, '--uses'),
        display_name: options.displayName,
        type: options.type,
        no_parent: options.orphan,
      });
      const field = options.field && answer.body?.auth?.[options.field];
      if (field !== undefined && field !== '') made.output.line(String(field));
      else print(made, answer);
    });

  token
    .command('lookup')
    .description('Show a token: yours, or the one with this accessor.')
    .option('--accessor <accessor>')
    .action(async ({ accessor }: { accessor?: string }, command: Command) => {
      const made = context(command);
      const answer = accessor
        ? await made.client.post('auth/token/lookup-accessor', { accessor })
        : await made.client.get('auth/token/lookup-self');
      print(made, answer);
    });

  token
    .command('renew')
    .description('Extend a token: yours, or the one with this accessor.')
    .option('--accessor <accessor>')
    .option('--increment <duration>')
    .action(async (options: { accessor?: string; increment?: string }, command: Command) => {
      const made = context(command);
      const { accessor, increment } = options;
      const path = accessor ? 'auth/token/renew-accessor' : 'auth/token/renew-self';
      print(made, await made.client.post(path, { accessor, increment }));
    });

  token
    .command('revoke')
    .description('End a token with everything it made: the one with this accessor, or your own.')
    .option('--accessor <accessor>')
    .option('--self', 'your own token')
    .action(async ({ accessor, self }: { accessor?: string; self?: boolean }, command: Command) => {
      const { client, output } = context(command);
      if (!accessor && !self) command.error('error: give --accessor or --self');
      const { body } = await client.post(accessor ? 'auth/token/revoke-accessor' : 'auth/token/revoke-self', {
        accessor,
      });
      output.warnings(body?.warnings);
      output.note('revoked');
    });

  token
    .command('capabilities')
    .description('Show what your token may do at paths.')
    .argument('<paths...>')
    .action(async (paths: string[], _, command: Command) => {
      const { client, output } = context(command);
      const { body } = await client.post('sys/capabilities-self', { paths });
      output.show(body, Object.fromEntries(paths.map((path) => [path, body?.data?.[path]])));
    });
};
