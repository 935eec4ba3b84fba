import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { valueNames } from './architecture/sources';

const root = join(__dirname, '../..');
const decisions = 'docs/internals/decisions';
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const pages = files.filter((file) => file.startsWith(`${decisions}/`) || file === 'docs/internals/architecture.md');
const code = files.filter(
  (file) =>
    /\.(tsx?|[cm]?js|prisma|sql|sh|ya?ml)$|(^|\/)(package\.json|run|Dockerfile|\.env\.example)$/.test(file) &&
    !file.startsWith('prisma/released/') &&
    file !== 'docs/internals/names.test.ts',
);

/** Names of other systems and programs that pages mention, and that do not occur in our sources. */
const foreign = new Set(
  `SCHED_NONE SO_REUSEPORT GetCallerIdentity AWS_ GOOGLE_ AZURE_ ARM_ VAULT_ BAO_ stream-json HttpOnly
  NODE_COMPILE_CACHE target_session_attrs network.aws_subnet.this["a"]`.split(/\s+/),
);

/** Files and folders by every suffix of their path, with and without the extension of a source. */
const places = new Set(
  files.flatMap((file) => {
    const whole = [file, file.replace(/\.\w+$/, '')];
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) whole.push(folder);
    return whole.flatMap((path) => {
      const parts = path.split('/');
      return parts.map((_, index) => parts.slice(index).join('/'));
    });
  }),
);
const folders = new Set([
  'apps',
  'packages',
  'docs',
  'bench',
  'local',
  'prisma',
  'kernel',
  'sdk',
  'worker',
  'pipeline',
]);

const text = code.map((file) => read(file).replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')).join('\n');
const words = new Set([...(text.match(/[\w$]+(?:-[\w$]+)*/g) ?? [])].flatMap((word) => [word, ...word.split('-')]));
const declared = new Set([
  ...[...text.matchAll(/\b(?:class|interface|type|const|let|function|enum|model)\s+(\w+)/g)].map(([, name]) => name!),
  ...[...text.matchAll(/\bimport\b[^;{]*\{([^}]*)\}/g)].flatMap(([, names]) => names!.match(/\w+/g) ?? []),
  ...Object.getOwnPropertyNames(globalThis),
]);

/** The text in backticks, outside of code blocks. */
const namesIn = (page: string) => [
  ...new Set([...page.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, name]) => name!)),
];

/** Settings that both services have are declared without the prefix of each. */
const known = (word: string) => words.has(word) || words.has(word.replace(/^WORKSPACES_/, 'SECRETS_'));

