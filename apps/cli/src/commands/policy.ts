import { writeFileSync } from 'node:fs';
import { notOurs, type ResponseBody } from '../client';
import type { CommandSpec } from '../command';
import { exitCodes } from '../problem';
import { printNames } from './data';
import { formatPolicy } from './policy-format';
import { parseValues, readInput } from './values';

interface ExplainFlags {
  operation: string;
  accessor?: string;
  from?: string;
}

interface Explained {
  allowed: boolean;
  reason: string | null;
  policies: string[];
  rule: ExplainedRule | null;
  losing_rules: (ExplainedRule & { lost_because: string })[];
  obstacles: { kind: string; message: string }[];
}

interface ExplainedRule {
  path: string;
  capabilities: string[];
  places: { policy: string; line: number }[];
}

/** `policy …`: the access rules of tokens. */
export const policyCommands: readonly CommandSpec[] = [
  {
    name: 'policy list',
    help: 'List policies.',
    flags: {},
    examples: ['policy list'],
    async run(context) {
      printNames(context, await context.client.list('sys/policies/acl'));
    },
  },
  {
    name: 'policy read',
    help: 'Print the text of a policy.',
    args: { '<name>': 'the policy' },
    flags: {},
    examples: ['policy read default'],
    async run({ client, output }, _, name: string) {
      const { body } = await client.get(`sys/policies/acl/${name}`);
      const policy = String(body?.data?.policy ?? '');
      if (output.forPrograms) output.show({ policy });
      else output.line(policy.trim());
    },
  },
  {
    name: 'policy write',
    help: 'Write a policy.',
    args: { '<name>': 'the policy', '<file>': 'its text, in HCL or JSON; - for standard input' },
    flags: {},
    examples: ['policy write readers readers.hcl', 'policy write readers -'],
    async run({ client, output, ask }, _, name: string, file: string) {
      const { body } = await client.post(`sys/policies/acl/${name}`, { policy: await readInput(file, ask) });
      output.warnings(body?.warnings);
      output.note(`written: policy ${name}`);
    },
  },
  {
    name: 'policy fmt',
    help: 'Format the text of a policy in its file. Does not call the service.',
    args: { '<file>': 'the file; - formats standard input and prints it' },
    flags: {},
    examples: ['policy fmt readers.hcl'],
    async run({ output, ask }, _, file: string) {
      const text = await readInput(file, ask);
      const fine = formatPolicy(text);
      if (file === '-') output.line(fine.trimEnd());
      else if (fine !== text) writeFileSync(file, fine);
      if (file !== '-') output.note(`${fine === text ? 'unchanged' : 'formatted'}: ${file}`);
    },
  },
  {
    name: 'policy delete',
    help: 'Delete a policy. Tokens that name it lose the permissions it grants.',
    args: { '<name>': 'the policy' },
    flags: {},
    examples: ['policy delete readers'],
    async run({ client, output }, _, name: string) {
      await client.delete(`sys/policies/acl/${name}`);
      output.note(`deleted: policy ${name}`);
    },
  },
  {
    name: 'policy explain',
    help: 'Explain why a token may or may not do something: the deciding rule, the rules it overrides, and other obstacles.',
    args: { '<path>': 'the path of the request', '[values...]': 'fields that the request would send, name=value' },
    flags: {
      '--operation <name>': { help: 'operation: read, list, create, update, patch, delete', default: 'read' },
      '--accessor <accessor>': 'explain for the token with this accessor, not for yours',
      '--from <ip>': 'explain for this client address, not for yours',
    },
    examples: ['policy explain kv/app/db', 'policy explain -operation=update kv/app/db user=ada'],
    more: 'Exit code 2 if the request would be refused.',
    async run({ client, output, ask, exitWith }, flags: ExplainFlags, path: string, ...pairs: string[]) {
      const { body } = await client.post('sys/policies/explain', {
        path,
        operation: flags.operation,
        accessor: flags.accessor,
        address: flags.from,
        ...(pairs.length > 0 ? { parameters: await parseValues(pairs, ask) } : {}),
      });
      const { allowed, reason, policies, rule, losing_rules, obstacles } = explained(body);
      if (!allowed) exitWith(exitCodes.refused);
      output.show(body, {
        allowed,
        reason,
        policies,
        'deciding rule': rule && sentenceFor(rule),
        ...Object.fromEntries(
          losing_rules.map((one, at) => [`lost ${at + 1}`, `${sentenceFor(one)}: ${one.lost_because}`]),
        ),
        ...Object.fromEntries(obstacles.map(({ kind, message }) => [`other obstacle: ${kind}`, message])),
      });
    },
  },
];

function explained(body: ResponseBody | undefined): Explained {
  const found = body?.data as Partial<Explained> | null | undefined;
  if (!Array.isArray(found?.losing_rules) || !Array.isArray(found.obstacles))
    throw notOurs('the response contains no explanation');
  return found as Explained;
}

function sentenceFor({ path, capabilities, places }: ExplainedRule): string {
  const where = places.map(({ policy, line }) => `${policy}:${line}`).join(', ');
  return `${path} [${capabilities.join(', ')}] (${where})`;
}
