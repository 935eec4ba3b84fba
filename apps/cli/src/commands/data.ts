import type { ServiceResponse } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';
import { print, printOrField, printOrSay } from './print';
import { parseValues, valuesHelp } from './values';

const field = { '--field <name>': 'print only this field' } as const;
const values = 'name=value, name:=json, name=@file, or - for a JSON object';

/** `read`, `list`, `scan`, `write`, `patch`, `delete`, `unwrap`, `path-help`: any path of the service. */
export const dataCommands: readonly CommandSpec[] = [
  {
    name: 'read',
    help: 'Read a path.',
    args: {
      '<path>': 'for example cubbyhole/notes or sys/mounts',
      '[values...]': 'parameters of the request, name=value',
    },
    flags: field,
    examples: ['read cubbyhole/notes', 'read -field=color cubbyhole/notes'],
    async run(context, options: { field?: string }, path: string, ...pairs: string[]) {
      const query = Object.entries(await parseValues(pairs, context.ask)).map(([name, value]) => [name, String(value)]);
      printOrField(context, await context.client.get(path, { query: Object.fromEntries(query) }), options.field);
    },
  },
  {
    name: 'list',
    help: 'List the keys below a path; folders end in /.',
    args: { '<path>': 'for example auth/userpass/users' },
    flags: {},
    examples: ['list cubbyhole', 'list -format=json sys/policies/acl'],
    async run(context, _, path: string) {
      await listNames(context, path);
    },
  },
  {
    name: 'scan',
    help: 'List the keys below a path and in its folders.',
    args: { '<path>': 'for example cubbyhole' },
    flags: {},
    examples: ['scan cubbyhole'],
    async run(context, _, path: string) {
      await listNames(context, path, true);
    },
  },
  {
    name: 'write',
    help: 'Write to a path.',
    args: { '<path>': 'for example auth/userpass/users/ada', '[values...]': values },
    flags: { ...field, '--force': { help: 'send no fields', also: ['--f'] } },
    examples: ['write cubbyhole/box color=green size:=3', 'write -force sys/rotate'],
    more: valuesHelp,
    async run(context, options: { field?: string; force?: boolean }, path: string, ...pairs: string[]) {
      if (pairs.length === 0 && !options.force) throw new Problem('give values to write, or --force to send none');
      const answer = await context.client.put(path, await parseValues(pairs, context.ask));
      if (options.field) printOrField(context, answer, options.field);
      else printOrSay(context, answer, `written: ${path}`);
    },
  },
  {
    name: 'patch',
    help: 'Change some fields at a path and keep the others.',
    args: { '<path>': 'for example auth/approle/role/app', '[values...]': values },
    flags: field,
    examples: ['patch identity/entity/name/ada metadata:={"team":"harbour"}'],
    more: valuesHelp,
    async run(context, options: { field?: string }, path: string, ...pairs: string[]) {
      if (pairs.length === 0) throw new Problem('give values to change');
      const answer = await context.client.patch(path, await parseValues(pairs, context.ask));
      if (options.field) printOrField(context, answer, options.field);
      else printOrSay(context, answer, `changed: ${path}`);
    },
  },
  {
    name: 'delete',
    help: 'Delete a path.',
    args: { '<path>': 'for example cubbyhole/notes' },
    flags: {},
    examples: ['delete cubbyhole/notes'],
    async run(context, _, path: string) {
      printOrSay(context, await context.client.delete(path), `deleted: ${path}`);
    },
  },
  {
    name: 'unwrap',
    help: 'Unwrap a response and revoke its wrapping token.',
    args: { '[token]': 'the wrapping token; - prompts for it. By default the token of the call' },
    flags: field,
    examples: ['unwrap s.wrapping', 'unwrap -field=password -'],
    async run(context, options: { field?: string }, token?: string) {
      const used = token === '-' ? await context.ask('Wrapping token') : token;
      const answer = await context.client.post('sys/wrapping/unwrap', {}, { token: used, unwrapped: true });
      printOrField(context, answer, options.field);
    },
  },
  {
    name: 'path-help',
    help: 'Show the description and the parameters of a path.',
    args: { '<path>': 'for example sys/mounts' },
    flags: {},
    examples: ['path-help sys/policies/acl'],
    async run(context, _, path: string) {
      const { body } = await context.client.get(path, { query: { help: '1' } });
      if (context.output.forPrograms) context.output.show(body);
      else context.output.line(String(body?.help ?? '').trim());
    },
  },
];

/** Prints the names below a path. If there are none, programs still get an empty list, and the exit code shows it. */
export async function listNames(context: Context, path: string, deep = false): Promise<void> {
  const answer = await context.client.list(path, { accept: [404] }, deep);
  if (answer.status !== 404) {
    printNames(context, answer);
    return;
  }
  if (context.output.forPrograms) context.output.show({});
  const reason = answer.body?.errors?.join('; ');
  throw new Problem(`${deep ? 'SCAN' : 'LIST'} ${path}: 404: ${reason || 'there is nothing here'}`, exitCodes.refused);
}

/** Prints the names of a list. */
export function printNames(context: Context, answer: ServiceResponse & { names: readonly string[] }): void {
  if (answer.body?.wrap_info) {
    print(context, answer);
  } else {
    context.output.warnings(answer.body?.warnings);
    context.output.names(answer.names);
  }
}
