import { type CommandSpec, namesOf } from '../../apps/cli/src/command';
import { absent, different, referenceCommands } from './reference';

/** The page of all commands: ours, next to those of the reference. Written from the table that the program is made of. */
export function pageOf(commands: readonly CommandSpec[]): string {
  const names = new Set(commands.flatMap(namesOf));
  const rows = commands.map(
    (spec) => `| ${namesOf(spec).map(code).join(', ')} | ${cell(spec.help)} | ${code(spec.examples[0])} |`,
  );
  const compared = referenceCommands.map((name) => {
    const state = names.has(name) ? (different[name] ? 'different' : 'have') : 'not';
    return `| ${code(name)} | ${state} | ${cell(different[name] ?? absent[name] ?? '')} |`;
  });
  const count = (state: string) => compared.filter((row) => row.includes(`| ${state} |`)).length;
  return `# Commands

Every command of \`keystead\`; \`keystead COMMAND --help\` says the rest. Written by \`pnpm commands\` from the table that the
program is made of. How to use them: [the command line](guides/command-line.md).

| Command | | For example |
|---|---|---|
${rows.join('\n')}

## Compared with the reference

Commands of OpenBao 2.7.2: ${count('have')} that we have, ${count('different')} that work otherwise in something, ${count('not')} that we
do not have. Ours that have no counterpart there: ${commands
    .filter(({ name }) => !referenceCommands.includes(name))
    .map(({ name }) => code(name))
    .join(', ')}.

| There | Here | |
|---|---|---|
${compared.join('\n')}
`;
}

const code = (text: string): string => `\`${cell(text)}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
