import type { Mutant } from './mutant';

/** Mutants of rows whose words name no declaration by themselves: errors, limits, sentences, states. */
export const explicit: Readonly<Record<string, readonly Mutant[]>> = {};
