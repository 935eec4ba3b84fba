import { basename } from 'node:path';
import { exactJson } from '@keystead/envelope';
import type { CommandSpec } from '../command';
import type { Remote } from '../migration/remote';
import type { RemoteResource } from '../migration/resource';
import { exitCodes, Problem } from '../problem';
import { findService, type ServiceFlags, workspaceFlags, workspaceOf } from '../workspaces/service';
import { type Assignment, readDotEnv, readVariableFile } from '../workspaces/variable-file';
import { parseValues, readInput } from './values';

interface VariableFlags extends ServiceFlags {
  env?: boolean;
  hcl?: boolean;
  sensitive?: boolean;
  description?: string;
}

const category = { '--env': 'environment variables, not Terraform variables' } as const;

/** `var …`: variables of a workspace. */
export const variableCommands: readonly CommandSpec[] = [
  {
    name: 'var list',
    help: 'List the variables of a workspace; sensitive values are not shown.',
    flags: workspaceFlags,
    examples: ['var list -organization=harbour -workspace=web'],
    async run(context, flags: VariableFlags) {
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags);
      const found = await service.list(`workspaces/${id}/vars`);
      const rows = found.map(({ attributes = {} }) => [
        attributes.key,
        attributes.sensitive ? '(sensitive)' : attributes.value,
        attributes.category,
        attributes.hcl ? 'expression' : 'text',
      ]);
      context.output.rows(found, ['key', 'value', 'category', 'kind'], rows);
    },
  },
  {
    name: 'var set',
    help: 'Set variables of a workspace.',
    args: { '<values...>': 'name=value, name=@file or name=-' },
    flags: {
      ...workspaceFlags,
      ...category,
      '--hcl': 'values are HCL expressions',
      '--sensitive':
        'values are never shown again; they come from files, standard input or, if only a name is given, a prompt',
      '--description <text>': 'what they are for',
    },
    examples: [
      'var set -organization=harbour -workspace=web region=north',
      'var set -hcl zones=["a","b"]',
      'var set -env -sensitive API_KEY',
    ],
    async run(context, flags: VariableFlags, ...values: string[]) {
      const prompted = await Promise.all(
        values.map(async (text) => {
          const secret = flags.sensitive ? askedFor(text) : undefined;
          return secret === undefined ? text : `${secret}=${escaped(await context.ask(`Value of ${secret}`))}`;
        }),
      );
      const parsed = Object.entries(await parseValues(prompted, context.ask));
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags);
      const { hcl = false, sensitive = false, description } = flags;
      const assignments = parsed.map(([key, value]): Assignment => {
        const text = typeof value === 'string' ? value : exactJson(value);
        return { key, value: text, hcl: hcl || typeof value !== 'string' };
      });
      const summary = await setAll(service, id, assignments, { env: flags.env, sensitive, description });
      context.output.note(summary);
    },
  },
  {
    name: 'var delete',
    help: 'Delete variables of a workspace.',
    args: { '<keys...>': 'their names' },
    flags: { ...workspaceFlags, ...category },
    examples: ['var delete -organization=harbour -workspace=web region'],
    async run(context, flags: VariableFlags, ...keys: string[]) {
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags);
      const there = await service.list(`workspaces/${id}/vars`);
      const found = keys.map((key) => find(there, key, flags.env));
      const absent = keys.filter((_, at) => !found[at]);
      if (absent.length > 0) throw new Problem(`there is no variable ${absent.join(', ')}`, exitCodes.refused);
      for (const one of found) if (one) await service.remove(`workspaces/${id}/vars/${one.id}`);
      context.output.note(`deleted: ${keys.join(', ')}`);
    },
  },
  {
    name: 'var import',
    help: 'Set variables of a workspace from a file: name=value lines (.env), .tfvars or .tfvars.json.',
    args: { '<file>': 'the extension sets the format; - reads .tfvars from standard input' },
    flags: {
      ...workspaceFlags,
      '--env': 'environment variables; the default for .env files',
      '--sensitive': 'values are never shown again',
    },
    examples: ['var import -organization=harbour -workspace=web prod.tfvars', 'var import -sensitive prod.env'],
    async run(context, flags: VariableFlags, file: string) {
      const text = await readInput(file, context.ask);
      const isEnv = /(^|\.)env(\.|$)/.test(basename(file));
      const assignments = isEnv ? readDotEnv(text, file) : readVariableFile(text, file);
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags);
      const summary = await setAll(service, id, assignments, {
        env: isEnv || flags.env,
        sensitive: flags.sensitive ?? false,
      });
      context.output.note(summary);
    },
  },
];

interface Common {
  env?: boolean;
  sensitive: boolean;
  description?: string;
}

async function setAll(
  service: Remote,
  workspaceId: string,
  assignments: readonly Assignment[],
  common: Common,
): Promise<string> {
  const path = `workspaces/${workspaceId}/vars`;
  const there = await service.list(path);
  let context = 0;
  for (const { key, value, hcl } of assignments) {
    const before = find(there, key, common.env);
    const attributes = {
      key,
      value,
      hcl,
      sensitive: common.sensitive || before?.attributes.sensitive === true,
      category: common.env ? 'env' : 'terraform',
      ...(common.description === undefined ? {} : { description: common.description }),
    };
    const data = { type: 'vars', attributes };
    if (before) await service.change(`${path}/${before.id}`, { ...data, id: before.id });
    else await service.create(path, data);
    if (!before) context += 1;
  }
  return `set: ${context} new, ${assignments.length - context} changed`;
}

function find(there: readonly RemoteResource[], key: string, env = false): RemoteResource | undefined {
  return there.find(
    ({ attributes = {} }) => attributes.key === key && attributes.category === (env ? 'env' : 'terraform'),
  );
}

/** The name of a sensitive value to prompt for. Others could see a value on the command line. */
function askedFor(text: string): string | undefined {
  const at = text.indexOf('=');
  if (at === -1) return text;
  if (/^(@|-$)/.test(text.slice(at + 1))) return undefined;
  const name = text.slice(0, at).replace(/:$/, '');
  throw new Problem(
    `a sensitive value cannot be an argument, because the shell history would show it: use only ${name}, ${name}=@FILE or ${name}=-`,
  );
}

const escaped = (text: string): string => (text.startsWith('@') || text === '-' ? `\\${text}` : text);
