import type { ServiceResponse } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';
import { print, printOrField, printOrSay } from './print';
import { parseValues, valuesHelp } from './values';

const field = { '--field <name>': 'print only this field' } as const;
const values = 'name=value, name:=json, name=@file, or - for an object of JSON';

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
    async run(made, options: { field?: string }, path: string, ...given: string[]) {
      const query = Object.entries(await parseValues(given, made.ask)).map(([name, value]) => [name, String(value)]);
      printOrField(made, await made.client.get(path, { query: Object.fromEntries(query) }), options.field);
    },
  },
  {
    name: 'list',
    help: 'List the names below a path; folders end in /.',
    args: { '<path>': 'for example auth/userpass/users' },
    flags: {},
    examples: ['list cubbyhole', 'list -format=json sys/policies/acl'],
    async run(made, _, path: string) {
      await listNames(made, path);
    },
  },
  {
    name: 'scan',
    help: 'List the names below a path and in its folders.',
    args: { '<path>': 'for example cubbyhole' },
    flags: {},
    examples: ['scan cubbyhole'],
    async run(made, _, path: string) {
      await listNames(made, path, true);
    },
  },
  {
    name: 'write',
    help: 'Write to a path.',
    args: { '<path>': 'for example auth/userpass/users/ada', '[values...]': values },
    flags: { ...field, '--force': { help: 'write nothing but the path', also: ['--f'] } },
    examples: ['write cubbyhole/box color=green size:=3', 'write -force sys/rotate'],
    more: valuesHelp,
    async run(made, options: { field?: string; force?: boolean }, path: string, ...given: string[]) {
      if (given.length === 0 && !options.force) throw new Problem('give values to write, or --force to send none');
      const answer = await made.client.put(path, await parseValues(given, made.ask));
      if (options.field) printOrField(made, answer, options.field);
      else printOrSay(made, answer, `written: ${path}`);
    },
  },
  {
    name: 'patch',
    help: 'Change some fields of a path and leave the rest.',
    args: { '<path>': 'for example auth/approle/role/app', '[values...]': values },
    flags: field,
    examples: ['patch identity/entity/name/ada metadata:={"team":"harbour"}'],
    more: valuesHelp,
    async run(made, options: { field?: string }, path: string, ...given: string[]) {
      if (given.length === 0) throw new Problem('give values to change');
      const answer = await made.client.patch(path, await parseValues(given, made.ask));
      if (options.field) printOrField(made, answer, options.field);
      else printOrSay(made, answer, `changed: ${path}`);
    },
  },
  {
    name: 'delete',
    help: 'Delete a path.',
    args: { '<path>': 'for example cubbyhole/notes' },
    flags: {},
    examples: ['delete cubbyhole/notes'],
    async run(made, _, path: string) {
      printOrSay(made, await made.client.delete(path), `deleted: ${path}`);
    },
  },
  {
    name: 'unwrap',
    help: 'Unwrap the answer that a wrapping token holds; the token ends.',
    args: { '[token]': 'the wrapping token; - prompts for it. By default the token of the call' },
    flags: field,
    examples: ['unwrap s.wrapping', 'unwrap -field=password -'],
    async run(made, options: { field?: string }, token?: string) {
      const used = token === '-' ? await made.ask('Wrapping token') : token;
      const answer = await made.client.post('sys/wrapping/unwrap', {}, { token: used, unwrapped: true });
      printOrField(made, answer, options.field);
    },
  },
  {
    name: 'path-help',
    help: 'Show what a path is for, with its parameters.',
    args: { '<path>': 'for example sys/mounts' },
    flags: {},
    examples: ['path-help sys/policies/acl'],
    async run(made, _, path: string) {
      const { body } = await made.client.get(path, { query: { help: '1' } });
      if (made.output.forPrograms) made.output.show(body);
      else made.output.line(String(body?.help ?? '').trim());
    },
  },
];

/**
 * Prints the names below a path. If there are none, programs still get something to read, and the exit code says so.
 */
export async function listNames(made: Context, path: string, deep = false): Promise<void> {
  const answer = await made.client.list(path, { accept: [404] }, deep);
  if (answer.status !== 404) {
    printNames(made, answer);
    return;
  }
  if (made.output.forPrograms) made.output.show({});
  const said = answer.body?.errors?.join('; ');
  throw new Problem(`${deep ? 'SCAN' : 'LIST'} ${path}: 404: ${said || 'there is nothing here'}`, exitCodes.refused);
}

/** Prints the names of a list. */
export function printNames(made: Context, answer: ServiceResponse & { names: readonly string[] }): void {
  if (answer.body?.wrap_info) {
    print(made, answer);
  } else {
    made.output.warnings(answer.body?.warnings);
    made.output.names(answer.names);
  }
}
