import type { Command } from 'commander';
import type { Ask } from './ask';
import { Client } from './client';
import { Output, type Streams } from './output';
import { type GlobalOptions, readSettings, type Settings } from './settings';

/** What every command works with. */
export interface Context {
  settings: Settings;
  client: Client;
  output: Output;
  ask: Ask;
}

/** What the program is given from outside, so that tests can stand in for a terminal. */
export interface Surroundings extends Streams {
  env: NodeJS.ProcessEnv;
  ask: Ask;
}

/** Makes the context of the command that is run: its global options are known only then. */
export type MakeContext = (command: Command) => Context;

/** Adds one group of commands to the program. */
export type AddCommands = (program: Command, context: MakeContext, surroundings: Surroundings) => void;

export function contextMaker(surroundings: Surroundings): MakeContext {
  return (command) => {
    const settings = readSettings(command.optsWithGlobals<GlobalOptions>(), surroundings.env);
    return {
      settings,
      client: new Client(settings),
      output: new Output(surroundings, settings.format),
      ask: surroundings.ask,
    };
  };
}
