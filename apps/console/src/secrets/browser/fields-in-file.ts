import { parseExact } from '@keystead/envelope';
import type { Fields } from './values';

/** Parses a JSON object; undefined for other text. */
export function objectOf(text: string): Fields | undefined {
  try {
    const value: unknown = parseExact(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** The fields of a file: a JSON object, or lines of `NAME=value` with comments. Undefined for any other text. */
export function fieldsIn(text: string): Fields | undefined {
  const object = objectOf(text);
  if (object !== undefined) return object;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const pairs = lines.map((line) => /^(?:export\s+)?([^=\s]+)\s*=(.*)$/.exec(line));
  if (pairs.length === 0 || pairs.includes(null)) return undefined;
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, withoutQuotes(pair![2]!.trim())]));
}

const withoutQuotes = (value: string): string => /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
