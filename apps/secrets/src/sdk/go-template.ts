import { createHash, randomInt, randomUUID } from 'node:crypto';

/** A template that cannot be parsed. `message` gives the reason in the wording of Go templates. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

type Value = string | number | boolean;
type TemplateFields = Readonly<Record<string, string>>;
/** What a template may use in addition to its fields. */
export interface TemplateWorld {
  readonly nowMs: number;
}

type Expression = (fields: TemplateFields, environment: TemplateWorld) => Value;
type TemplateNode =
  | { text: string }
  | { value: Expression }
  | { branches: { when: Expression; body: TemplateNode[] }[]; otherwise: TemplateNode[] };

/** A parsed template: returns the text for some fields. */
export type Template = (fields: TemplateFields, environment: TemplateWorld) => string;

const maxRandom = 1000;
/** The longest template, and the longest text of any step: names have at most 64 characters. */
const maxLength = 4096;
/**
 * The deepest nesting of parentheses and conditionals; there are no loops, so a template never takes more steps than it
 * has words.
 */
const maxDepth = 32;

/**
 * Parses the subset of Go templates that user-name templates are written in: fields (`.Type`), strings, numbers,
 * parentheses, pipelines, `if`/`else if`/`else`/`end`, trim markers, comments and the functions of `functions`. Unknown
 * fields and functions are refused when parsing; output is refused when it becomes too long. Throws TemplateError.
 */
export function parseTemplate(text: string, fieldNames: readonly string[]): Template {
  if (text.length > maxLength) throw new TemplateError(`the template is longer than ${maxLength} characters`);
  const parser = new TemplateParser(tokenize(text), fieldNames);
  const nodes = parser.block([]);
  return (fields, environment) => render(nodes, fields, environment);
}

function render(nodes: readonly TemplateNode[], fields: TemplateFields, environment: TemplateWorld): string {
  let out = '';
  for (const node of nodes) {
    if ('text' in node) out += node.text;
    else if ('value' in node) out = bounded('the name', out + String(node.value(fields, environment)));
    else {
      const branch = node.branches.find(({ when }) => truthy(when(fields, environment)));
      out += render(branch ? branch.body : node.otherwise, fields, environment);
    }
  }
  return out;
}

/** The text of a step, unless it is too long. */
function bounded(step: string, text: string): string {
  if (text.length > maxLength) throw new TemplateError(`${step} becomes longer than ${maxLength} characters`);
  return text;
}

type TemplatePiece = { text: string } | { action: string };

function tokenize(text: string): TemplatePiece[] {
  const pieces: TemplatePiece[] = [];
  let at = 0;
  let trimNext = false;
  for (;;) {
    const open = text.indexOf('{{', at);
    let literal = open < 0 ? text.slice(at) : text.slice(at, open);
    if (trimNext) literal = literal.trimStart();
    if (open < 0) {
      if (literal) pieces.push({ text: literal });
      return pieces;
    }
    const trimsLeft = /^-\s/.test(text.slice(open + 2, open + 4));
    if (trimsLeft) literal = literal.trimEnd();
    if (literal) pieces.push({ text: literal });
    const close = closing(text, open + 2);
    let inner = text.slice(open + 2 + (trimsLeft ? 1 : 0), close);
    trimNext = /\s-$/.test(inner);
    if (trimNext) inner = inner.slice(0, -1);
    inner = inner.trim();
    if (!(inner.startsWith('/*') && inner.endsWith('*/'))) pieces.push({ action: inner });
    at = close + 2;
  }
}

/** The end of the action that begins at `from`: the position of its `}}`. A `}}` inside a string is ignored. */
function closing(text: string, from: number): number {
  let quote = '';
  for (let at = from; at < text.length; at++) {
    const char = text[at]!;
    if (quote) {
      if (char === '\\' && quote === '"') at++;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === '`') quote = char;
    else if (char === '}' && text[at + 1] === '}') return at;
  }
  throw new TemplateError('unclosed action');
}

class TemplateParser {
  private at = 0;
  private depth = 0;
  constructor(
    private readonly pieces: readonly TemplatePiece[],
    private readonly fieldNames: readonly string[],
  ) {}

  /** Nodes up to one of `ends` (left unread), or to the end of the text. */
  block(endKeywords: readonly string[]): TemplateNode[] {
    const nodes: TemplateNode[] = [];
    while (this.at < this.pieces.length) {
      const piece = this.pieces[this.at]!;
      if ('text' in piece) {
        nodes.push({ text: piece.text });
        this.at++;
        continue;
      }
      const word = /^\S*/.exec(piece.action)![0];
      if (endKeywords.includes(word)) return nodes;
      if (word === 'end' || word === 'else') throw new TemplateError(`unexpected {{${word}}}`);
      this.at++;
      nodes.push(
        word === 'if' ? this.deeper(() => this.conditional(piece.action)) : { value: this.expression(piece.action) },
      );
    }
    if (endKeywords.length > 0) throw new TemplateError('unexpected EOF: an {{if}} has no {{end}}');
    return nodes;
  }

