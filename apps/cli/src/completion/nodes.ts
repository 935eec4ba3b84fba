import { type CommandSpec, flagOf, longOf, namesOf } from '../command';
import { type GlobalSetting, globalSettings } from '../global-settings';
import type { Groups } from '../parser';

/** A node in the tree of commands, with the words that can follow. */
export interface CommandNode {
  /** The words of this node; empty for the program itself. */
  readonly path: string;
  /** The next words with their descriptions. */
  readonly below: readonly (readonly [string, string])[];
  /** Flags with their descriptions, and whether a value follows. */
  readonly flags: readonly (readonly [flag: string, help: string, takesValue: boolean])[];
}

const globalFlags = (Object.values(globalSettings) as GlobalSetting[]).flatMap(({ flag, help }) =>
  flag ? [[longOf(flag), help, flag.includes(' ')] as const] : [],
);

/** Every node in the tree of commands. */
export function nodesOf(specs: readonly CommandSpec[], groups: Groups): CommandNode[] {
  const below = new Map<string, Map<string, string>>([['', new Map()]]);
  const flags = new Map<string, CommandNode['flags']>();
  for (const spec of specs) {
    for (const name of namesOf(spec)) {
      const words = name.split(' ');
      words.forEach((word, at) => {
        const parent = words.slice(0, at).join(' ');
        const path = words.slice(0, at + 1).join(' ');
        const children = below.get(parent) ?? new Map<string, string>();
        below.set(parent, children);
        if (path === name) children.set(word, spec.help);
        else if (!children.has(word)) children.set(word, groups[path] ?? '');
      });
      flags.set(
        name,
        Object.entries(spec.flags ?? {}).map(([flag, spec]) => [longOf(flag), flagOf(spec).help, flag.includes(' ')]),
      );
    }
  }
  const paths = new Set([...below.keys(), ...flags.keys()]);
  return [...paths].sort().map((path) => ({
    path,
    below: [...(below.get(path) ?? [])].sort(([one], [other]) => (one < other ? -1 : 1)),
    flags: [...(flags.get(path) ?? []), ...globalFlags],
  }));
}
