import { StringDecoder } from 'node:string_decoder';
import { parseExact } from '@keystead/envelope';
import { outputValues } from './plan-text';

interface Diagnostic {
  readonly severity?: string;
  readonly summary?: string;
  readonly detail?: string;
  readonly address?: string;
  readonly range?: { readonly filename: string; readonly start: { readonly line: number } };
  readonly snippet?: { readonly context?: string | null; readonly code: string; readonly start_line?: number } | null;
}

interface Structured {
  readonly '@message': string;
  readonly type?: string;
  readonly diagnostic?: Diagnostic;
  readonly changes?: { readonly operation?: string };
  readonly outputs?: Parameters<typeof outputValues>[0];
}

/**
 * The log of a plan or an apply as the tool prints it. Pieces may end anywhere, even within a character. In structured
 * logs, the lines about planned changes are held back, because the plan itself contains more.
 */
export class LogText {
  private readonly letters = new StringDecoder();
  private unfinishedLine = '';
  private readonly planned: string[] = [];

  /** `raw`: the text is returned unchanged. */
  constructor(private readonly raw = false) {}

  /** The text of all complete lines. The marks at the start and end of a log are removed. */
  take(bytes: Buffer): string {
    const lines = (this.unfinishedLine + this.letters.write(bytes).replace(/[\u0002\u0003]/g, '')).split('\n');
    this.unfinishedLine = lines.pop() ?? '';
    return lines.map((line) => this.read(line, '\n')).join('');
  }

  /** The rest of the text, at the end of the log. */
  end(): string {
    const rest = this.unfinishedLine;
    this.unfinishedLine = '';
    return rest === '' ? '' : this.read(rest, '');
  }

  /** The held-back messages about planned changes, for a plan that cannot be read. */
  takePlanned(): string {
    return this.planned.splice(0).join('');
  }

  private read(line: string, end: string): string {
    const parsed = this.raw ? undefined : structured(line);
    if (!parsed) return line + end;
    // Not shown: the lines above it already name the version.
    if (parsed.type === 'version') return '';
    if (!isOfPlan(parsed)) return readable(parsed) + end;
    this.planned.push(`${parsed['@message']}\n`);
    return '';
  }
}

function structured(line: string): Structured | undefined {
  if (!line.startsWith('{"@')) return undefined;
  try {
    return parseExact(line) as Structured;
  } catch {
    return undefined;
  }
}

/**
 * Whether a line is about planned changes or outputs. The log of an apply also begins with such lines. Outputs of a
 * plan have no values.
 */
function isOfPlan({ type, changes, outputs }: Structured): boolean {
  if (type === 'planned_change' || type === 'resource_drift') return true;
  if (type === 'change_summary') return changes?.operation === 'plan';
  return type === 'outputs' && !Object.values(outputs ?? {}).some((output) => 'value' in output || output.sensitive);
}

function readable({ '@message': message, type, diagnostic, outputs }: Structured): string {
  if (diagnostic) return boxed(message, diagnostic);
  if (type === 'outputs' && outputs) return outputValues(outputs);
  return type === 'change_summary' ? `\n${message}` : message;
}

function boxed(message: string, { detail, address, range, snippet }: Diagnostic): string {
  const context = snippet?.context ? `, in ${snippet.context}` : '';
  const first = snippet?.start_line ?? range?.start.line ?? 0;
  const code = snippet?.code.split('\n').map((line, index) => `${`${first + index}`.padStart(4)}: ${line}`) ?? [];
  const place = [
    ...(address ? [`  with ${address}${range ? ',' : ''}`] : []),
    ...(range
      ? [`  on ${range.filename} line ${range.start.line}${context}${code.length > 0 ? ':' : ''}`, ...code]
      : []),
  ];
  const lines = [
    ...message.split('\n'),
    ...(place.length > 0 ? ['', ...place] : []),
    ...(detail ? ['', ...detail.split('\n')] : []),
  ];
  return ['╷', ...lines.map((line) => `│ ${line}`), '╵'].join('\n');
}
