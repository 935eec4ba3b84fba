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
  if (cannotFit(template, pattern)) return false;
  const parts = pattern.split('/');
  const open = parts[parts.length - 1]!.endsWith('*');
  const shortest = template.segments.length + (template.open ? 1 : 0);
  const longest = template.open ? Math.max(shortest, Math.min(longestPattern + 1, shortest + furthest)) : shortest;
  for (let length = shortest; length <= longest; length += 1) {
    if (open ? length < parts.length : length !== parts.length) {
      // A rule for a folder without its slash also grants listing the folder.
      if (!(listing && !open && length === parts.length + 1 && template.segments[length - 1] === '')) continue;
    }
    const path = instantiate(template, parts, open, length);
    if (path !== undefined && passes(path)) return true;
  }
  return false;
}

/** Told by the segments of both that stand in front, without taking the pattern apart: most patterns lead elsewhere. */
function cannotFit({ segments }: PathTemplate, pattern: string): boolean {
  let from = 0;
  for (const segment of segments) {
    const slash = pattern.indexOf('/', from);
    // The last segment may be a prefix.
    if (slash < 0) return false;
    const plus = slash === from + 1 && pattern.charCodeAt(from) === 43;
    if (!plus && typeof segment === 'string') {
      if (slash - from !== segment.length || !pattern.startsWith(segment, from)) return true;
    }
    from = slash + 1;
  }
  return false;
}

function instantiate(
  template: PathTemplate,
  parts: readonly string[],
  open: boolean,
  length: number,
): string | undefined {
  const segments: string[] = [];
  for (let i = 0; i < length; i += 1) {
    const wanted = template.segments[i];
    const last = i === parts.length - 1;
    const part = open && i >= parts.length - 1 ? undefined : parts[i];
    const segment = typeof wanted === 'string' ? wanted : undefined;
    if (open && last) {
      const prefix = parts[i]!.slice(0, -1);
      if (segment === undefined) segments.push(prefix + fresh);
      else if (segment.startsWith(prefix)) segments.push(segment);
      else return undefined;
    } else if (part === undefined || part === '+') segments.push(segment ?? fresh);
    else if (segment === undefined ? part !== '' || i >= template.segments.length : segment === part)
      segments.push(part);
    else return undefined;
  }
  return segments.join('/');
}
