import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const KB = 1024;
// The first load contains scripts, styles, the typeface and the logo.
const budgets = { first: 180 * KB, css: 10 * KB, route: 40 * KB, popups: 48 * KB, editor: 120 * KB };
const built = path.resolve(__dirname, '../dist/ui');

interface Chunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

/** A typeface is sent without further compression: its format is compressed. */
const packed = (file: string): number => statSync(path.join(built, file.endsWith('.woff2') ? file : `${file}.br`)).size;

// Both `npm test` and a run of only this file build the console first.
describe('the compressed size of the console', () => {
  const manifest = () => JSON.parse(readFileSync(path.join(built, 'manifest.json'), 'utf8')) as Record<string, Chunk>;

  /** A chunk and all chunks that it imports. */
  function closure(chunks: Record<string, Chunk>, name: string, seen = new Set<string>()): Set<string> {
    if (seen.has(name)) return seen;
    seen.add(name);
    for (const next of chunks[name]!.imports ?? []) closure(chunks, next, seen);
    return seen;
  }
  const sum = (chunks: Record<string, Chunk>, names: Iterable<string>) =>
    [...names].reduce((total, name) => total + packed(chunks[name]!.file), 0);

  it.each(['secrets', 'workspaces'])(
    'stays within the budgets for the first load of %s, and for every later page',
    (entry) => {
      const chunks = manifest();
      const first = closure(chunks, `${entry}.html`);
      const named = (what: 'css' | 'assets') => [...new Set([...first].flatMap((name) => chunks[name]![what] ?? []))];
      const total = (files: readonly string[]) => files.reduce((sofar, file) => sofar + packed(file), 0);
      const css = total(named('css'));
      expect(named('assets')).toContainEqual(expect.stringMatching(/woff2$/));
      expect(css).toBeLessThanOrEqual(budgets.css);
      expect(sum(chunks, first) + css + total(named('assets'))).toBeLessThanOrEqual(budgets.first);
      // Menus, tips and pickers share the code that places popups, so it is loaded once.
      const popups = [...closure(chunks, 'src/design/menu-parts.tsx')].filter((name) => !first.has(name));
      expect(sum(chunks, popups)).toBeLessThanOrEqual(budgets.popups);
      const here = new Set([...first, ...popups]);
      const later = [...first].flatMap((name) => chunks[name]!.dynamicImports ?? []);
      const sizes = later.map((name) => ({
        name,
        size: sum(
          chunks,
          [...closure(chunks, name)].filter((one) => !here.has(one)),
        ),
      }));
      const over = sizes.filter(
        ({ name, size }) => size > (/codemirror|editor/.test(name) ? budgets.editor : budgets.route),
      );
      expect(over).toEqual([]);
    },
  );
});
