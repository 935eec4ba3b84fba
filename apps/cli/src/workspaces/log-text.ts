import { StringDecoder } from 'node:string_decoder';

interface Structured {
  readonly '@message': string;
  readonly diagnostic?: {
    readonly detail?: string;
    readonly address?: string;
    readonly range?: { readonly filename: string; readonly start: { readonly line: number } };
  };
}

/** The readable log of a phase: of JSON lines, their messages. Pieces may end anywhere, even within a character. */
export class LogText {
  private readonly letters = new StringDecoder();
  private begun = '';

  /** `raw`: unchanged. */
  constructor(private readonly raw = false) {}

  /** The text of all complete lines. The marks at the start and end of a log are removed. */
  take(bytes: Buffer): string {
    const lines = (this.begun + this.letters.write(bytes).replace(/[\u0002\u0003]/g, '')).split('\n');
    this.begun = lines.pop() ?? '';
    return lines.map((line) => `${this.read(line)}\n`).join('');
  }

  /** The rest of the text, at the end of the log. */
  end(): string {
    const rest = this.begun;
    this.begun = '';
    return rest === '' ? '' : this.read(rest);
  }

  private read(line: string): string {
    return this.raw ? line : readable(line);
  }
}

function readable(line: string): string {
  if (!line.startsWith('{"@')) return line;
  let read: Structured;
  try {
    read = JSON.parse(line) as Structured;
  } catch {
    return line;
  }
  const { '@message': message, diagnostic: { detail, address, range } = {} } = read;
  return [
    message,
    ...(address ? [`  with ${address}`] : []),
    ...(range ? [`  on ${range.filename} line ${range.start.line}`] : []),
    ...(detail ? [detail] : []),
  ].join('\n');
}
