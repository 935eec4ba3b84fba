import {
  type Diagnostic,
  errorOf,
  type LogLine,
  plain,
  progressOf,
  type ResourceProgress,
  readLine,
} from './log-lines';

/** An error of the tool, and the line of the log that reports it. */
export interface LogError {
  readonly line: number;
  readonly diagnostic: Diagnostic;
}

/** The maximum number of errors that are listed. Further errors are only in the log. */
const mostErrors = 50;

/** The maximum number of characters in a line. Longer lines are split. */
const longest = 256 * 1024;
const drawMs = 100;

/**
 * The log of a phase while it grows. Each chunk is parsed only once, even in a long log. Listeners are called at most
 * ten times a second.
 */
export class Log {
  /** Increased before each call of the listeners, so that React notices that it must render again. */
  version = 0;
  private readonly lines: LogLine[] = [];
  private found: readonly LogError[] = [];
  private latest = new Map<string, ResourceProgress>();
  private shown: ReadonlyMap<string, ResourceProgress> = new Map();
  private isNews = false;
  /** The last, incomplete line. */
  private lastLineParts: string[] = [];
  private begunLength = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  /** Adds the next chunk, which may end in the middle of a line. */
  append(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.hold(text.slice(from, end));
      this.close();
      from = end + 1;
    }
    if (from < text.length) this.hold(text.slice(from));
    if (this.begunLength > longest) this.close();
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.version += 1;
      for (const listener of this.listeners) listener();
    }, drawMs);
  }

  /** The number of lines, including an incomplete one. */
  get count(): number {
    return this.lines.length + (this.begunLength > 0 ? 1 : 0);
  }

  at(index: number): LogLine {
    return this.lines[index] ?? { text: this.lastLineParts.join('') };
  }

  /** The errors so far; a new array whenever one is added. */
  get errors(): readonly LogError[] {
    return this.found;
  }

  /** The whole text, without colours. */
  get text(): string {
    return Array.from({ length: this.count }, (_, index) => `${plain(this.at(index).text)}\n`).join('');
  }

  /** The lines that contain a string, ignoring case. */
  linesWith(text: string): readonly number[] {
    const term = text.toLowerCase();
    return Array.from({ length: this.count }, (_, index) => index).filter((index) =>
      plain(this.at(index).text).toLowerCase().includes(term),
    );
  }

  /** The latest progress of each resource, from the structured log; a new map whenever it changes. */
  get progress(): ReadonlyMap<string, ResourceProgress> {
    if (this.isNews) this.shown = new Map(this.latest);
    this.isNews = false;
    return this.shown;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private hold(text: string): void {
    if (text === '') return;
    this.lastLineParts.push(text);
    this.begunLength += text.length;
  }

  private close(): void {
    const line = this.lastLineParts.length === 1 ? this.lastLineParts[0]! : this.lastLineParts.join('');
    this.lastLineParts = [];
    this.begunLength = 0;
    const diagnostic = errorOf(line);
    if (diagnostic !== undefined && this.found.length < mostErrors)
      this.found = [...this.found, { line: this.lines.length, diagnostic }];
    for (const read of readLine(line)) this.lines.push(read);
    const lineProgress = progressOf(line);
    if (lineProgress === undefined) return;
    this.latest.set(lineProgress.address, lineProgress);
    this.isNews = true;
  }
}
