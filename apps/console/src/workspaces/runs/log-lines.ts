/** A line of a log as it is shown. `level` of the structured form; `text` may hold colours of a terminal. */
export interface LogLine {
  readonly text: string;
  readonly level?: string;
}

interface Diagnostic {
  readonly severity: string;
  readonly summary: string;
  readonly detail: string;
  readonly address?: string;
  readonly range?: { readonly filename: string; readonly start: { readonly line: number } };
}

interface Structured {
  readonly '@message': string;
  readonly '@level': string;
  readonly type?: string;
  readonly diagnostic?: Diagnostic;
}

/** Lines of a log: the tool writes texts for a terminal, or lines of JSON, of which a reader wants the message. */
export function linesOf(log: string): LogLine[] {
  if (log === '') return [];
  const lines = log.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.flatMap(readLine);
}

function readLine(line: string): LogLine | LogLine[] {
  if (!line.startsWith('{"@')) return { text: line.replace(/\r$/, '') };
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
    return { text: line };
  }
}

/** What an apply does to one resource, from its log. */
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

/** What the structured log says of each resource, the latest word of each. */
export function progressOf(log: string): ReadonlyMap<string, ResourceProgress> {
  const found = new Map<string, ResourceProgress>();
  for (const line of log.split('\n')) {
    if (!line.startsWith('{"@') || !/"type":"(planned_change|apply_)/.test(line)) continue;
    let read: HookLine;
    try {
      read = JSON.parse(line) as HookLine;
    } catch {
      continue;
    }
    if (read.change !== undefined) {
      const { resource, action } = read.change;
      found.set(resource.addr, { address: resource.addr, action, state: 'planned' });
    } else if (read.hook !== undefined) {
      const { resource, action, elapsed_seconds: seconds } = read.hook;
      const state = hookStates.get(read.type ?? '') ?? 'running';
      found.set(resource.addr, {
        address: resource.addr,
        action,
        state,
        ...(seconds === undefined ? {} : { seconds }),
      });
    }
  }
  return found;
}