  /** Parses something that may be nested. */
  private deeper<T>(parse: () => T): T {
    if (++this.depth > maxDepth) throw new TemplateError(`nesting deeper than ${maxDepth} levels`);
    const parsed = parse();
    this.depth--;
    return parsed;
  }

  private conditional(action: string): TemplateNode {
    const branches = [{ when: this.expression(action.slice(2)), body: this.block(['else', 'end']) }];
    for (;;) {
      const { action: next } = this.pieces[this.at++] as { action: string };
      if (next === 'end') return { branches, otherwise: [] };
      const again = /^else\s+if\s+(.*)$/s.exec(next);
      if (again) {
        branches.push({ when: this.expression(again[1]!), body: this.block(['else', 'end']) });
        continue;
      }
      if (next !== 'else') throw new TemplateError(`unexpected {{${next}}}`);
      const otherwise = this.block(['end']);
      this.at++;
      return { branches, otherwise };
    }
  }

  private expression(source: string): Expression {
    const words = lex(source);
    const cursor = { words, at: 0 };
    const result = this.pipeline(cursor);
    if (cursor.at < words.length) throw new TemplateError(`unexpected ${JSON.stringify(words[cursor.at])}`);
    return result;
  }

  private pipeline(cursor: Cursor): Expression {
    let current = this.command(cursor, undefined);
    while (cursor.words[cursor.at] === '|') {
      cursor.at++;
      current = this.command(cursor, current);
    }
    return current;
  }

  private command(cursor: Cursor, piped: Expression | undefined): Expression {
    const word = cursor.words[cursor.at];
    if (word === undefined || word === '|' || word === ')') throw new TemplateError('missing value for command');
    if (!/^[A-Za-z_]/.test(word) || word === 'true' || word === 'false') {
      const value = this.operand(cursor);
      if (piped) throw new TemplateError(`${word} is not a function to pipe into`);
      return value;
    }
    const call = functions[word];
    if (!call) throw new TemplateError(`function "${word}" not defined`);
    cursor.at++;
    const args: Expression[] = [];
    for (;;) {
      const next = cursor.words[cursor.at];
      if (next === undefined || next === '|' || next === ')') break;
      args.push(this.operand(cursor));
    }
    if (piped) args.push(piped);
    if (args.length < call.least || args.length > call.most) {
      throw new TemplateError(`wrong number of args for ${word}: want ${call.least} got ${args.length}`);
    }
    return (fields, environment) => {
      const value = call.run(
        args.map((arg) => arg(fields, environment)),
        environment,
      );
      return typeof value === 'string' ? bounded(word, value) : value;
    };
  }

  private operand(cursor: Cursor): Expression {
    const word = cursor.words[cursor.at++]!;
    if (word === '(') {
      const inner = this.deeper(() => this.pipeline(cursor));
      if (cursor.words[cursor.at++] !== ')') throw new TemplateError('unclosed left paren');
      return inner;
    }
    if (word.startsWith('.')) {
      const name = word.slice(1);
      if (!this.fieldNames.includes(name)) {
        throw new TemplateError(
          `can't evaluate field ${name}: known are ${this.fieldNames.map((f) => `.${f}`).join(', ')}`,
        );
      }
      return (fields) => fields[name] ?? '';
    }
    if (word.startsWith('"') || word.startsWith('`')) {
      const text = unquote(word);
      return () => text;
    }
    if (word === 'true' || word === 'false') return () => word === 'true';
    if (/^-?\d+$/.test(word)) {
      const number = Number(word);
      return () => number;
    }
    const call = functions[word];
    if (call && call.least === 0) return (_fields, environment) => call.run([], environment);
    throw new TemplateError(call ? `wrong number of args for ${word}` : `function "${word}" not defined`);
  }
}

interface Cursor {
  readonly words: readonly string[];
  at: number;
}

const wordPattern = /\s*("(?:[^"\\]|\\.)*"|`[^`]*`|[()|]|\.[A-Za-z_]\w*|-?\d+|[A-Za-z_]\w*)/y;

function lex(source: string): string[] {
  const words: string[] = [];
  const text = source.trim();
  wordPattern.lastIndex = 0;
  while (wordPattern.lastIndex < text.length) {
    const from = wordPattern.lastIndex;
    const found = wordPattern.exec(text);
    if (!found) throw new TemplateError(`unexpected ${JSON.stringify(text.slice(from, from + 20))} in command`);
    words.push(found[1]!);
  }
  if (words.length === 0) throw new TemplateError('missing value for command');
  return words;
}

