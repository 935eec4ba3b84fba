import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';

const files = execFileSync('git', ['ls-files', 'apps', 'packages'], { cwd: __dirname, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => /\.tsx?$/.test(file) && !file.includes('/generated/') && existsSync(join(__dirname, file)));
const sources = new Map(files.map((file) => [file, readFileSync(join(__dirname, file), 'utf8')]));

const literals = /`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/gs;
const wordsIn = (text: string): string[] => (text.match(literals) ?? []).join(' ').match(/\w+/g) ?? [];

/** Words in the files of each folder: statements may be in a file next to the one that runs them. */
const words = new Map<string, Set<string>>();
for (const [file, source] of sources) {
  const folder = dirname(file);
  const known = words.get(folder) ?? new Set();
  for (const word of wordsIn(source)) known.add(word);
  words.set(folder, known);
}

const asking = '\\b(?:query|\\$queryRaw|\\$queryRawUnsafe|rows|readOne)<\\[?';
const typed = new RegExp(`${asking}\\{([^{}]*)\\}`, 'g');
const named = /\binterface (\w+)(?: extends [^{]*)? \{([^{}]*)\}/g;

/** The columns in handwritten types of rows, at the query itself or in an interface next to it. */
function columnsOf(source: string): string[] {
  const types = [...source.matchAll(typed)].map(([, members]) => members);
  const interfaces = [...source.matchAll(named)]
    .filter(([, name]) => new RegExp(`${asking}${name}\\b`).test(source))
    .map(([, , members]) => members);
  return [...types, ...interfaces].flatMap((members = '') =>
    [...members.matchAll(/(?:^|[;,\n])\s*(?:readonly )?(\w+)\??:/g)].map(([, name]) => name!),
  );
}

// Renaming a property changes the type and the code that reads it, but not the statement: then every value is
// undefined.
it('every name in the type of a row occurs in a statement next to it', () => {
  const all = [...sources].flatMap(([file, source]) => columnsOf(source).map((name) => [file, name] as const));
  expect(all.length).toBeGreaterThan(150);
  expect(all.filter(([file, name]) => !words.get(dirname(file))?.has(name)).map((one) => one.join(': '))).toEqual([]);
  expect(columnsOf("await db.query<{ last: Buffer | null; scanned: number }>('SELECT 1')")).toEqual([
    'last',
    'scanned',
  ]);
});
