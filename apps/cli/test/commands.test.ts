import { describe, expect, it } from '@jest/globals';
import { type CommandSpec, flagOf, longOf, namesOf } from '../src/command';
import { commands, groups, vocabulary } from '../src/commands/all';
import { nodesOf } from '../src/completion/nodes';
import { scripts, shells } from '../src/completion/scripts';
import { type GlobalSetting, globalSettings } from '../src/global-settings';
import { HelpWanted, parse } from '../src/parser';
import { spellingOf } from '../src/spelling';

/** The words of an example, split as a shell would. */
const wordsOf = (example: string): string[] => example.split(' ');
const globals = Object.values(globalSettings) as GlobalSetting[];

function helpOf(name: string): string {
  try {
    parse(vocabulary, [...name.split(' '), '--help']);
  } catch (error) {
    if (error instanceof HelpWanted) return error.text;
    throw error;
  }
  throw new Error(`${name} --help did something else`);
}

describe.each(commands.map((spec): [string, CommandSpec] => [spec.name, spec]))('keystead %s', (name, spec) => {
  it('describes itself, its arguments, its flags and its other names', () => {
    for (const one of namesOf(spec)) {
      const help = helpOf(one).replace(/\s+/g, ' ');
      const flags = Object.entries(spec.flags ?? {});
      const said = [
        spec.help,
        ...Object.values(spec.args ?? {}),
        ...flags.flatMap(([flag, described]) => [longOf(flag), flagOf(described).help]),
        ...flags.flatMap(([, described]) => flagOf(described).also ?? []),
        ...spec.examples.map((example) => `keystead ${example}`),
      ];
      for (const text of said) expect(help).toContain(text.replace(/\s+/g, ' '));
      expect(spec.help).toMatch(/^[A-Z].*[.:]$/);
    }
  });

  it('has examples that it understands', () => {
    for (const example of spec.examples) {
      const parsed = parse(vocabulary, wordsOf(example));
      expect([example, parsed.spec.name]).toEqual([example, name]);
    }
  });

  it('is completed, with its flags, in every shell', () => {
    const nodes = nodesOf(commands, groups);
    for (const one of namesOf(spec)) {
      const words = one.split(' ');
      const parent = nodes.find(({ path }) => path === words.slice(0, -1).join(' '));
      expect(parent?.below.map(([word]) => word)).toContain(words.at(-1));
      const flags = nodes.find(({ path }) => path === one)?.flags.map(([flag]) => flag);
      expect(flags).toEqual(expect.arrayContaining([...Object.keys(spec.flags ?? {}).map(longOf), '--format']));
    }
    for (const shell of shells) expect(scripts[shell](nodes)).toContain(`'${name}'`);
  });
});

describe('the commands', () => {
  it('have unique names, and groups with a description', () => {
    const names = commands.flatMap(namesOf);
    expect(names).toEqual([...new Set(names)]);
    for (const name of names) {
      const group = name.split(' ').slice(0, -1).join(' ');
      expect(group === '' || groups[group] || names.includes(group) ? '' : `${group} says nothing`).toBe('');
    }
  });

  // Flags are normalized before the parser knows which command they belong to.
  it('interpret a flag in the same way at every position: a switch or a value, a name or an alias', () => {
    const flags = [
      ...globals.flatMap(({ flag, also }) => (flag ? [{ flag, also }] : [])),
      ...commands.flatMap(({ flags = {} }) =>
        Object.entries(flags).map(([flag, described]) => ({ flag, also: flagOf(described).also })),
      ),
    ];
    const takesValue = new Map<string, boolean>();
    for (const { flag } of flags) {
      const known = takesValue.get(longOf(flag)) ?? flag.includes(' ');
      takesValue.set(longOf(flag), known);
      expect([flag, flag.includes(' ')]).toEqual([flag, known]);
    }
    const others = new Map<string, string>();
    for (const { flag, also = [] } of flags) {
      for (const other of also) {
        expect([other, others.get(other) ?? longOf(flag)]).toEqual([other, longOf(flag)]);
        others.set(other, longOf(flag));
        expect(takesValue.has(other)).toBe(false);
      }
    }
    expect([...spellingOf(commands).names.keys()].sort()).toEqual([...others.keys(), '--h'].sort());
  });

  // A flag with several values would also consume the arguments after it.
  it('accept several values after one flag only if no argument follows', () => {
    const greedy = commands.filter(
      ({ args = {}, flags = {} }) =>
        Object.keys(args).length > 0 && Object.keys(flags).some((flag) => flag.includes('...')),
    );
    expect(greedy.map(({ name }) => name)).toEqual([]);
  });
});
