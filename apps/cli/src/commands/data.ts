import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Answer } from '../client';
import type { AddCommands, Context } from '../context';
import { Problem } from '../problem';

/** `read`, `list`, `write`, `delete`: any path of the service. */
export const addDataCommands: AddCommands = (program, context) => {
  program
    .command('read')
    .description('Read a path.')
    .argument('<path>', 'for example cubbyhole/notes or sys/mounts')
    .option('--field <name>', 'print this field alone')
    .action(async (path: string, options: { field?: string }, command: Command) => {
      const made = context(command);
      const answer = await made.client.get(path);
      if (options.field) printField(made, answer, options.field);
      else print(made, answer);
    });

  program
    .command('list')
    .description('List what lies below a path; names ending in / are folders.')
    .argument('<path>')
    .action(async (path: string, _, command: Command) => {
      const { client, output } = context(command);
      const { body, names } = await client.list(path);
      output.warnings(body?.warnings);
      output.names(body, names);
    });

  program
    .command('write')
    .description('Write to a path. Values are text; name:=value takes JSON, name=@file a file, - an object from stdin.')
    .argument('<path>')
    .argument('[values...]', 'name=value, name:=json, name=@file or -')
    .option('--field <name>', 'print this field of the answer alone')
    .addHelpText(
      'after',
      '\nExamples:\n  keystead write cubbyhole/box color=green size:=3\n  echo \'{"a":1}\' | keystead write cubbyhole/box -',
    )
    .action(async (path: string, values: string[], options: { field?: string }, command: Command) => {
      const made = context(command);
      const answer = await made.client.post(path, parseValues(values));
      if (options.field) printField(made, answer, options.field);
      else if (answer.body) print(made, answer);
      else made.output.note(`written: ${path}`);
    });

  program
    .command('delete')
    .description('Delete a path.')
    .argument('<path>')
    .action(async (path: string, _, command: Command) => {
      const made = context(command);
      const answer = await made.client.delete(path);
      if (answer.body) print(made, answer);
      else made.output.note(`deleted: ${path}`);
    });
};

/** Prints an answer: its data or auth for people, all of it as JSON. */
export function print({ output }: Context, { body }: Answer): void {
  output.warnings(body?.warnings);
  const lease = body?.lease_id
    ? { lease_id: body.lease_id, lease_duration: body.lease_duration, lease_renewable: body.renewable }
    : {};
  const enveloped = body && ('data' in body || 'auth' in body);
  output.show(body ?? {}, enveloped ? { ...lease, ...body.data, ...body.auth } : (body ?? {}));
}

function printField({ output }: Context, { body }: Answer, field: string): void {
  const fields: Record<string, unknown> = { ...body, ...body?.data, ...body?.auth };
  const value = fields[field];
  if (value === undefined) throw new Problem(`the answer has no field ${field}`);
  output.line(typeof value === 'string' ? value : JSON.stringify(value));
}

function parseValues(values: readonly string[]): Record<string, unknown> {
  const entries: [string, unknown][] = values.flatMap((text): [string, unknown][] => {
    if (text === '-') return Object.entries(parseJson(readFileSync(0, 'utf8'), 'standard input') as object);
    const split = /^([^=:]+)(:?=)([\s\S]*)$/.exec(text);
    if (!split) throw new Problem(`${text}: give name=value, name:=json or name=@file`);
    const [, name = '', operator, value = ''] = split;
    if (operator === ':=') return [[name, parseJson(value, name)]];
    return [[name, value.startsWith('@') ? readText(value.slice(1)) : value]];
  });
  return Object.fromEntries(entries);
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(`${where} is no JSON`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new Problem(`${file} cannot be read`);
  }
}
