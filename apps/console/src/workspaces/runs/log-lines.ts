/** A line of a log. `level` is from structured lines; `text` may contain terminal colours. */
export interface LogLine {
  readonly text: string;
  readonly level?: string;
}

/** An error or warning of the tool, with its place. */
export interface Diagnostic {
  readonly severity: string;
  readonly summary: string;
  readonly detail: string;
  readonly address?: string;
  readonly range?: { readonly filename: string; readonly start: { readonly line: number } };
  readonly snippet?: { readonly code: string } | null;
}

interface Structured {
  readonly '@message': string;
  readonly '@level': string;
  readonly type?: string;
  readonly diagnostic?: Diagnostic;
}

/** Parses a line of a log: text for a terminal, or JSON, whose message is shown. */
export function readLine(line: string): readonly LogLine[] {
  if (!line.startsWith('{"@')) return [{ text: line.endsWith('\r') ? line.slice(0, -1) : line }];
  try {
    const { '@message': message, '@level': level, diagnostic } = JSON.parse(line) as Structured;
    if (diagnostic === undefined) return message.split('\n').map((text) => ({ text, level }));
    const at =
      diagnostic.range === undefined ? [] : [`  on ${diagnostic.range.filename} line ${diagnostic.range.start.line}`];
    const about = diagnostic.address === undefined ? [] : [`  with ${diagnostic.address}`];
    return [message, ...about, ...at, ...diagnostic.detail.split('\n').filter(Boolean)].map((text) => ({
      text,
      level: diagnostic.severity === 'error' ? 'error' : 'warn',
    }));
  } catch {
    return [{ text: line }];
  }
}

/** The error that a line reports, structured or as text for a terminal; undefined for any other line. */
export function errorOf(line: string): Diagnostic | undefined {
  if (line.startsWith('{"@')) {
    if (!line.includes('"diagnostic"')) return undefined;
    try {
      const { diagnostic } = JSON.parse(line) as Structured;
      return diagnostic?.severity === 'error' ? diagnostic : undefined;
    } catch {
      return undefined;
    }
  }
  const summary = /^[│╷\s]*Error: (.+)/.exec(plain(line))?.[1];
  return summary === undefined ? undefined : { severity: 'error', summary, detail: '' };
}

const colours = /\x1b\[[\d;]*m/g;

/** A line without the colours of a terminal. */
export const plain = (text: string): string => text.replace(colours, '');

/** The progress of an apply on one resource, from its log. */
export interface ResourceProgress {
  readonly address: string;
  readonly action: string;
  readonly state: 'planned' | 'running' | 'done' | 'failed';
  readonly seconds?: number;
}

interface HookLine {
  readonly type?: string;
  readonly change?: { readonly resource: { readonly addr: string }; readonly action: string };
  readonly hook?: {
    readonly resource: { readonly addr: string };
    readonly action: string;
    readonly elapsed_seconds?: number;
  };
}

const hookStates: ReadonlyMap<string, ResourceProgress['state']> = new Map([
  ['apply_complete', 'done'],
  ['apply_errored', 'failed'],
]);

/** The progress of a resource in a line of the structured log; undefined for any other line. */
export function progressOf(line: string): ResourceProgress | undefined {
  if (!line.startsWith('{"@') || !/"type":"(planned_change|apply_)/.test(line)) return undefined;
  let read: HookLine;
  try {
    read = JSON.parse(line) as HookLine;
  } catch {
    return undefined;
  }
  const of = read.change ?? read.hook;
  if (of === undefined) return undefined;
  const base = { address: of.resource.addr, action: of.action };
  if (read.hook === undefined) return { ...base, state: 'planned' };
  const { elapsed_seconds: seconds } = read.hook;
  const state = hookStates.get(read.type ?? '') ?? 'running';
  return { ...base, state, ...(seconds === undefined ? {} : { seconds }) };
}
