import type { Settings } from './settings';

/** Where a command writes: results to `out`, everything meant for people only to `err`. */
export interface Streams {
  out: (text: string) => void;
  err: (text: string) => void;
}

/** Prints results as asked for: aligned for people, or JSON for programs. */
export class Output {
  constructor(
    private readonly streams: Streams,
    private readonly format: Settings['format'],
  ) {}

  /** A result: the whole of it as JSON, or the given fields as a table. */
  show(whole: unknown, fields: Record<string, unknown> = whole as Record<string, unknown>): void {
    if (this.format === 'json') this.line(JSON.stringify(whole, null, 2));
    else this.line(table(fields));
  }

  /** A list of names, one a line. */
  names(whole: unknown, names: readonly string[]): void {
    if (this.format === 'json') this.line(JSON.stringify(whole, null, 2));
    else for (const name of names) this.line(visible(name));
  }

  /** One piece of text as it is. */
  line(text: string): void {
    this.streams.out(`${text}\n`);
  }

  /** A remark for people; stays out of what programs read. */
  note(text: string): void {
    this.streams.err(`${visible(text, true)}\n`);
  }

  warnings(warnings: readonly string[] | null | undefined): void {
    for (const warning of warnings ?? []) this.note(`warning: ${warning}`);
  }

  get json(): boolean {
    return this.format === 'json';
  }
}

function table(fields: Record<string, unknown>): string {
  const entries = Object.entries(fields);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`.trimEnd()).join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return visible(value.join(', '), true);
  return typeof value === 'object' ? JSON.stringify(value) : visible(String(value), true);
}

/** Text that cannot command a terminal: what somebody else has stored may hold anything. */
function visible(text: string, lines = false): string {
  return text.replace(/\p{Cc}/gu, (sign) =>
    lines && (sign === '\n' || sign === '\t') ? sign : `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
