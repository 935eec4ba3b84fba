import type { PathTemplate } from './types';

/** A segment that no policy writes literally; long enough that no prefix pattern matches it by accident. */
const fresh = '\u0001fresh';

/** The number of segments below an open template that are tried. */
const furthest = 64;

/**
 * Whether some concrete path matches both a template and a pattern and is accepted. Paths with fresh segments match the
 * fewest other rules, so it is sufficient to try one such path for each possible length.
 */
export function isTemplateWitnessed(
  template: PathTemplate,
  pattern: string,
  listing: boolean,
  longestPattern: number,
  accepts: (path: string) => boolean,
): boolean {
  const path = fitSegments(template, pattern);
  if (path === undefined) return false;
  const { segments, open } = template;
  const shortest = segments.length + (open ? 1 : 0);
  if (!pattern.endsWith('*')) {
    // A rule for a folder without its slash also allows listing the folder.
    if (listing && segments[path.length] === '') path.push('');
    return path.length >= shortest && accepts(path.join('/'));
  }
  const longest = open ? Math.max(shortest, Math.min(longestPattern + 1, shortest + furthest)) : shortest;
  while (path.length < shortest) path.push(literalOf(segments[path.length]) ?? fresh);
  for (; path.length <= longest; path.push(fresh)) if (accepts(path.join('/'))) return true;
  return false;
}

/**
 * The segments of a pattern, fitted to a template; undefined if they do not fit. Usually one of the first segments
 * already does not fit.
 */
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

/**
 * A segment that fits both the template and the pattern; undefined if there is none. `templateSegment` is undefined
 * below an open template.
 */
function fitSegment(templateSegment: PathTemplate['segments'][number] | undefined, part: string, last: boolean) {
  const literal = literalOf(templateSegment);
  if (last && part.endsWith('*')) {
    const prefix = part.slice(0, -1);
    if (literal === undefined) return prefix + fresh;
    return literal.startsWith(prefix) ? literal : undefined;
  }
  if (part === '+') return literal ?? fresh;
  if (literal !== undefined) return literal === part ? part : undefined;
  // A free segment is a name, and names are not empty.
  return part === '' && templateSegment !== undefined ? undefined : part;
}

function literalOf(segment: PathTemplate['segments'][number] | undefined): string | undefined {
  return typeof segment === 'string' ? segment : undefined;
}
