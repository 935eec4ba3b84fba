import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Client } from '../client';
import type { CommandSpec } from '../command';
import { exitCodes, Problem } from '../problem';
import { printOrSay } from './print';
import { parsePairs } from './values';

interface EnableFlags {
  path?: string;
  description?: string;
}

/** `audit …`: the devices, the hash of a string, and the verification of the audit table. */
export const auditCommands: readonly CommandSpec[] = [
  {
    name: 'audit list',
    help: 'List the audit devices of the node that the command reaches.',
    flags: { '--detailed': 'with their options' },
    examples: ['audit list', 'audit list -detailed'],
    async run({ client, output }, { detailed }: { detailed?: boolean }) {
      const { body } = await client.get('sys/audit');
      const found = (body?.data ?? {}) as Record<string, { type: string; description: string; options: unknown }>;
      const rows = Object.entries(found).map(([path, { type, description, options }]) => [
        path,
        type,
        description,
        ...(detailed ? [options] : []),
      ]);
      output.rows(found, ['path', 'type', 'description', ...(detailed ? ['options'] : [])], rows);
    },
  },
  {
    name: 'audit enable',
    help: 'Enable an audit device, if the configuration of the service allows this.',
    args: { '<type>': 'file, socket, syslog or http', '[options...]': 'name=value' },
    flags: { '--path <path>': 'path of the device [the type]', '--description <text>': 'what it is for' },
    examples: ['audit enable file file_path=team.log', 'audit enable http uri=https://logs.example.com/in -path=siem'],
    async run(context, flags: EnableFlags, type: string, ...options: string[]) {
      const path = (flags.path ?? type).replace(/\/$/, '');
      const body = { type, description: flags.description, options: parsePairs(options, 'option') };
      printOrSay(context, await context.client.put(`sys/audit/${path}`, body), `enabled: audit device ${path}`);
    },
  },
  {
    name: 'audit disable',
    help: 'Disable an audit device that was enabled with a command or the API.',
    args: { '<path>': 'its name' },
    flags: {},
    examples: ['audit disable file'],
    async run(context, _, path: string) {
      printOrSay(context, await context.client.delete(`sys/audit/${path}`), `disabled: audit device ${path}`);
    },
  },
  {
    name: 'audit hash',
    help: 'Print the hash of a string in the audit log, to search for it. Prompts for the string.',
    args: { '<device>': 'for example file' },
    flags: {},
    examples: ['audit hash file'],
    async run({ client, output, ask }, _, device: string) {
      const { body } = await client.post(`sys/audit-hash/${device}`, { input: await ask('Text') });
      const hash = String(body?.data?.hash);
      if (output.forPrograms) output.show({ hash });
      else output.line(hash);
    },
  },
  {
    name: 'audit verify',
    help: 'Check every link of the audit table. Exit code 2 if a row was changed or is missing, or if the table is not recorded.',
    flags: {
      '--heads <file>':
        'compare with the chain heads in this file, then store the new ones: only this detects a chain whose end was removed',
    },
    examples: ['audit verify', 'audit verify -heads=audit-heads.json'],
    async run({ client, output, exitWith }, options: { heads?: string }) {
      const heads = options.heads && existsSync(options.heads) ? readHeads(options.heads) : [];
      const { valid, rows, ends, problems, body } = await verifyInParts(client, heads, (so) => {
        if (!output.forPrograms) output.note(`${so} rows so far`);
      });
      output.show(body, { whole: valid, rows, chains: ends.length });
      for (const problem of problems) output.note(problem);
      if (!valid) {
        exitWith(exitCodes.refused);
      } else if (options.heads) {
        writeFileSync(options.heads, `${JSON.stringify(ends)}\n`, { mode: 0o600 });
        output.note(
          `chain heads stored in ${options.heads}: keep a copy where the service's administrators cannot change it`,
        );
      }
    },
  },
];

interface Head {
  readonly chain: string;
}
interface VerifiedPart {
  readonly rows: number;
  readonly heads: readonly Head[];
  readonly problems: readonly string[];
  readonly next: Head | null;
}

/** Verifies the whole table, and combines the answers of its parts. */
async function verifyInParts(client: Client, storedHeads: unknown, tell: (rows: number) => void) {
  const ends = new Map<string, Head>();
  const problems = new Set<string>();
  let rows = 0;
  for (let after: Head | undefined; ; ) {
    const { body } = await client.post('sys/audit-chain/verify', { heads: storedHeads, ...(after && { after }) });
    const part = body!.data as unknown as VerifiedPart;
    rows += part.rows;
    for (const head of part.heads) ends.set(head.chain, head);
    for (const problem of part.problems) problems.add(problem);
    if (part.next) {
      after = part.next;
      tell(rows);
      continue;
    }
    const valid = problems.size === 0;
    const heads = [...ends.values()];
    const whole = { ...body, data: { valid, rows, heads, problems: [...problems], next: null } };
    return { valid, rows, ends: heads, problems, body: whole };
  }
}

function readHeads(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new Problem(`${file} is not a file that audit verify wrote`);
  }
}
