import { setImmediate as breathe } from 'node:timers/promises';
import { RE2JS } from 're2js';

/** The settings of a workspace that decide which changes concern it. */
export interface Triggers {
  readonly fileTriggersEnabled: boolean;
  readonly triggerPrefixes: readonly string[];
  readonly triggerPatterns: readonly string[];
  readonly workingDirectory: string | null;
  readonly varFiles: readonly string[];
}

/** `/modules/net/` and `modules/net` are the same folder. */
const folder = (path: string): string => path.replace(/^(?:\.?\/+)+/, '').replace(/(?<!\/)\/+$/, '');

const isBelow = (file: string, prefix: string): boolean =>
  prefix === '' || prefix === '.' || file === prefix || file.startsWith(`${prefix}/`);

/** A pattern as a regular expression without backtracking: `*` and `?` stay within a folder, `**` crosses folders. */
function expressionOf(pattern: string): RE2JS {
  // A repeated `**/` has the same meaning as a single one, but is expensive.
  const text = folder(pattern)
    .replace(/(?:\*\*\/)+/g, '**/')
    .replace(/\*\*\/|\*\*|\*|\?|[^*?]+/g, (part) => {
      if (part === '**/') return '(?:.*/)?';
      if (part === '**') return '.*';
      if (part === '*') return '[^/]*';
      return part === '?' ? '[^/]' : RE2JS.quote(part);
    });
  return RE2JS.compile(`(?s)${text}`);
}

/**
 * The maximum number of steps of a comparison, which take a few seconds. A change that would need more steps always
 * concerns the workspace.
 */
const mostSteps = 200_000_000;
const longestTurnMs = 10;

/** Returns a function that lets other requests run if they have waited for a while. */
function turns(): () => Promise<void> {
  let sinceMs = performance.now();
  return async () => {
    if (performance.now() - sinceMs < longestTurnMs) return;
    await breathe();
    sinceMs = performance.now();
  };
}

/**
 * The maximum number of steps per character of a path: after the first wildcard, any part of a pattern may begin
 * anywhere.
 */
const stepsOf = (pattern: string): number => 1 + pattern.length - pattern.search(/[*?]|$/);

async function matchesSome(patterns: readonly string[], files: readonly string[]): Promise<boolean> {
  const turn = turns();
  for (const pattern of patterns) {
    const expression = expressionOf(pattern);
    for (const file of files) {
      if (expression.matches(file)) return true;
      await turn();
    }
  }
  return false;
}

/**
 * Whether changed files affect a workspace. Undefined (not all files are known) means yes. Prefixes and variable files
 * are used in addition to the working directory; patterns replace all of these.
 */
export async function concerns(triggers: Triggers, files: readonly string[] | undefined): Promise<boolean> {
  const { fileTriggersEnabled, triggerPrefixes, triggerPatterns, workingDirectory, varFiles } = triggers;
  if (!fileTriggersEnabled || files === undefined) return true;
  if (triggerPatterns.length > 0) {
    const characters = files.reduce((sum, file) => sum + file.length, 0);
    const steps = triggerPatterns.reduce((sum, pattern) => sum + stepsOf(pattern), 0);
    return characters * steps > mostSteps || matchesSome(triggerPatterns, files);
  }
  const own = folder(workingDirectory ?? '');
  if (own === '' && triggerPrefixes.length === 0) return true;
  // Without a working directory, every file concerns the workspace, but only if there are no prefixes. Variable files
  // that do not begin with a slash are below the working directory.
  const roots = varFiles.filter((file) => file.startsWith('/'));
  const prefixes = [...[...triggerPrefixes, ...roots].map(folder), ...(own === '' ? [] : [own])];
  return files.some((file) => prefixes.some((prefix) => isBelow(file, prefix)));
}

/** The items that pass a test. Other requests run in between. */
async function filtered<T>(items: readonly T[], passes: (item: T) => boolean): Promise<T[]> {
  const turn = turns();
  const found: T[] = [];
  for (const item of items) {
    if (passes(item)) found.push(item);
    await turn();
  }
  return found;
}

/** The tags that workspaces wait for. A workspace's expression must match a part of the tag's name. */
export async function tagsOf<T extends { readonly name: string }>(
  expression: string,
  tags: readonly T[],
): Promise<T[]> {
  const compiled = RE2JS.compile(expression);
  return filtered(tags, ({ name }) => compiled.matcher(name).find());
}

/** The workspaces that wait for a tag. */
export const waitingFor = <T extends { readonly vcsTagsRegex: string | null }>(
  tag: string,
  workspaces: readonly T[],
): Promise<T[]> =>
  filtered(workspaces, ({ vcsTagsRegex: regex }) => regex !== null && RE2JS.compile(regex).matcher(tag).find());
