import { Command, CommanderError, Option } from 'commander';
import { type CommandSpec, flagOf, longOf, namesOf } from './command';
import { describeVariables, type GlobalSetting, globalSettings } from './global-settings';
import { Problem } from './problem';
import { respell, spellingOf } from './spelling';
import { suggest } from './suggest';

/** A parsed command line. */
export interface Parsed {
  spec: CommandSpec;
  /** The flags of the command and of the program, by camel-case name. */
  flags: Record<string, unknown>;
  args: string[];
}

/** Help was requested; the message is the help text. */
export class HelpWanted {
  constructor(readonly text: string) {}
}

const globalFlags = Object.values(globalSettings).filter((setting: GlobalSetting) => setting.flag) as (GlobalSetting & {
  flag: string;
})[];

/** Parses a command line. Throws `Problem` naming the mistake, and `HelpWanted`. */
export function parse({ commands: specs, groups, sections, elsewhere }: Vocabulary, typed: readonly string[]): Parsed {
  const [first = '', ...rest] = respell(typed, spellingOf(specs));
  const spelled = typed.length === 0 ? [] : [longNames.get(first) ?? first, ...rest];
  // The parsing library reads only one of several words.
  const args = spelled[0] === 'help' && spelled.length > 2 ? [...spelled.slice(1), '--help'] : spelled;
  let parsed: Parsed | undefined;
  let outputText = '';
  const program = makeTree(specs, groups, (found) => {
    parsed = found;
  });
  program.configureOutput({ outputError: () => {}, writeOut: collect, writeErr: collect });
  inherit(program);
  program.helpInformation = () => describeCommands(program, sections);
  function collect(text: string) {
    outputText += text;
  }
  if (args.join(' ') === globalHelp) throw new HelpWanted(describeGlobal(program));
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) throw new HelpWanted(outputText);
    // The user typed only the name of a group, so show its commands.
    if (error.code === 'commander.help') throw new Problem(outputText.trimEnd());
    const instead = error.code === 'commander.unknownCommand' && Object.hasOwn(elsewhere, args[0] ?? '');
    const advice = instead ? `instead: ${elsewhere[args[0] ?? '']}` : adviceOn(error, args, specs);
    throw new Problem(`${error.message.replace(/^error: /, '')} (${advice})`);
  }
  if (!parsed) throw new HelpWanted(program.helpInformation());
  return parsed;
}

/** Groups by their names in other programs. */
const longNames: ReadonlyMap<string, string> = new Map([
  ['workspace', 'ws'],
  ['organization', 'org'],
  ['variable', 'var'],
]);

/** Shows the flags that every command has; the help of each command refers to this. */
const globalHelp = 'help global';

function describeGlobal(program: Command): string {
  const help = program.createHelp();
  help.prepareContext({});
  const width = help.longestOptionTermLength(program, help);
  const lines = program.options.map((option) =>
    help.formatItem(help.optionTerm(option), width, option.description, help),
  );
  return `Options that every command takes:\n${lines.join('\n')}\n\n${environmentText()}\n`;
}

/** The help of the whole program. Details are one level down. */
function describeCommands(program: Command, sections: Vocabulary['sections']): string {
  const described = new Map(program.commands.map((command) => [command.name(), command.description()]));
  described.set('help', 'Show the help of a command; help global: options and environment of all commands.');
  const width = Math.max(...[...described.keys()].map((name) => name.length));
  const parts = Object.entries(sections).map(([section, names]) => {
    // Only the first sentence of each description is shown.
    const lines = names.map((name) => `  ${name.padEnd(width)}  ${described.get(name)?.replace(/[.:;] .*$/, '.')}`);
    return `${section}:\n${lines.join('\n')}\n`;
  });
  return `Usage: keystead <command> [options]\n\n${program.description()}\n\n${parts.join('\n')}`;
}

const environmentText = (): string => `Environment, the first that is set:\n${describeVariables()}`;

/** Descriptions of groups of commands, by their words. */
export type Groups = Readonly<Record<string, string>>;

