import { type CommandSpec, flagOf, longOf } from './command';
import { type GlobalSetting, globalSettings } from './global-settings';

/** The spellings of all flags. */
export interface Spelling {
  /** The name of a flag by each of its other names. */
  readonly names: ReadonlyMap<string, string>;
  /** Flags that take no value. */
  readonly switches: ReadonlySet<string>;
}

/** Collects the spellings of all flags from the commands. */
export function spellingOf(specs: readonly CommandSpec[]): Spelling {
  const names = new Map([['--h', '--help']]);
  const switches = new Set(['--help']);
  const add = (flag: string, also: readonly string[] = []) => {
    const long = longOf(flag);
    for (const other of also) names.set(other, long);
    if (flag === long) for (const one of [long, ...also]) switches.add(one);
  };
  for (const setting of Object.values(globalSettings) as GlobalSetting[]) {
    if (setting.flag) add(setting.flag, setting.also);
  }
  for (const { flags = {} } of specs) {
    for (const [flag, spec] of Object.entries(flags)) add(flag, flagOf(spec).also);
  }
  return { names, switches };
}

/**
 * Normalizes the flags of a command line: `-format=json` becomes `--format=json`, other names become the name, and
 * `-orphan=true` becomes `--orphan`. Everything after `--` is unchanged.
 */
export function respell(args: readonly string[], { names, switches }: Spelling): string[] {
  const end = args.indexOf('--');
  const read = end === -1 ? args : args.slice(0, end);
  const spelled = read.flatMap((arg): string[] => {
    const found = /^--?([a-z][a-z0-9-]*)(?:=([\s\S]*))?$/i.exec(arg);
    if (!found) return [arg];
    const typed = `--${found[1]}`;
    const [name, value] = [names.get(typed) ?? typed, found[2]];
    if (value === undefined) return [name];
    if (!switches.has(name)) return [`${name}=${value}`];
    if (/^(1|t|true)$/i.test(value)) return [name];
    return /^(0|f|false)$/i.test(value) ? [] : [`${name}=${value}`];
  });
  return end === -1 ? spelled : [...spelled, ...args.slice(end)];
}
