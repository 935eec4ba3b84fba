import type { Fold, Folding } from '../../sdk/canonical-path';

/** A path, or a pattern of paths, with the folded segments in lower case; the same string if nothing changes. */
export function foldSegments(text: string, { fold, from, to }: Folding): string {
  const start = offsetOf(text, from);
  if (start > text.length) return text;
  const end = to === Number.POSITIVE_INFINITY ? text.length : Math.min(text.length, offsetOf(text, to) - 1);
  const part = text.slice(start, end);
  const folded = foldName(part, fold);
  return folded === part ? text : text.slice(0, start) + folded + text.slice(end);
}

/** A name as it is stored. */
export function foldName(name: string, fold: Fold): string {
  return fold === 'case' ? name.toLowerCase() : name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Folding for a path below another one. */
export function below(folding: Folding, prefix: string): Folding {
  let segments = 0;
  for (let i = 0; i < prefix.length; i++) if (prefix.charCodeAt(i) === 47) segments++;
  return { fold: folding.fold, from: folding.from + segments, to: folding.to + segments };
}

/** The position at which a segment begins; past the end if there are fewer segments. */
function offsetOf(text: string, segment: number): number {
  let at = 0;
  for (let i = 0; i < segment; i++) {
    const slash = text.indexOf('/', at);
    if (slash < 0) return text.length + 1;
    at = slash + 1;
  }
  return at;
}
