import { maxDepth, syntaxError, type Tree, type TreeItem } from './policy-tree';
import { isHexDigit, TextCursor } from './text-cursor';

/**
 * Parses JSON policy text. Throws `PolicySyntaxError` with line and column. `JSON.parse` gives no positions and rounds
 * long numbers.
 */
export function parseJsonTree(text: string): Tree {
  const cursor = new TextCursor(text);
  skipBlanks(cursor);
  const tree = parseValue(cursor, 0);
  skipBlanks(cursor);
  if (cursor.peek() !== '') throw unexpected(cursor, 'after the end of the document');
  return tree;
}

function skipBlanks(cursor: TextCursor): void {
  cursor.takeWhile((c) => c === ' ' || c === '\t' || c === '\n' || c === '\r');
}

function unexpected(cursor: TextCursor, where: string) {
  const character = cursor.peek();
  return syntaxError(
    cursor.at,
    character === '' ? `unexpected end of JSON input ${where}` : `invalid character '${character}' ${where}`,
  );
}

function parseValue(cursor: TextCursor, depth: number): Tree {
  const at = cursor.at;
  if (depth > maxDepth) throw syntaxError(at, `nesting deeper than ${maxDepth} levels`);
  const first = cursor.peek();
  if (first === '{') return { kind: 'object', items: parseMembers(cursor, depth), at };
  if (first === '[') return { kind: 'list', values: parseElements(cursor, depth), at };
  if (first === '"') return { kind: 'string', value: parseString(cursor), at };
  if (first === '-' || (first >= '0' && first <= '9')) return { kind: 'number', value: parseNumber(cursor), at };
  const word = cursor.takeWhile((c) => c >= 'a' && c <= 'z');
  if (word === 'true' || word === 'false') return { kind: 'bool', value: word === 'true', at };
  if (word === 'null') return { kind: 'null', at };
  if (word !== '') throw syntaxError(at, `invalid character '${first}' looking for beginning of value`);
  throw unexpected(cursor, 'looking for beginning of value');
}

function parseMembers(cursor: TextCursor, depth: number): TreeItem[] {
  const items: TreeItem[] = [];
  parseSequence(cursor, '}', 'in an object', () => {
    const at = cursor.at;
    if (cursor.peek() !== '"') throw unexpected(cursor, 'looking for beginning of object key string');
    const key = parseString(cursor);
    skipBlanks(cursor);
    if (cursor.peek() !== ':') throw unexpected(cursor, 'after object key');
    cursor.next();
    skipBlanks(cursor);
    items.push({ keys: [key], value: parseValue(cursor, depth + 1), at });
  });
  return items;
}

function parseElements(cursor: TextCursor, depth: number): Tree[] {
  const values: Tree[] = [];
  parseSequence(cursor, ']', 'in a list', () => values.push(parseValue(cursor, depth + 1)));
  return values;
}

function parseSequence(cursor: TextCursor, end: string, where: string, parseOne: () => void): void {
  cursor.next();
  skipBlanks(cursor);
  if (cursor.peek() === end) {
    cursor.next();
    return;
  }
  for (;;) {
    parseOne();
    skipBlanks(cursor);
    const separator = cursor.peek();
    if (separator !== ',' && separator !== end) throw unexpected(cursor, where);
    cursor.next();
    if (separator === end) return;
    skipBlanks(cursor);
  }
}

function parseNumber(cursor: TextCursor): string {
  const at = cursor.at;
  const text = cursor.takeWhile((c) => (c >= '0' && c <= '9') || '+-.eE'.includes(c));
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw syntaxError(at, `invalid number "${text}"`);
  return text;
}

const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '"': '"',
    '\\': '\\',
    '/': '/',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
  }),
);

function parseString(cursor: TextCursor): string {
  const start = cursor.at;
  cursor.next();
  let value = '';
  for (;;) {
    value += cursor.takeWhile((plain) => plain !== '"' && plain !== '\\' && plain >= ' ');
    const at = cursor.at;
    const c = cursor.next();
    if (c === '') throw syntaxError(start, 'literal not terminated');
    if (c === '"') return value;
    if (c < ' ') throw syntaxError(at, 'invalid control character in string literal');
    if (c !== '\\') {
      value += c;
      continue;
    }
    const kind = cursor.next();
    if (kind === 'u') {
      let digits = '';
      while (digits.length < 4 && isHexDigit(cursor.peek())) digits += cursor.next();
      if (digits.length < 4) throw syntaxError(at, 'illegal char escape');
      value += String.fromCharCode(Number.parseInt(digits, 16));
    } else {
      const plain = escapes.get(kind);
      if (plain === undefined) throw syntaxError(at, 'illegal char escape');
      value += plain;
    }
  }
}
