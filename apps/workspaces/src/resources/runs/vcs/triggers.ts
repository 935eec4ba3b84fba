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
  const text = folder(pattern).replace(/\*\*\/|\*\*|\*|\?|[^*?]+/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : RE2JS.quote(part);
  });
  return RE2JS.compile(`(?s)${text}`);
}

/**
 * Whether changed files concern a workspace. Undefined (not all files are known) means yes. Prefixes and variable files
 * are used in addition to the working directory; patterns replace all of these.
 */
export function concerns(triggers: Triggers, files: readonly string[] | undefined): boolean {
  const { fileTriggersEnabled, triggerPrefixes, triggerPatterns, workingDirectory, varFiles } = triggers;
  if (!fileTriggersEnabled || files === undefined) return true;
  if (triggerPatterns.length > 0) {
    const expressions = triggerPatterns.map(expressionOf);
    return files.some((file) => expressions.some((one) => one.matches(file)));
  }
  const own = folder(workingDirectory ?? '');
  if (own === '' && triggerPrefixes.length === 0) return true;
  // Without a working directory, the root is used only if there are no prefixes. Other variable files are below the
  // working directory.
  const roots = varFiles.filter((file) => file.startsWith('/'));
  const prefixes = [...[...triggerPrefixes, ...roots].map(folder), ...(own === '' ? [] : [own])];
  return files.some((file) => prefixes.some((prefix) => isBelow(file, prefix)));
}

/** Whether a workspace waits for a tag: its expression matches a part of it. */
export function isTagOf(expression: string, tag: string): boolean {
  return RE2JS.compile(expression).matcher(tag).find();
}
