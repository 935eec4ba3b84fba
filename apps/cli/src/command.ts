import type { Context } from './context';

/**
 * A flag of a command. Its name shows how many values it takes: `--once` takes none, `--ttl <duration>` one,
 * `<name...>` several.
 */
export interface FlagSpec {
  readonly help: string;
  /** Aliases from other programs. */
  readonly also?: readonly string[];
  readonly default?: string;
  readonly required?: true;
  /** The flag can be repeated. The command gets all values. */
  readonly repeatable?: true;
}

/**
 * One command, declared once. The parser, the help, completion, suggestions and the tables of the documentation are
 * derived from it.
 */
export interface CommandSpec {
  /** The words as they are typed, for example `kv get`. */
  readonly name: string;
  /** Other names for the same command. */
  readonly also?: readonly string[];
  readonly help: string;
  /** The description of each `<name>`, `[name]` or `[names...]`. */
  readonly args?: Readonly<Record<string, string>>;
  readonly flags?: Readonly<Record<string, string | FlagSpec>>;
  /** Command lines without the program's name; a test parses every one. */
  readonly examples: readonly [string, ...string[]];
  /** Help text after the examples. */
  readonly more?: string;
  /**
   * Runs the command, with the flags by camel-case name, and the arguments in order. Slow modules that only this command
   * needs are required here, because every command line loads all specs.
   */
  run(context: Context, flags: object, ...args: string[]): Promise<void> | void;
}

/** A flag's full declaration, even if only its help was given. */
export function flagOf(flag: string | FlagSpec): FlagSpec {
  return typeof flag === 'string' ? { help: flag } : flag;
}

/** The long name of a flag: `--ttl` of `--ttl <duration>`. */
export function longOf(flag: string): string {
  return flag.split(' ')[0] ?? flag;
}

/** Every way to type a command. */
export function namesOf(spec: CommandSpec): readonly string[] {
  return [spec.name, ...(spec.also ?? [])];
}
