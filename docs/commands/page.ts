import { type CommandSpec, namesOf } from '../../apps/cli/src/command';
import { absent, different, referenceCommands } from './reference';

/** The page of all commands, next to those of the reference. It is generated from the program's table of commands. */
export function pageOf(commands: readonly CommandSpec[]): string {
  const names = new Set(commands.flatMap(namesOf));
  const rows = commands.map(
    (spec) => `| ${namesOf(spec).map(code).join(', ')} | ${cell(spec.help)} | ${code(spec.examples[0])} |`,
  );
  const explained = referenceCommands.flatMap((name) => {
    const note = different[name] ?? absent[name];
    return note === undefined
      ? []
      : [`| ${code(name)} | ${names.has(name) ? 'different' : 'missing'} | ${cell(note)} |`];
  });
  const alike = referenceCommands.filter((name) => names.has(name) && different[name] === undefined);
  return `# Commands

This page lists every command of \`keystead\`. \`keystead COMMAND --help\` shows the arguments and flags of a command.
[The command line](guides/command-line.md) shows how to use them. \`pnpm commands\` writes this page from the program's
command table.

| Command | | For example |
|---|---|---|
${rows.join('\n')}

## Compared with the reference

These commands of OpenBao 2.7.2 work the same here: ${alike.map(code).join(', ')}. The other commands:

| There | Here | |
|---|---|---|
${explained.join('\n')}
`;
}

const code = (text: string): string => `\`${cell(text)}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