function unquote(word: string): string {
  if (word.startsWith('`')) return word.slice(1, -1);
  try {
    return JSON.parse(word) as string;
  } catch {
    throw new TemplateError(`bad string ${word}`);
  }
}

function truthy(value: Value): boolean {
  return value !== '' && value !== 0 && value !== false;
}

interface TemplateFunction {
  readonly least: number;
  readonly most: number;
  run(args: readonly Value[], environment: TemplateWorld): Value;
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function fn(least: number, run: TemplateFunction['run'], most = least): TemplateFunction {
  return { least, most, run };
}

function count(value: Value | undefined, of: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0) throw new TemplateError(`${of}: the length must be a whole number`);
  return number;
}

const functions: Readonly<Record<string, TemplateFunction>> = Object.assign(Object.create(null), {
  random: fn(1, ([length]) => {
    const n = count(length, 'random');
    if (n < 1 || n > maxRandom) throw new TemplateError(`random: the length must be between 1 and ${maxRandom}`);
    return Array.from({ length: n }, () => base62[randomInt(62)]).join('');
  }),
  truncate: fn(2, ([length, text]) => {
    const n = count(length, 'truncate');
    if (n < 1) throw new TemplateError('truncate: the length must be above 0');
    return String(text).slice(0, n);
  }),
  truncate_sha256: fn(2, ([length, text]) => {
    const n = count(length, 'truncate_sha256');
    if (n <= 8) throw new TemplateError('truncate_sha256: the length must be above 8');
    const fullText = String(text);
    if (fullText.length <= n) return fullText;
    return (
      fullText.slice(0, n - 8) +
      createHash('sha256')
        .update(fullText.slice(n - 8))
        .digest('hex')
        .slice(0, 8)
    );
  }),
  uppercase: fn(1, ([text]) => String(text).toUpperCase()),
  lowercase: fn(1, ([text]) => String(text).toLowerCase()),
  replace: fn(3, ([find, replacement, text]) => {
    const pieces = String(text).split(String(find));
    // Checked before joining, because each of thousands of pieces could be followed by thousands of characters.
    if ((pieces.length - 1) * String(replacement).length > maxLength) {
      throw new TemplateError(`replace becomes longer than ${maxLength} characters`);
    }
    return pieces.join(String(replacement));
  }),
  sha256: fn(1, ([text]) => createHash('sha256').update(String(text)).digest('hex')),
  base64: fn(1, ([text]) => Buffer.from(String(text)).toString('base64')),
  unix_time: fn(0, (_args, environment) => String(Math.floor(environment.nowMs / 1000))),
  unix_time_millis: fn(0, (_args, environment) => String(environment.nowMs)),
  timestamp: fn(1, ([layout], environment) => goTime(String(layout), new Date(environment.nowMs))),
  uuid: fn(0, () => randomUUID()),
  printf: fn(1, ([format, ...args]) => printf(String(format), args), 20),
  eq: fn(2, ([first, ...others]) => others.some((other) => other === first), 10),
  ne: fn(2, ([a, b]) => a !== b),
  not: fn(1, ([value]) => !truthy(value!)),
  and: fn(1, (args) => args.find((value) => !truthy(value)) ?? args.at(-1)!, 10),
  or: fn(1, (args) => args.find(truthy) ?? args.at(-1)!, 10),
  len: fn(1, ([text]) => String(text).length),
} satisfies Record<string, TemplateFunction>);

function printf(format: string, args: readonly Value[]): string {
  let next = 0;
  const text = format.replace(/%(%|[sdvq])/g, (_all, verb: string) => {
    if (verb === '%') return '%';
    if (next >= args.length) throw new TemplateError('printf: too few arguments');
    const value = String(args[next++]);
    return verb === 'q' ? JSON.stringify(value) : value;
  });
  if (next < args.length) throw new TemplateError('printf: too many arguments');
  return text;
}

/** A time in UTC by a Go layout made of `2006`, `01`, `02`, `15`, `04`, `05` and literal text. */
function goTime(layout: string, time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const parts: Record<string, string> = {
    '2006': String(time.getUTCFullYear()),
    '01': two(time.getUTCMonth() + 1),
    '02': two(time.getUTCDate()),
    '15': two(time.getUTCHours()),
    '04': two(time.getUTCMinutes()),
    '05': two(time.getUTCSeconds()),
  };
  return layout.replace(/2006|01|02|15|04|05/g, (part) => parts[part]!);
}
