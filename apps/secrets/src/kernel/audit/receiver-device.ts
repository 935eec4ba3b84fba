import type { Carrier } from './carriers';
import { LineRefused } from './carriers';
import { type AuditDevice, type Backlog, DeviceFailed } from './device';
import type { AuditReceiver } from './receiver';

interface WaitingLine {
  readonly text: string;
  readonly sinceMs: number;
  /** The waiting request; undefined if the receiver was unavailable or the request has waited too long. */
  waiter?: { done(): void; failed(error: Error): void };
}

/** Characters that may wait for a receiver; above this, new lines are dropped. */
const waitingChars = 8 * 1024 * 1024;
/** How many characters are sent together, unless a single line has more. */
const batchChars = 256 * 1024;
const shortestRestMs = 250;
const longestRestMs = 2_000;

/** Options of a receiver device. */
export interface ReceiverDeviceParts {
  readonly carrier: Carrier;
  readonly timeoutMs: number;
  readonly description: string;
  readonly local: boolean;
  /** The options as responses show them, without secrets. */
  readonly options: Readonly<Record<string, string>>;
  readonly showsAccessors: boolean;
  readonly prefix: string;
  readonly log: { warn(fields: object, message: string): void };
  /** The maximum number of waiting characters; default 8 Mi. */
  readonly waitingChars?: number;
}

/**
 * Sends lines to a receiver, in order and in batches. A line is treated as written when the receiver has confirmed it
 * (http), or this machine has sent it (socket, syslog). Unsent lines wait, up to a limit, and are sent again once the
 * receiver recovers. Dropped lines are counted, and a line of type `gap` reports their number to the receiver. A caller
 * waits for at most twice the timeout of the receiver, and does not wait if the receiver is known to be unavailable.
 */
export class ReceiverDevice implements AuditDevice {
  readonly type: AuditReceiver['type'];
  readonly description: string;
  readonly options: Readonly<Record<string, string>>;
  readonly local: boolean;
  readonly showsAccessors: boolean;
  readonly backlog: { -readonly [K in keyof Backlog]: Backlog[K] } = { away: false, waiting: 0, dropped: 0 };
  private queue: WaitingLine[] = [];
  private chars = 0;
  private sending: Promise<void> | undefined;
  private reason = '';
  private restMs = 0;
  private restTimer: NodeJS.Timeout | undefined;
  private missing = 0;
  private missingSince = '';
  private oneByOne = 0;
  private closed = false;

  constructor(
    readonly path: string,
    type: AuditReceiver['type'],
    private readonly parts: ReceiverDeviceParts,
  ) {
    this.type = type;
    this.description = parts.description;
    this.options = parts.options;
    this.local = parts.local;
    this.showsAccessors = parts.showsAccessors;
  }

  write(line: string): Promise<void> {
    if (this.closed) return Promise.reject(new DeviceFailed(this.path, 'is closed'));
    const text = this.parts.prefix === '' ? line : this.parts.prefix + line;
    if (this.chars + text.length > (this.parts.waitingChars ?? waitingChars)) {
      this.drop();
      return Promise.reject(new DeviceFailed(this.path, this.reason || 'the receiver is too slow'));
    }
    if (this.backlog.away) {
      this.push({ text, sinceMs: performance.now() });
      return Promise.reject(new DeviceFailed(this.path, this.reason));
    }
    return new Promise((resolve, failed) => {
      this.push({ text, sinceMs: performance.now(), waiter: { done: resolve, failed } });
      this.start();
    });
  }

  /** Opens a new connection with the next line. */
  async reopen(): Promise<void> {
    this.parts.carrier.close();
  }

  /** Sends as many waiting lines as possible within the timeout of the receiver. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.restTimer);
    const endMs = performance.now() + this.parts.timeoutMs;
    await this.sending;
    while (this.queue.length > 0 && !this.backlog.away && performance.now() < endMs) await this.sendSome();
    const remaining = this.remove(this.queue.length);
    if (remaining.length > 0) {
      this.parts.log.warn(
        { device: this.path, lines: remaining.length },
        `audit device ${this.path}: some lines were not sent`,
      );
    }
    for (const { waiter } of remaining) waiter?.failed(new DeviceFailed(this.path, 'is closed'));
    this.backlog.dropped += remaining.length;
    this.parts.carrier.close();
  }

  private push(line: WaitingLine): void {
    this.queue.push(line);
    this.chars += line.text.length;
    this.backlog.waiting = this.queue.length;
  }

  /** Removes lines from the start of the queue. */
  private remove(lines: number): WaitingLine[] {
    const removed = this.queue.splice(0, lines);
    for (const { text } of removed) this.chars -= text.length;
    this.backlog.waiting = this.queue.length;
    return removed;
  }

