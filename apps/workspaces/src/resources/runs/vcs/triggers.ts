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
  // Repeated, `**/` means the same, and costs much.
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

/** The most steps of a comparison, a few seconds: with more, changes are not looked at, and concern the workspace. */
const mostSteps = 200_000_000;
/** For so long others wait for their turn. */
const longestTurnMs = 10;

/** The most steps for a character of a path: from the first wildcard on, every part of a pattern may begin anywhere. */
const stepsOf = (pattern: string): number => 1 + pattern.length - pattern.search(/[*?]|$/);

async function matchesSome(patterns: readonly string[], files: readonly string[]): Promise<boolean> {
  let sinceMs = performance.now();
  for (const pattern of patterns) {
    const expression = expressionOf(pattern);
    for (const file of files) {
      if (expression.matches(file)) return true;
      if (performance.now() - sinceMs < longestTurnMs) continue;
      await breathe();
      sinceMs = performance.now();
    }
  }
  return false;
}

/**
 * Whether changed files concern a workspace. Undefined (not all files are known) always does. Prefixes and files of
 * variables add to the working directory; patterns replace all of them.
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
  // Prefixes without a working directory: the root counts only if nothing else is named.
  // Other files of variables are below the working directory.
  const roots = varFiles.filter((file) => file.startsWith('/'));
  const prefixes = [...[...triggerPrefixes, ...roots].map(folder), ...(own === '' ? [] : [own])];
  return files.some((file) => prefixes.some((prefix) => isBelow(file, prefix)));
}

/** Whether a workspace waits for a tag: its expression matches a part of it. */
export function isTagOf(expression: string, tag: string): boolean {
  return RE2JS.compile(expression).matcher(tag).find();
}