/** Whether a name on a page exists: as a file, a folder, a declaration, or a word in the sources. */
function isThere(name: string): boolean {
  if (foreign.has(name) || places.has(name.replace(/\/$/, ''))) return true;
  const isSource = /^[\w./*-]+\.(tsx?|[cm]js|json|md)$/.test(name);
  if (isSource || (folders.has(name.split('/')[0]!) && /^[\w./*<>-]+\/[\w./*<>-]+$/.test(name))) {
    const pattern = name.replace(/[.]/g, '\\.').replace(/\*\*?|<\w+>/g, '[^/]+');
    return files.some((file) => new RegExp(`(^|/)${pattern}($|/)`).test(file));
  }
  if (/^[A-Z][a-z]\w*$/.test(name)) return declared.has(name);
  return (name.match(/[A-Za-z_$][\w$]*(?:-[\w$]+)*…?/g) ?? []).every((word) => {
    const isName = /[a-z][A-Z]|_/.test(word) || /^\w+\($/.test(word) || (/-/.test(word) && name === word);
    if (!isName || known(word)) return true;
    return word.endsWith('…') && [...words].some((one) => one.startsWith(word.slice(0, -1)));
  });
}

describe('the pages for builders', () => {
  it('name files, folders and names that exist', () => {
    const missing = pages.flatMap((page) =>
      namesIn(read(page))
        .filter((name) => !isThere(name))
        .map((name) => `${basename(page)}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('report names that no longer exist', () => {
    for (const gone of ['kernel/together.ts', 'kernel/waves', 'Together', 'keptForAWhile', 'SECRETS_NO_SUCH_SETTING']) {
      expect([gone, isThere(gone)]).toEqual([gone, false]);
    }
    for (const here of ['kernel/storage', 'architecture.test.ts', 'Refusal', 'withKeptSecrets', 'SECRETS_PUBLIC_URL']) {
      expect([here, isThere(here)]).toEqual([here, true]);
    }
  });
});

/** Names that say when a value came about, or the mood of an event, but not what it is. */
const vague = (
  'asked began begun brought deed given got held kept known lacking made meant ' +
  'over passing said standing taken told wanted wanting wish'
).split(' ');

/** The few values that have such a name rightly: conditions, whose properties or columns are called so. */
const right = [
  'apps/console/src/secrets/engines/pki/intermediate-ca.tsx: known',
  'apps/secrets/src/backends/jwt/callback.ts: taken',
  'apps/secrets/src/kernel/identity/logins.ts: wanted',
];

/** The vague names of variables and parameters in a source. */
const vagueIn = (file: string, source: string): string[] => {
  if (!new RegExp(`\\b(?:${vague.join('|')})\\b`).test(source)) return [];
  return [...new Set(valueNames(file, source))]
    .filter((name) => vague.includes(name))
    .map((name) => `${file}: ${name}`);
};

describe('variables and parameters', () => {
  const sources = code.filter(
    (file) =>
      /\.(tsx?|[cm]?js)$/.test(file) &&
      /^(apps|packages|local|bench|prisma)\//.test(file) &&
      !/\.test\.|\/test\/|\/generated\/|^packages\/testing\//.test(file),
  );

  it('are nouns: name what it holds', () => {
    expect(sources.length).toBeGreaterThan(1800);
    expect(sources.flatMap((file) => vagueIn(file, read(file))).sort()).toEqual(right);
  });

  it.each([
    'const given = 1;',
    'let [first, ...taken] = list;',
    'const { a: { asked = 1 } } = b;',
    'const { known } = account;',
    'for (const told of list) read(told);',
    'const f = (kept) => kept;',
    'const f = ({ wanted }) => wanted;',
    'function f(...made: string[]) {}',
    'class A { constructor(private readonly held: string) {} }',
    'class A { f(over = 1) {} }',
    'interface A { f(said: string): void }',
    'type A = (meant: string) => void;',
    'try { f(); } catch (standing) {}',
  ])('%s is noticed', (source) => expect(vagueIn('a.ts', source)).toHaveLength(1));

  it.each([
    "const word = 'given';",
    'f({ taken: 1 });',
    'const { asked: question } = a;',
    'a.kept = 1;',
    'f<made>(1);',
  ])('%s declares none of them', (source) => expect(vagueIn('a.ts', source)).toEqual([]));
});

describe('the decisions', () => {
  const names = readdirSync(join(root, decisions)).filter((name) => name !== 'README.md');
  const numbers = names.map((name) => name.slice(0, 4));

  it('have unique numbers, also counting the pages that they replace', () => {
    const replaced = names.flatMap(
      (name) => /^Replaces (.*)\.$/m.exec(read(`${decisions}/${name}`))?.[1]?.split(', ') ?? [],
    );
    const all = [...numbers, ...replaced];
    expect(all.filter((number, index) => all.indexOf(number) !== index)).toEqual([]);
  });

  it('are named after their titles', () => {
    const slug = (title: string) =>
      title
        .toLowerCase()
        .replaceAll("'s", 's')
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-|-$/g, '');
    const wrong = names.filter((name) => {
      const title = /^# (\d{4}) · (.*)$/m.exec(read(`${decisions}/${name}`));
      return name !== `${title?.[1]}-${slug(title?.[2] ?? '')}.md`;
    });
    expect(wrong).toEqual([]);
  });

  it('exist if a source or a page cites them', () => {
    const citing = files.filter(
      (file) => /\.(tsx?|[cm]?js|prisma|sql|sh|ya?ml|md)$/.test(file) && !/^(CHANGELOG|prisma\/released)/.test(file),
    );
    const wrong = citing.flatMap((file) =>
      [...read(file).matchAll(/\b[Dd]ecisions? (\d{4})\b/g)]
        .filter(([, number]) => !numbers.includes(number!))
        .map(([cited]) => `${file}: ${cited}`),
    );
    expect(wrong).toEqual([]);
  });
});
