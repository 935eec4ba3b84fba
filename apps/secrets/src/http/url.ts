import { Refusal } from '@keystead/refusal';
import { maxPathLength, SentPath } from '../kernel/routing/sent-path';

/** Where a request points, below `/v1/`. */
export interface Target {
  readonly path: SentPath;
  readonly query: URLSearchParams | undefined;
  /** The query as it was sent; absent if there is none. */
  readonly search?: string;
}

/** The path was not in its simplest form; clients are sent there. */
export class Detour {
  constructor(readonly location: string) {}
}

/**
 * Splits and decodes a request URL below `/v1/`. Doubled slashes and dot segments are answered with a detour, where `readBase64`
 * does not know better. Throws `malformed` for characters that a path may not have, broken escapes, and what is too long.
 */
export function readTarget(url: string, readBase64: (text: string) => SentPath | undefined): Target | Detour {
  const mark = url.indexOf('?');
  const rawPath = mark < 0 ? url.slice(4) : url.slice(4, mark);
  // Decoding never makes it longer, and is not begun for what is too long already.
  if (rawPath.length > maxPathLength) throw new Refusal('malformed', `path is longer than ${maxPathLength} characters`);
  const text = rawPath.includes('%') ? decode(rawPath) : rawPath;
  const read = SentPath.read(text);
  const path = read instanceof SentPath ? read : readBase64(text);
  if (!path) {
    const { detour } = read as Exclude<typeof read, SentPath>;
    return new Detour(`/v1/${detour.map(encodeURIComponent).join('/')}${mark < 0 ? '' : url.slice(mark)}`);
  }
  if (mark < 0 || mark === url.length - 1) return { path, query: undefined };
  const search = url.slice(mark + 1);
  return { path, query: new URLSearchParams(search), search };
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new Refusal('malformed', 'path contains an invalid escape');
  }
}
