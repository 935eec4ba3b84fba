import { randomUUID } from 'node:crypto';
import { ExactNumber, exactJson } from '@keystead/envelope';
import type { Format } from './settings';

/** A command's streams: results go to `out`, all other messages to `err`. */
export interface Streams {
  out: (text: string) => void;
  err: (text: string) => void;
  /** Whether each of them is a terminal. */
  terminal?: { out: boolean; err: boolean };
  /** How wide the terminal of `err` is at the moment. */
  columns?: () => number | undefined;
  env?: NodeJS.ProcessEnv;
}

const codes = { red: '\u001b[31m', yellow: '\u001b[33m', bold: '\u001b[1m', none: '\u001b[0m' } as const;

/** Coloured text, if the stream is a terminal and colours are not turned off. */
export function painter(streams: Streams, stream: 'out' | 'err') {
  const { env = {} } = streams;
  const off = env.NO_COLOR || env.BAO_CLI_NO_COLOR || env.VAULT_CLI_NO_COLOR || env.TERM === 'dumb';
  const on = streams.terminal?.[stream] && !off;
  return (color: Exclude<keyof typeof codes, 'none'>, text: string): string =>
    on ? `${codes[color]}${text}${codes.none}` : text;
}

/** Formats a value for programs. */
export type Writer = (value: unknown) => string;

/** The writer of a format; YAML is only loaded on demand. */
export async function writerOf(format: Format): Promise<Writer> {
  if (format !== 'yaml') return (value) => exactJson(value, 2);
  const { stringify } = await import('yaml');
  const name = randomUUID();
  const digits = new RegExp(`${name}([-+.\\deE]+)`, 'g');
  const marked = (_key: unknown, one: unknown) => (one instanceof ExactNumber ? name + one.digits : one);
  return (value) => stringify(value, marked).trimEnd().replace(digits, '$1');
}

/** Prints results in the chosen format: an aligned table, JSON or YAML. */
export class Output {
  constructor(
    private readonly streams: Streams,
    private readonly format: Format,
    private readonly write: Writer,
  ) {}

  /** Prints a result: the whole result as JSON or YAML, or the given fields as a table. */
  show(whole: unknown, fields: Record<string, unknown> = whole as Record<string, unknown>): void {
    if (this.forPrograms) this.value(whole);
    else this.line(this.table(fields));
  }

  /** A list of names, one per line. */
  names(names: readonly string[]): void {
    if (this.forPrograms) this.value(names);
    else for (const name of names) this.line(visible(name));
  }

  /** Records as rows below a header; for programs the complete records. */
  rows(whole: unknown, columns: readonly string[], rows: readonly (readonly unknown[])[]): void {
    if (this.forPrograms) {
      this.value(whole);
      return;
    }
    const cells = rows.map((row) => row.map((value) => cell(value).replace(/\s*\n\s*/g, ' ')));
    const widths = columns.map((name, at) => Math.max(name.length, ...cells.map((row) => row[at]?.length ?? 0)));
    const text = (row: readonly string[]) =>
      row
        .map((value, at) => value.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd();
    const paint = painter(this.streams, 'out');
    this.line([paint('bold', text(columns)), ...cells.map(text)].join('\n'));
  }

  /** A string, unchanged. */
  line(text: string): void {
    this.streams.out(`${text}\n`);
  }

  /** A raw value, for pipes; a terminal also gets a line end. */
  raw(text: string): void {
    this.streams.out(this.streams.terminal?.out ? `${text}\n` : text);
  }

  /** Whole lines of streamed output. On a terminal, colours stay and all other control sequences are removed. */
  piece(text: string): void {
    const onTerminal = this.streams.terminal?.out;
    const colored = onTerminal && !this.streams.env?.NO_COLOR;
    const parts = text.split(/(\u001b\[[\d;]*m)/);
    const visibleParts = parts.map((part, at) =>
      at % 2 === 1 ? (colored ? part : '') : onTerminal ? visible(part.replaceAll('\r\n', '\n'), true) : part,
    );
    this.streams.out(visibleParts.join(''));
  }

  /**
   * Prints a message to standard error, so that it is not part of the output. With JSON output, it is also a line of
   * JSON.
   */
  note(text: string, color?: 'yellow'): void {
    const visibleText = visible(text, true);
    const painted = color ? painter(this.streams, 'err')(color, visibleText) : visibleText;
    this.streams.err(`${this.forPrograms ? JSON.stringify({ note: text }) : painted}\n`);
  }

  warnings(warnings: readonly string[] | null | undefined): void {
    for (const warning of warnings ?? []) this.note(`warning: ${warning}`, 'yellow');
  }

  /** Whether the output is for programs. */
  get forPrograms(): boolean {
    return this.format !== 'table';
  }

  private value(whole: unknown): void {
    this.line(this.write(whole ?? null));
  }

  private table(fields: Record<string, unknown>): string {
    const paint = painter(this.streams, 'out');
    const entries = Object.entries(fields);
    const width = Math.max(0, ...entries.map(([name]) => name.length));
    return entries
      .map(([name, value]) => `${paint('bold', name)}${' '.repeat(width - name.length)}  ${cell(value)}`.trimEnd())
      .join('\n');
  }
}

/** How an error is printed in a format. */
export async function errorText(message: string, format: Format): Promise<string> {
  if (format === 'json') return JSON.stringify({ errors: [message] });
  if (format === 'yaml') return (await writerOf(format))({ errors: [message] });
  return visible(message, true);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every(isPlain)) return visible(value.join(', '), true);
  return !isPlain(value) ? exactJson(value) : visible(String(value), true);
}

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value instanceof ExactNumber;

/** Text without control characters, because stored values are untrusted. */
function visible(text: string, lines = false): string {
  return text.replace(/\p{Cc}/gu, (sign) =>
    lines && (sign === '\n' || sign === '\t') ? sign : `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
