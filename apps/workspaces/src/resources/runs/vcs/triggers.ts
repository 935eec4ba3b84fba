import { RE2JS } from 're2js';

/** What of a workspace decides which changes concern it. */
export interface Triggers {
  readonly fileTriggersEnabled: boolean;
  readonly triggerPrefixes: readonly string[];
  readonly triggerPatterns: readonly string[];
  readonly workingDirectory: string | null;
}

/** `/modules/net/` and `modules/net` are the same folder. */
const folder = (path: string): string => path.replace(/^(?:\.?\/+)+/, '').replace(/(?<!\/)\/+$/, '');

const isBelow = (file: string, prefix: string): boolean =>
  prefix === '' || prefix === '.' || file === prefix || file.startsWith(`${prefix}/`);

/** A pattern as an expression without backtracking: `*` and `?` stay within a folder, `**` goes through all. */
function expressionOf(pattern: string): RE2JS {
  const text = folder(pattern).replace(/\*\*\/|\*\*|\*|\?|[^*?]+/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : RE2JS.quote(part);
  });
  return RE2JS.compile(`(?s)${text}`);
}

/**
 * Whether changed files concern a workspace. Undefined (not all files are known) always does. Prefixes add to
 * the working directory; patterns replace it.
 */
export function concerns(triggers: Triggers, files: readonly string[] | undefined): boolean {
  const { fileTriggersEnabled, triggerPrefixes, triggerPatterns, workingDirectory } = triggers;
  if (!fileTriggersEnabled || files === undefined) return true;
  if (triggerPatterns.length > 0) {
    const expressions = triggerPatterns.map(expressionOf);
    return files.some((file) => expressions.some((one) => one.matches(file)));
  }
  const own = folder(workingDirectory ?? '');
  if (own === '' && triggerPrefixes.length === 0) return true;
  // Prefixes without a working directory: the root is one only if nothing else is named.
  const prefixes = [...triggerPrefixes.map(folder), ...(own === '' ? [] : [own])];
  return files.some((file) => prefixes.some((prefix) => isBelow(file, prefix)));
}

/** Whether a tag is one that a workspace waits for: the expression is found in it. */
export function isTagOf(expression: string, tag: string): boolean {
  return RE2JS.compile(expression).matcher(tag).find();
}
