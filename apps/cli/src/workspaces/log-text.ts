import { StringDecoder } from 'node:string_decoder';

interface Structured {
  readonly '@message': string;
  readonly diagnostic?: {
    readonly detail?: string;
    readonly address?: string;
    readonly range?: { readonly filename: string; readonly start: { readonly line: number } };
  };
}

/** The log of a phase as people read it: of lines of JSON, what they say. Pieces may end anywhere, even within a letter. */
export class LogText {
  private readonly letters = new StringDecoder();
  private begun = '';

  /** `raw`: as the tool wrote it. */
  constructor(private readonly raw = false) {}

  /** The text of all lines that are whole by now. A log begins and ends with a mark, which is no part of it. */
  take(bytes: Buffer): string {
    const lines = (this.begun + this.letters.write(bytes).replace(/[\u0002\u0003]/g, '')).split('\n');
    this.begun = lines.pop() ?? '';
    return lines.map((line) => `${this.read(line)}\n`).join('');
  }

  /** What is left when nothing more comes. */
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
