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

/** Errors beyond this are only in the log. */
const mostErrors = 50;

/** Longer lines are split: characters. */
const longest = 256 * 1024;
const drawMs = 100;

/**
 * The log of a phase as it grows. Each chunk is parsed once, however long the log; listeners are called at most ten
 * times a second.
 */
export class Log {
  /** Counts the calls of listeners: a new number means a new rendering. */
  version = 0;
  private readonly lines: LogLine[] = [];
  private found: readonly LogError[] = [];
  private latest = new Map<string, ResourceProgress>();
  private shown: ReadonlyMap<string, ResourceProgress> = new Map();
  private isNews = false;
  /** The last, incomplete line. */
  private begun: string[] = [];
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
    return this.lines[index] ?? { text: this.begun.join('') };
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
    const wanted = text.toLowerCase();
    return Array.from({ length: this.count }, (_, index) => index).filter((index) =>
      plain(this.at(index).text).toLowerCase().includes(wanted),
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
    this.begun.push(text);
    this.begunLength += text.length;
  }

  private close(): void {
    const line = this.begun.length === 1 ? this.begun[0]! : this.begun.join('');
    this.begun = [];
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