  private drop(): void {
    if (this.missing === 0) this.missingSince = new Date().toISOString();
    this.missing += 1;
    this.backlog.dropped += 1;
  }

  private start(): void {
    if (this.sending || this.restTimer || this.closed) return;
    this.sending = this.sendAll().finally(() => {
      this.sending = undefined;
      if (this.queue.length > 0) this.start();
    });
  }

  private async sendAll(): Promise<void> {
    while (this.queue.length > 0 && !this.restTimer && !this.closed) await this.sendSome();
  }

  private async sendSome(): Promise<void> {
    const missing = this.missing;
    const batch = missing > 0 ? [] : this.take();
    try {
      await this.parts.carrier.send(missing > 0 ? [this.gapLine()] : batch.map(({ text }) => text));
    } catch (error) {
      if (error instanceof LineRefused) this.refused(batch, error);
      else this.failed(error as Error);
      return;
    }
    this.missing -= missing;
    this.remove(batch.length);
    if (this.oneByOne > 0) this.oneByOne -= batch.length;
    for (const { waiter } of batch) waiter?.done();
    if (this.backlog.away) this.parts.log.warn({ device: this.path }, `audit device ${this.path} accepts lines again`);
    this.backlog.away = false;
    this.restMs = 0;
    this.letGoOfLate();
  }

  /** The next lines to send. They remain in the queue until they have been sent. */
  private take(): readonly WaitingLine[] {
    const most = this.oneByOne > 0 ? 1 : this.parts.carrier.most;
    let chars = 0;
    let lines = 0;
    for (const { text } of this.queue) {
      if (lines > 0 && (lines >= most || chars + text.length > batchChars)) break;
      chars += text.length;
      lines += 1;
    }
    return this.queue.slice(0, lines);
  }

  private failed(error: Error): void {
    this.parts.carrier.close();
    this.reason = reasonOf(error);
    if (!this.backlog.away) {
      this.parts.log.warn({ err: error, device: this.path }, `audit device ${this.path}: ${this.reason}`);
    }
    this.backlog.away = true;
    this.restMs = Math.min(Math.max(this.restMs * 2, shortestRestMs), longestRestMs);
    for (const line of this.queue) this.letGo(line, this.reason);
    if (this.closed) return;
    this.restTimer = setTimeout(() => {
      this.restTimer = undefined;
      this.start();
    }, this.restMs).unref();
  }

  /** Finds and drops a line that the receiver always refuses, because it would block all others. */
  private refused(batch: readonly WaitingLine[], error: LineRefused): void {
    if (batch.length > 1) {
      this.oneByOne = batch.length;
      return;
    }
    this.parts.log.warn({ err: error, device: this.path }, `audit device ${this.path}: ${error.message}`);
    if (batch.length === 0) {
      this.missing = 0;
      return;
    }
    if (this.oneByOne > 0) this.oneByOne -= 1;
    for (const line of this.remove(1)) this.letGo(line, error.message);
    this.drop();
  }

  private letGo(line: WaitingLine, reason: string): void {
    line.waiter?.failed(new DeviceFailed(this.path, reason));
    line.waiter = undefined;
  }

  /** Lets callers that have waited too long continue. Their lines remain in the queue. */
  private letGoOfLate(): void {
    const since = performance.now() - this.parts.timeoutMs;
    for (const line of this.queue) {
      if (line.sinceMs > since) break;
      this.letGo(line, 'the receiver is too slow');
    }
  }

  private gapLine(): string {
    const line = { time: new Date().toISOString(), type: 'gap', since: this.missingSince, dropped: this.missing };
    return `${this.parts.prefix}${JSON.stringify(line)}\n`;
  }
}

function reasonOf(error: Error & { code?: string }): string {
  const reason = error.message.replace(/^the receiver is unreachable: /, '');
  return `the receiver accepts nothing (${error.name === 'ClosedAddress' || !error.code ? reason : error.code})`;
}
