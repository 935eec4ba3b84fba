import type { Mutant } from './mutant';

// How mutants of the engines are declared.

/** Mutants by the row that must notice them. */
export type Planted = Readonly<Record<string, readonly Mutant[]>>;

/** Expressions of a source file of the engines, with their replacements. */
export const texts =
  (file: string) =>
  (...pairs: readonly (readonly [part: string, how: string])[]): Mutant[] =>
    pairs.map(([part, how]) => ({ of: `apps/secrets/src/backends/${file}.ts`, part, how }));

/** Conditions of a source file that become false. */
export const never =
  (file: string) =>
  (...parts: readonly string[]): Mutant[] =>
    texts(file)(...parts.map((part) => [part, 'false'] as const));

/** Operations that are removed. */
export const gone = (...of: readonly string[]): Mutant[] => of.map((one) => ({ of: one, part: '', how: 'missing' }));

/** Fields that an operation does not read. */
export const ignored = (of: string, ...parts: readonly string[]): Mutant[] =>
  parts.map((part) => ({ of: `input of ${of}`, part, how: 'ignored' }));
