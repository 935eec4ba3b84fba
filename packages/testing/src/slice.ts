import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../../..');
const SHARES = 20;
/** Changes select at most one item in this number. */
const MOST = 12;
const DAY_SECONDS = 86_400;

/** The inputs that select the slice of a walk. */
export interface Slicing {
  /** The text of sources in folders with changes. */
  readonly changed: readonly string[];
  /** The day, which selects the share of all other items. */
  readonly day: number;
}

/**
 * The slice of a walk to run: items that are declared in folders with changes, found by the text that declares them,
 * and a share of the others, which differs each day. If a change touches more than a twelfth of the items, only a
 * twelfth runs, which also differs each day: otherwise a renamed type would run the whole walk. Without KEYSTEAD_SLICE,
 * everything runs. Only for walks whose items are independent.
 */
export function slice<T>(
  items: readonly T[],
  declaration: (item: T) => string,
  slicing: Slicing | undefined = current(),
): T[] {
  if (slicing === undefined) return [...items];
  const { changed, day } = slicing;
  const found = new Map<string, boolean>();
  const isChanged = (text: string): boolean => {
    const answer = found.get(text) ?? changed.some((source) => source.includes(text));
    found.set(text, answer);
    return answer;
  };
  const share = Math.min(SHARES, items.length);
  const touched = items.filter((item) => isChanged(declaration(item)));
  const every = Math.max(1, Math.ceil((touched.length * MOST) / items.length));
  const chosen = new Set(touched.filter((_item, at) => at % every === day % every));
  return items.filter((item, at) => at % share === day % share || chosen.has(item));
}

let cached: Slicing | undefined;

function current(): Slicing | undefined {
  if (!process.env.KEYSTEAD_SLICE) return undefined;
  cached ??= slicingOf(root, process.env.KEYSTEAD_CHANGED_SINCE);
  return cached;
}

/**
 * For a repository: sources whose code (not only comments) changed since a given commit, or since the branch left the
 * main branch; on the main branch, since six hours before the last commit. Without history, for example in a shallow
 * clone, nothing has changed.
 */
export function slicingOf(folder: string, since?: string): Slicing {
  const git = (...args: string[]): string => {
    try {
      return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return '';
    }
  };
  const seconds = Number(git('show', '--no-patch', '--format=%ct', 'HEAD'));
  const branchBase = git('merge-base', 'HEAD', 'origin/main');
  const before = () => git('rev-list', '--max-count=1', `--before=${seconds - 6 * 3600}`, 'HEAD');
  const base = since || (branchBase !== '' && branchBase !== git('rev-parse', 'HEAD') ? branchBase : before());
  const files = base === '' ? [] : git('diff', '--name-only', base).split('\n');
  const sources = files.filter((file) => /\/src\/.*(?<!\.test)\.ts$/.test(file));
  const earlier = sources.length === 0 ? [] : textsAt(folder, base, sources);
  const differs = (file: string, at: number) => codeOf(earlier[at]!) !== codeOf(sourceAt(path.join(folder, file)));
  const folders = new Set(sources.filter(differs).flatMap(foldersAround));
  return {
    changed: [...folders].flatMap((name) => sourcesIn(path.join(folder, name))),
    day: Math.floor(seconds / DAY_SECONDS),
  };
}

/** The contents of files in a commit; '' for one that was not there. */
function textsAt(folder: string, commit: string, files: readonly string[]): string[] {
  const input = files.map((file) => `${commit}:${file}\n`).join('');
  const answer = execFileSync('git', ['cat-file', '--batch=%(objectsize)'], { cwd: folder, input, maxBuffer: 2 ** 28 });
  let at = 0;
  return files.map(() => {
    const start = answer.indexOf('\n', at) + 1;
    const size = Number(answer.toString('utf8', at, start - 1));
    at = Number.isNaN(size) ? start : start + size + 1;
    return Number.isNaN(size) ? '' : answer.toString('utf8', start, start + size);
  });
}

/** Code without comments and without its own line breaks and spaces. */
function codeOf(text: string): string {
  // Takes a fifth of a second to load, and is needed only if a walk is limited to changes.
  const ts = require('typescript') as typeof import('typescript');
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.ESNext, false, ts.ScriptKind.TS);
  return ts.createPrinter({ removeComments: true }).printFile(source);
}

/** The folder of a source and its parents below `src`; for files directly in `src`, every folder. */
function foldersAround(file: string): string[] {
  const folder = path.dirname(file);
  return path.basename(folder) === 'src' ? [] : [folder, ...foldersAround(folder)];
}

function sourcesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    return names.map((name) => sourceAt(path.join(folder, name)));
  } catch {
    // The whole folder was deleted.
    return [];
  }
}

function sourceAt(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Deleted.
    return '';
  }
}