/** Everything the program understands. */
export interface Vocabulary {
  readonly commands: readonly CommandSpec[];
  readonly groups: Groups;
  /** Names of commands and groups, by purpose. */
  readonly sections: Readonly<Record<string, readonly string[]>>;
  /** Commands of other programs, and what to use instead. */
  readonly elsewhere: Readonly<Record<string, string>>;
}

/** The words of a command line before its first flag. */
function wordsOf(args: readonly string[]): string[] {
  const first = args.findIndex((arg) => arg.startsWith('-'));
  return args.slice(0, first === -1 ? args.length : first);
}

function adviceOn(error: CommanderError, args: readonly string[], specs: readonly CommandSpec[]): string {
  const words = wordsOf(args);
  const names = specs.flatMap(namesOf);
  const exact = names.filter((name) => words.join(' ').startsWith(name)).sort((a, b) => b.length - a.length)[0];
  if (error.code === 'commander.unknownCommand') {
    const suggestions = suggest(words, names);
    return suggestions.length === 0
      ? 'keystead --help lists the commands'
      : `did you mean ${suggestions.map((name) => `keystead ${name}`).join(' or ')}?`;
  }
  const spec = specs.find((one) => exact !== undefined && namesOf(one).includes(exact));
  const unknown = /unknown option '(--[^'=]+)/.exec(error.message)?.[1];
  const flags = [...Object.keys(spec?.flags ?? {}), ...globalFlags.map(({ flag }) => flag)].map(longOf);
  const near = unknown ? suggest([unknown], flags)[0] : undefined;
  if (near) return `did you mean ${near}?`;
  return exact ? `keystead ${exact} --help says more` : 'keystead --help lists the commands';
}

/** All commands in the form of the parsing library. `found` is called with the parsed command. */
function makeTree(specs: readonly CommandSpec[], groups: Groups, found: (parsed: Parsed) => void): Command {
  const program = new Command('keystead').description('The command line of both services.');
  program.exitOverride().showSuggestionAfterError(false);
  for (const { flag, help, variables } of globalFlags) program.option(flag, `${help} (${variables[0]})`);
  const nodes = new Map<string, Command>([['', program]]);
  const nodeOf = (name: string): Command => {
    const existing = nodes.get(name);
    if (existing) return existing;
    const at = name.lastIndexOf(' ');
    const node = nodeOf(name.slice(0, Math.max(at, 0)))
      .command(name.slice(at + 1))
      .description(groups[name] ?? '');
    nodes.set(name, node);
    return node;
  };
  for (const spec of specs) for (const name of namesOf(spec)) define(nodeOf(name), spec, name, found);
  return program;
}

function define(node: Command, spec: CommandSpec, name: string, found: (parsed: Parsed) => void): void {
  node.description(spec.help);
  for (const [argument, help] of Object.entries(spec.args ?? {})) node.argument(argument, help);
  for (const [flag, described] of Object.entries(spec.flags ?? {})) {
    const { help, also = [], default: usual, required, repeatable } = flagOf(described);
    const option = new Option(flag, also.length > 0 ? `${help} (also ${also.join(', ')})` : help);
    if (usual !== undefined) option.default(usual);
    if (required) option.makeOptionMandatory();
    if (repeatable) option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
    node.addOption(option);
  }
  const examples = spec.examples.map((example) => `  keystead ${example}`).join('\n');
  const same = namesOf(spec).filter((one) => one !== name);
  const also = same.length > 0 ? `Also: ${same.map((one) => `keystead ${one}`).join(', ')}\n\n` : '';
  node.addHelpText(
    'after',
    `\n${also}Examples:\n${examples}${spec.more ? `\n\n${spec.more}` : ''}\n\nFor all commands: keystead ${globalHelp}`,
  );
  node.action((...args: unknown[]) => {
    const values = args.slice(0, -2) as (string | string[] | undefined)[];
    found({ spec, flags: node.optsWithGlobals(), args: flat(values) });
  });
}

/** Arguments in order, up to the first missing one. */
function flat(values: readonly (string | string[] | undefined)[]): string[] {
  return values.flatMap((value) => value ?? []);
}

/** Output and error handling are settings of each command, not of the tree. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child);
  }
}
