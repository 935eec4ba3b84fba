import type { Ask } from './ask';
import { Client } from './client';
import { Interruption } from './interruption';
import { Output, type Streams, writerOf } from './output';
import { Progress } from './progress';
import { type CliSettings, type GlobalOptions, readSettings } from './settings';

/** The context that every command gets. */
export interface Context {
  settings: CliSettings;
  client: Client;
  output: Output;
  ask: Ask;
  env: NodeJS.ProcessEnv;
  /** Shows progress to a person. */
  progress(what: string, unit: string, total?: number): Progress;
  /** Long work that can be interrupted: every step of its progress checks for an interruption. */
  interruption: Interruption;
  /** Sets the exit code of a command that succeeded but whose result is a code, such as `status`. */
  exitWith(code: number): void;
}

/** The environment of the program, which tests replace with a fake terminal. */
export interface Surroundings extends Streams {
  env: NodeJS.ProcessEnv;
  ask: Ask;
}

/** Builds a command's context from its flags and the environment. */
export async function makeContext(
  surroundings: Surroundings,
  flags: GlobalOptions,
  exitWith: (code: number) => void,
): Promise<Context> {
  const settings = readSettings(flags, surroundings.env);
  const output = new Output(surroundings, settings.format, await writerOf(settings.format));
  const interruption = new Interruption((text) => {
    // Ends the line on which the terminal shows ^C.
    if (surroundings.terminal?.err) surroundings.err('\n');
    output.note(text);
  });
  return {
    settings,
    client: new Client(settings),
    output,
    ask: surroundings.ask,
    env: surroundings.env,
    progress: (what, unit, total) =>
      new Progress(surroundings, what, unit, { total, check: () => interruption.check() }),
    interruption,
    exitWith,
  };
}
