const slash = 47;
const dot = 46;

/** Anything but letters, marks, digits, punctuation, symbols and the plain space. */
const unseen = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/**
 * Why a string is not a path: it has invisible characters, dot segments or doubled slashes. It scans the string only
 * once, because nearly every path is simple ASCII.
 */
export function pathProblem(text: string): 'unseen' | 'detour' | undefined {
  let simple = true;
  let plain = true;
  // The slash before the first segment was cut off.
  let before = slash;
  let segmentAt = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === slash) {
      if (before === slash || (before === dot && isDots(text, segmentAt, i))) simple = false;
      segmentAt = i + 1;
    } else if (code < 32 || code === 127) return 'unseen';
    else if (code > 127) plain = false;
    before = code;
  }
  if (!plain && unseen.test(text)) return 'unseen';
  return simple && !(before === dot && isDots(text, segmentAt, text.length)) ? undefined : 'detour';
}

/** The segments of a path without its dot segments and doubled slashes; the last one is empty if it ends in a slash. */
export function simplify(path: string): string[] {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  if (path.endsWith('/')) segments.push('');
  return segments;
}

function isDots(text: string, from: number, to: number): boolean {
  const length = to - from;
  return length === 1 || (length === 2 && text.charCodeAt(from) === dot);
}

/** A string without its trailing slashes, in linear time. */
export const withoutEndSlashes = (text: string): string => text.replace(/(?<!\/)\/+$/, '');

/** A path without outer slashes, in linear time. */
export const withoutOuterSlashes = (path: string): string => path.replace(/^\/+|(?<!\/)\/+$/g, '');
