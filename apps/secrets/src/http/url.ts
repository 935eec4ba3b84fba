import { Refusal } from '@keystead/refusal';

/** Longer paths are refused before anything looks at them. */
export const maxPathLength = 4096;

/** Where a request points, below `/v1/`. */
export interface Target {
  /** Decoded, without the leading slash. */
  readonly path: string;
  readonly query: URLSearchParams | undefined;
  /** The query as it was sent; absent where there is none. */
  readonly search?: string;
}

/** The path was not in its simplest form; clients are sent there. */
export class Detour {
  constructor(readonly location: string) {}
}

/**
 * Splits and decodes a request URL below `/v1/`. Doubled slashes and dot segments are answered with a detour, so that
 * policies and mounts only ever see one spelling of a path. Throws `malformed` for control characters and broken escapes.
 */
export function readTarget(url: string): Target | Detour {
  const mark = url.indexOf('?');
  const rawPath = mark < 0 ? url.slice(4) : url.slice(4, mark);
  if (rawPath.length > maxPathLength) throw new Refusal('malformed', `path is longer than ${maxPathLength} characters`);
  const path = rawPath.includes('%') ? decode(rawPath) : rawPath;
  if (hasControlCharacter(path)) throw new Refusal('malformed', '');
  if (needsCleaning(path)) {
    return new Detour(`/v1/${clean(path).map(encodeURIComponent).join('/')}${mark < 0 ? '' : url.slice(mark)}`);
  }
  if (mark < 0 || mark === url.length - 1) return { path, query: undefined };
  const search = url.slice(mark + 1);
  return { path, query: new URLSearchParams(search), search };
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new Refusal('malformed', 'path holds an invalid escape');
  }
}

function hasControlCharacter(path: string): boolean {
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (code < 32 || code === 127) return true;
  }
  return false;
}

function needsCleaning(path: string): boolean {
  return (
    path.includes('//') ||
    path.startsWith('/') ||
    path.startsWith('./') ||
    path.startsWith('../') ||
    path.includes('/./') ||
    path.includes('/../') ||
    path.endsWith('/.') ||
    path.endsWith('/..')
  );
}

function clean(path: string): string[] {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  if (path.endsWith('/')) segments.push('');
  return segments;
}
