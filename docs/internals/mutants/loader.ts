import { readFileSync } from 'node:fs';
import Module from 'node:module';
import path from 'node:path';
import { transformSync } from '@swc/core';
import { type Mutant, nameOf } from './mutant';

/** Changes the exports of a module when it is loaded. */
export type Wrapper = (exports: Record<string, unknown>) => Record<string, unknown>;

interface Loadable extends NodeModule {
  _compile(code: string, file: string): void;
}
type Resolve = (request: string, ...rest: unknown[]) => string;

const root = path.resolve(__dirname, '../../..');
const loading: string[] = [];

/** The file that is being loaded, relative to the repository: current declarations are in it. */
export const declaredIn = (): string => loading.at(-1) ?? '';

/**
 * Installs a loader that compiles sources like Jest, includes every textual mutant of `mutants` next to the expression
 * it replaces, and wraps the exports of some files.
 */
export function loadMutated(
  mutants: readonly Mutant[],
  wrappers: Readonly<Record<string, Wrapper>>,
  replaced: Readonly<Record<string, string>>,
): void {
  const texts = groupBy(mutants, ({ of }) => of);
  const modules = Module as unknown as {
    _extensions: Record<string, (module: Loadable, file: string) => void>;
    _resolveFilename: Resolve;
  };
  const resolve = modules._resolveFilename;
  modules._resolveFilename = function (this: unknown, request, ...rest) {
    return replaced[request] ?? resolve.call(this, request, ...rest);
  };
  // Test files are loaded many times.
  const compiled = new Map<string, string>();
  const compile = (file: string, name: string): string => {
    const source = withMutants(name, readFileSync(file, 'utf8'), texts.get(name) ?? []);
    const code = compiledFrom(file, source);
    compiled.set(file, code);
    return code;
  };
  modules._extensions['.ts'] = (module, file) => {
    const name = path.relative(root, file);
    const code = compiled.get(file) ?? compile(file, name);
    loading.push(name);
    try {
      module._compile(code, file);
    } finally {
      loading.pop();
    }
    const wrapper = wrappers[name];
    if (wrapper) module.exports = wrapper({ ...module.exports });
  };
}

/** Compiles a source to JavaScript. Throws if it is invalid. */
export function compiledFrom(file: string, source: string): string {
  return transformSync(source, {
    filename: file,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  }).code;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** A source in which each expression with mutants checks which one is active. */
export function withMutants(file: string, source: string, mutants: readonly Mutant[]): string {
  let text = source;
  for (const [part, variants] of groupBy(mutants, (mutant) => mutant.part)) {
    if (source.split(part).length !== 2) {
      throw new Error(`${file} has to hold "${part}" exactly once, for a mutant to take its place`);
    }
    const all = new Map(variants.map((mutant) => [nameOf(mutant), mutant]));
    const choice = [...all].reduce(
      (rest, [name, { how }]) => `(globalThis as any).playsMutant(${JSON.stringify(name)}) ? (${how}) : ${rest}`,
      `(${part})`,
    );
    text = text.replace(part, () => `(${choice})`);
  }
  return text;
}
