import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { AddCommands } from '../context';
import { exitCodes, Problem } from '../problem';

/** `audit …`: the devices, the hash of a text, and whether the audit table is whole. */
export const addAuditCommands: AddCommands = (program, context) => {
  const audit = program.command('audit').description('Look at the audit devices, and check the audit table.');

  audit
    .command('list')
    .description('List the audit devices of the node that answers.')
    .action(async (_, command: Command) => {
      const { client, output } = context(command);
      const { body } = await client.get('sys/audit');
      output.names(body, Object.keys(body?.data ?? {}));
    });

  audit
    .command('hash')
    .description('Print how a text appears in the audit log, to search for it. The text is asked for.')
    .argument('<device>', 'for example file')
    .action(async (device: string, _, command: Command) => {
      const { client, output, ask } = context(command);
      const { body } = await client.post(`sys/audit-hash/${device}`, { input: await ask('Text') });
      output.line(String(body?.data?.hash));
    });

  audit
    .command('verify')
    .description(
      'Check every link of the audit table. Exit code 2 when something was changed or is missing, or nothing is recorded.',
    )
    .option('--heads <file>', 'compare with the ends kept here, and keep the new ones: a cut end shows only this way')
    .action(async (options: { heads?: string }, command: Command) => {
      const { client, output } = context(command);
      const heads = options.heads && existsSync(options.heads) ? readHeads(options.heads) : [];
      const { body } = await client.post('sys/audit-chain/verify', { heads });
      const { valid, rows, heads: ends, problems } = body?.data ?? {};
      output.show(body, { whole: valid, rows, chains: (ends as unknown[])?.length });
      for (const problem of (problems as string[]) ?? []) output.note(problem);
      if (!valid) {
        process.exitCode = exitCodes.refused;
      } else if (options.heads) {
        writeFileSync(options.heads, `${JSON.stringify(ends)}\n`, { mode: 0o600 });
        output.note(`ends kept in ${options.heads}: store a copy where the service's administrators cannot change it`);
      }
    });
};

function readHeads(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new Problem(`${file} is no file that audit verify wrote`);
  }
}
