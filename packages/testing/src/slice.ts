import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../../..');
const SHARES = 8;
const DAY_SECONDS = 86_400;

/** What decides which part of a walk is gone over. */
export interface Slicing {
  /** Sources next to which something has changed, as text. */
  readonly changed: readonly string[];
  /** The day whose share of all else comes along. */
  readonly day: number;
}

/**
 * The part of a walk to go over: what is declared in folders where something has changed, found by the text that declares it, and a share
 * of all else, another one every day. Everything, unless KEYSTEAD_SLICE is set. Only for walks whose items need none of the others.
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
  return items.filter((item, at) => at % share === day % share || isChanged(declaration(item)));
}

let known: Slicing | undefined;

function current(): Slicing | undefined {
  if (!process.env.KEYSTEAD_SLICE) return undefined;
  known ??= slicingOf(root, process.env.KEYSTEAD_CHANGED_SINCE);
  return known;
}

/**
 * Of a repository: what differs from a commit, or from where the branch left the main one; on the main branch, from six hours before the
 * last commit. Where its past is not there, as in a shallow clone, nothing has changed.
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
  const left = git('merge-base', 'HEAD', 'origin/main');
  const before = () => git('rev-list', '--max-count=1', `--before=${seconds - 6 * 3600}`, 'HEAD');
  const base = since || (left !== '' && left !== git('rev-parse', 'HEAD') ? left : before());
  const files = base === '' ? [] : git('diff', '--name-only', base).split('\n');
  const sources = files.filter((file) => /\/src\/.*(?<!\.test)\.ts$/.test(file));
  const folders = new Set(sources.flatMap(foldersAround));
  return {
    changed: [...folders].flatMap((name) => sourcesIn(path.join(folder, name))),
    day: Math.floor(seconds / DAY_SECONDS),
  };
}

/** The folder of a source and those it is part of, below `src`: what lies in that itself names everything. */
function foldersAround(file: string): string[] {
  const folder = path.dirname(file);
  return path.basename(folder) === 'src' ? [] : [folder, ...foldersAround(folder)];
}

function sourcesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    return names.map((name) => readFileSync(path.join(folder, name), 'utf8'));
  } catch {
    // Gone, with all that was in it.
    return [];
  }
}
