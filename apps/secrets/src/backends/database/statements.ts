import { refuse } from '../../sdk/refuse';

/** How SQL dialects differ in strings and comments. */
export interface Dialect {
  /** Backslash escapes apply in all strings, not only in E'' strings. */
  readonly backslashes: boolean;
  /** Dollar-quoted strings (`$tag$`), and nested comments. */
  readonly dollars: boolean;
  /** Names in backticks, and comments after `#`. */
  readonly backticks: boolean;
  /** Names in square brackets, and nested comments. */
  readonly brackets?: boolean;
}

/** Values for placeholders such as `{{name}}`. */
export type Words = Readonly<Record<string, string>>;

const word = /\{\{\s*(\w+)\s*\}\}/y;
const dollarTag = /\$(?:[A-Za-z_]\w*)?\$/y;
const unquoted = /^[A-Za-z0-9_.@+: -]*$/;

/**
 * The statements in one element, with their placeholders replaced. The element is split at every `;` outside strings,
 * names and comments. If it contains the word END outside of these (functions, procedures), it is one statement. Values
 * within quotes are escaped, so that no name or password can end the quotes. Elsewhere only plain characters are
 * allowed. Throws `invalid`.
 */
export function statementsOf(element: string, words: Words, dialect: Dialect): string[] {
  const scanner = new Scanner(element, words, dialect);
  scanner.scan();
  const statements = /\bEND\b/i.test(scanner.plain) ? [scanner.statement] : scanner.statements;
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}

/** Scans an element once. */
class Scanner {
  readonly statements: string[] = [];
  /** The text outside quotes and comments. */
  plain = '';
  statement = '';
  private at = 0;
  private current = '';

  constructor(
    private readonly text: string,
    private readonly words: Words,
    private readonly dialect: Dialect,
  ) {}

  scan(): void {
    while (this.at < this.text.length) {
      const char = this.text[this.at]!;
      if (this.fill((value) => inPlain(value))) this.plain += ' x ';
      else if (char === "'" || char === '"' || (char === '`' && this.dialect.backticks)) this.quoted(char);
      else if (char === '[' && this.dialect.brackets) this.quoted(']');
      else if (this.comment() || this.dollarQuoted()) this.plain += ' ';
      else if (char === ';') this.end();
      else {
        this.plain += char;
        this.take(1);
      }
    }
    this.end();
  }

  private end(): void {
    this.statements.push(this.current);
    this.current = '';
    this.statement += this.text[this.at] ?? '';
    this.at++;
    this.plain += ' ';
  }

  private put(text: string): void {
    this.current += text;
    this.statement += text;
  }

  private take(count: number): void {
    this.put(this.text.slice(this.at, this.at + count));
    this.at += count;
  }

  private takeThrough(end: number): void {
    this.take((end < 0 ? this.text.length : end) - this.at);
  }

  private fill(escaped: (value: string) => string): boolean {
    word.lastIndex = this.at;
    const found = word.exec(this.text);
    const value = found ? this.words[found[1]!] : undefined;
    if (!found || value === undefined) return false;
    this.put(escaped(value));
    this.at += found[0].length;
    return true;
  }

  private quoted(quote: string): void {
    const { backslashes, backticks } = this.dialect;
    const escapes = quote !== '`' && (backslashes || (quote === "'" && /(?:^|[^\w])E$/i.test(this.plain)));
    // If backticks quote names, double quotes quote strings.
    const value = (text: string) =>
      (escapes && (quote === "'" || backticks) ? text.replaceAll('\\', '\\\\') : text).replaceAll(quote, quote + quote);
    this.plain += ' ';
    this.take(1);
    while (this.at < this.text.length) {
      if (this.fill(value)) continue;
      const char = this.text[this.at];
      if (char === quote && this.text[this.at + 1] !== quote) break;
      this.take(char === quote || (escapes && char === '\\') ? 2 : 1);
    }
    this.take(1);
  }

  private comment(): boolean {
    const { text, at } = this;
    if (text.startsWith('--', at) || (text[at] === '#' && this.dialect.backticks)) {
      this.takeThrough(text.indexOf('\n', at));
      return true;
    }
    if (!text.startsWith('/*', at)) return false;
    let end = at + 2;
    for (let depth = 1; depth > 0; ) {
      const close = text.indexOf('*/', end);
      const open = this.dialect.dollars || this.dialect.brackets ? text.indexOf('/*', end) : -1;
      if (close < 0) {
        end = text.length;
        break;
      }
      const opens = open >= 0 && open < close;
      depth += opens ? 1 : -1;
      end = (opens ? open : close) + 2;
    }
    this.takeThrough(end);
    return true;
  }

  private dollarQuoted(): boolean {
    if (!this.dialect.dollars || /\w$/.test(this.plain)) return false;
    dollarTag.lastIndex = this.at;
    const tag = dollarTag.exec(this.text)?.[0];
    if (tag === undefined) return false;
    this.take(tag.length);
    const close = this.text.indexOf(tag, this.at);
    const end = close < 0 ? this.text.length : close;
    while (this.at < end) if (!this.fill((value) => inPlain(value))) this.take(1);
    this.take(tag.length);
    return true;
  }
}

function inPlain(value: string): string {
  if (unquoted.test(value)) return value;
  return refuse('a template for a name or password with special characters must be between quotes');
}
