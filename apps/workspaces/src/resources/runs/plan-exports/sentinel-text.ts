import { ExactNumber } from '@keystead/envelope';

/** The maximum indentation. Deeper values are written without further indentation. */
const deepestIndent = 12;

/** Renders JSON values as Sentinel assignments, one per key. */
export function assignments(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} = ${literal(value, 0)}\n`)
    .join('\n');
}

function literal(value: unknown, depth: number): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object' || value instanceof ExactNumber) return String(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const items = isList
    ? value.map((item) => literal(item, depth + 1))
    : Object.entries(value).map(([key, item]) => `${text(key)}: ${literal(item, depth + 1)}`);
  if (items.length === 0) return `${open}${close}`;
  const indent = '\t'.repeat(Math.min(depth + 1, deepestIndent));
  return `${open}\n${items.map((item) => `${indent}${item},\n`).join('')}${indent.slice(0, depth)}${close}`;
}

/**
 * A string literal. Lone surrogates are replaced, because they are not characters and the language has no escape for
 * them.
 */
const text = (value: string): string => JSON.stringify(value.replace(/\p{Surrogate}/gu, '\uFFFD'));

/** The maximum nesting depth of a JSON document. */
export function nestingOf(json: Uint8Array): number {
  let [depth, deepest, inText, escaped] = [0, 0, false, false];
  for (const byte of json) {
    if (inText) {
      if (escaped) escaped = false;
      else if (byte === 0x5c) escaped = true;
      else if (byte === 0x22) inText = false;
    } else if (byte === 0x22) inText = true;
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return deepest;
}
