import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { AddCommands } from '../context';
import { Problem } from '../problem';

/** `policy …`: the rules that tokens carry. */
export const addPolicyCommands: AddCommands = (program, context) => {
  const policy = program.command('policy').description('Write, read and delete policies.');

  policy
    .command('list')
    .description('List policies.')
    .action(async (_, command: Command) => {
      const { client, output } = context(command);
      const { body, names } = await client.list('sys/policies/acl');
      output.names(body, names);
    });

  policy
    .command('read')
    .description('Print the text of a policy.')
    .argument('<name>')
    .action(async (name: string, _, command: Command) => {
      const { client, output } = context(command);
      const { body } = await client.get(`sys/policies/acl/${name}`);
      if (output.json) output.show(body);
      else output.line(String(body?.data?.policy ?? ''));
    });

  policy
    .command('write')
    .description('Write a policy from a file, or from standard input when the file is -.')
    .argument('<name>')
    .argument('<file>')
    .action(async (name: string, file: string, _, command: Command) => {
      const { client, output } = context(command);
      const { body } = await client.post(`sys/policies/acl/${name}`, { policy: readPolicy(file) });
      output.warnings(body?.warnings);
      output.note(`written: policy ${name}`);
    });

  policy
    .command('delete')
    .description('Delete a policy; tokens that name it lose its rights.')
    .argument('<name>')
    .action(async (name: string, _, command: Command) => {
      const { client, output } = context(command);
      await client.delete(`sys/policies/acl/${name}`);
      output.note(`deleted: policy ${name}`);
    });
};

function readPolicy(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw new Problem(`${file} cannot be read`);
  }
}
