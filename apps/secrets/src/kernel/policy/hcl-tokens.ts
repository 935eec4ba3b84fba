import { type Position, syntaxError } from './policy-tree';
import { isDigit, isHexDigit, TextCursor } from './text-cursor';

/** The kinds of tokens; the names appear in error messages. */
export type TokenKind =
  | 'EOF'
  | 'IDENT'
  | 'NUMBER'
  | 'FLOAT'
  | 'BOOL'
  | 'STRING'
  | 'HEREDOC'
  | 'LBRACK'
  | 'RBRACK'
  | 'LBRACE'
  | 'RBRACE'
  | 'COMMA'
  | 'ASSIGN'
  | 'PERIOD'
  | 'ADD'
  | 'SUB'
  | 'ILLEGAL';

/** One token; `text` is the unescaped value of strings, otherwise the source. */
export interface HclToken {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: Position;
}

const punctuation: ReadonlyMap<string, TokenKind> = new Map(
  Object.entries({
    '[': 'LBRACK',
    ']': 'RBRACK',
    '{': 'LBRACE',
    '}': 'RBRACE',
    ',': 'COMMA',
    '=': 'ASSIGN',
    '.': 'PERIOD',
    '+': 'ADD',
    '-': 'SUB',
  }),
);

/** Splits HCL policy text into tokens; the last one is EOF. Throws `PolicySyntaxError`. */
export function tokenize(text: string): HclToken[] {
  const cursor = new TextCursor(text.startsWith('\uFEFF') ? text.slice(1) : text);
  const tokens: HclToken[] = [];
  for (;;) {
    skipBlanksAndComments(cursor);
    const token = scanToken(cursor);
    tokens.push(token);
    if (token.kind === 'EOF') return tokens;
  }
}

function skipBlanksAndComments(cursor: TextCursor): void {
  for (;;) {
    cursor.takeWhile((c) => c === ' ' || c === '\t' || c === '\n' || c === '\r');
    const at = cursor.at;
    if (cursor.peek() === '#' || (cursor.peek() === '/' && cursor.peek(1) === '/')) {
      cursor.takeWhile((c) => c !== '\n');
    } else if (cursor.peek() === '/' && cursor.peek(1) === '*') {
      cursor.next();
      cursor.next();
      while (!(cursor.peek() === '*' && cursor.peek(1) === '/')) {
        if (cursor.next() === '') throw syntaxError(at, 'comment not terminated');
      }
      cursor.next();
      cursor.next();
    } else return;
  }
}

function scanToken(cursor: TextCursor): HclToken {
  const at = cursor.at;
  const first = cursor.peek();
  if (first === '') return { kind: 'EOF', text: '', at };
  if (isLetter(first)) {
    const text = cursor.takeWhile((c) => isLetter(c) || isDigit(c) || c === '-' || c === '.');
    return { kind: text === 'true' || text === 'false' ? 'BOOL' : 'IDENT', text, at };
  }
  if (isDigit(first) || (first === '-' && isDigit(cursor.peek(1)))) return scanNumber(cursor, at);
  if (first === '"') return { kind: 'STRING', text: scanString(cursor, at), at };
  if (first === '<' && cursor.peek(1) === '<') return { kind: 'HEREDOC', text: scanHeredoc(cursor, at), at };
  cursor.next();
  return { kind: punctuation.get(first) ?? 'ILLEGAL', text: first, at };
}

function isLetter(c: string): boolean {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c === '_' || (c > '\u007F' && /\p{L}/u.test(c));
}

function scanNumber(cursor: TextCursor, at: Position): HclToken {
  const start = cursor.offset;
  if (cursor.peek() === '-') cursor.next();
  if (cursor.peek() === '0' && (cursor.peek(1) === 'x' || cursor.peek(1) === 'X')) {
    cursor.next();
    cursor.next();
    const digits = cursor.takeWhile(isHexDigit);
    if (digits === '') throw syntaxError(at, 'illegal hexadecimal number');
    return { kind: 'NUMBER', text: String(Number.parseInt(digits, 16)), at };
  }
  cursor.takeWhile(isDigit);
  let kind: TokenKind = 'NUMBER';
  if (cursor.peek() === '.' && isDigit(cursor.peek(1))) {
    kind = 'FLOAT';
    cursor.next();
    cursor.takeWhile(isDigit);
  }
  if (cursor.peek() === 'e' || cursor.peek() === 'E') {
    kind = 'FLOAT';
    cursor.next();
    if (cursor.peek() === '+' || cursor.peek() === '-') cursor.next();
    if (cursor.takeWhile(isDigit) === '') throw syntaxError(at, 'illegal number');
  }
  return { kind, text: cursor.text.slice(start, cursor.offset), at };
}

const simpleEscapes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    n: '\n',
    t: '\t',
    r: '\r',
    a: '\u0007',
    b: '\b',
    f: '\f',
    v: '\v',
    '\\': '\\',
    '"': '"',
  }),
);

function scanString(cursor: TextCursor, at: Position): string {
  cursor.next();
  let value = '';
  // Inside `${ … }` everything is taken literally, including quotes and escapes.
  let braces = 0;
  for (;;) {
    if (braces === 0) value += cursor.takeWhile(isPlain);
    const here = cursor.at;
    const c = cursor.next();
    if (c === '') throw syntaxError(at, 'literal not terminated');
    if (c === '\n' && braces === 0) throw syntaxError(here, 'literal not terminated');
    if (braces > 0) {
      braces += c === '{' ? 1 : c === '}' ? -1 : 0;
      value += c;
    } else if (c === '"') return value;
    else if (c === '$' && cursor.peek() === '{') {
      braces = 1;
      value += c + cursor.next();
    } else value += c === '\\' ? scanEscape(cursor, here) : c;
  }
}

const isPlain = (c: string) => c !== '"' && c !== '\\' && c !== '$' && c !== '\n';

function scanEscape(cursor: TextCursor, at: Position): string {
  const c = cursor.next();
  const simple = simpleEscapes.get(c);
  if (simple !== undefined) return simple;
  const length = c === 'x' ? 2 : c === 'u' ? 4 : c === 'U' ? 8 : 0;
  let digits = '';
  while (digits.length < length && isHexDigit(cursor.peek())) digits += cursor.next();
  const code = Number.parseInt(digits, 16);
  if (length === 0 || digits.length < length || code > 0x10ffff) throw syntaxError(at, 'illegal char escape');
  return String.fromCodePoint(code);
}

function scanHeredoc(cursor: TextCursor, at: Position): string {
  cursor.next();
  cursor.next();
  const indented = cursor.peek() === '-';
  if (indented) cursor.next();
  const anchor = cursor.takeWhile((c) => c !== '\n').replace(/\r$/, '');
  if (!/^[\p{L}\p{N}_]+$/u.test(anchor)) throw syntaxError(at, 'heredoc anchor not found');
  cursor.next();
  const lines: string[] = [];
  for (;;) {
    if (cursor.peek() === '') throw syntaxError(at, 'heredoc not terminated');
    const line = cursor.takeWhile((c) => c !== '\n');
    if (line.trim() === anchor) return joinHeredoc(lines, indented);
    lines.push(line);
    cursor.next();
  }
}

function joinHeredoc(lines: readonly string[], indented: boolean): string {
  if (lines.length === 0) return '';
  let shared = indented ? Number.POSITIVE_INFINITY : 0;
  if (indented) for (const line of lines) shared = Math.min(shared, line.length - line.trimStart().length);
  return lines.map((line) => `${line.slice(shared)}\n`).join('');
}
