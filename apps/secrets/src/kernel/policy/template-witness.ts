import type { PathTemplate } from './types';

/** A segment that no policy writes literally; long enough that no prefix pattern matches it by accident. */
const fresh = '\u0001fresh';

/** How many segments below an open template are looked at. */
const furthest = 64;

/**
 * Whether some concrete path fits both a template and a pattern and passes the test.
 *
 * Of all paths that fit both, the ones made of fresh segments are matched by the fewest other rules, so trying one per
 * possible length decides the question.
 */
export function isTemplateWitnessed(
  template: PathTemplate,
  pattern: string,
  listing: boolean,
  longestPattern: number,
  passes: (path: string) => boolean,
): boolean {
  const path = fitSegments(template, pattern);
  if (path === undefined) return false;
  const { segments, open } = template;
  const shortest = segments.length + (open ? 1 : 0);
  if (!pattern.endsWith('*')) {
    // A rule for a folder without its slash also grants listing the folder.
    if (listing && segments[path.length] === '') path.push('');
    return path.length >= shortest && passes(path.join('/'));
  }
  const longest = open ? Math.max(shortest, Math.min(longestPattern + 1, shortest + furthest)) : shortest;
  while (path.length < shortest) path.push(literalOf(segments[path.length]) ?? fresh);
  for (; path.length <= longest; path.push(fresh)) if (passes(path.join('/'))) return true;
  return false;
}

/** The segments of a pattern as a template wants them; undefined if they do not fit, mostly told by the first ones. */
function fitSegments({ segments, open }: PathTemplate, pattern: string): string[] | undefined {
  const path: string[] = [];
  for (let from = 0; from <= pattern.length; ) {
    if (path.length === segments.length && !open) return undefined;
    const slash = pattern.indexOf('/', from);
    const end = slash < 0 ? pattern.length : slash;
    const segment = fitSegment(segments[path.length], pattern.slice(from, end), slash < 0);
    if (segment === undefined) return undefined;
    path.push(segment);
    from = end + 1;
  }
  return path;
}

/** `wanted` is undefined below an open template. */
function fitSegment(wanted: PathTemplate['segments'][number] | undefined, part: string, last: boolean) {
  const literal = literalOf(wanted);
  if (last && part.endsWith('*')) {
    const prefix = part.slice(0, -1);
    if (literal === undefined) return prefix + fresh;
    return literal.startsWith(prefix) ? literal : undefined;
  }
  if (part === '+') return literal ?? fresh;
  if (literal !== undefined) return literal === part ? part : undefined;
  // What is free is a name, and no name is empty.
  return part === '' && wanted !== undefined ? undefined : part;
}

function literalOf(segment: PathTemplate['segments'][number] | undefined): string | undefined {
  return typeof segment === 'string' ? segment : undefined;
}
