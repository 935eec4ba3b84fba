/**
 * The log of one job before it is sent: buffered briefly, in order, without secrets, and never larger than its limit.
 * What cannot be stored is kept for the result of the job.
 */
export class RunLog {
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private acceptedBytes = 0;
  private sending: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  /** What was not stored, from the first failure on. */
  private readonly unstored: Buffer[] = [];
  private last = '';

  constructor(
    private readonly options: {
      limit: number;
      concealer?: Concealer;
      /** Stores bytes; called with one piece after the other, and no more after the first error. */
      keep(bytes: Buffer): Promise<void>;
      /** Called once when the limit is exceeded. */
      full(): void;
    },
  ) {}

  /** The end of what was written. */
  get tail(): string {
    return this.last;
  }

  /** Accepts bytes from the tool; the promise pauses the tool while much is waiting, and never rejects. */
  async write(bytes: Buffer): Promise<void> {
    if (this.acceptedBytes >= this.options.limit) return;
    const room = this.options.limit - this.acceptedBytes;
    this.acceptedBytes += bytes.length;
    this.add(markless(bytes.subarray(0, room)));
    if (bytes.length < room) return this.waitingBytes >= mostHeld ? this.flush() : undefined;
    this.add(Buffer.from(`\n\nThe log has reached its limit of ${this.options.limit} bytes: the run is stopped.\n`));
    this.options.full();
    return this.flush();
  }

  /** Adds a line by the worker itself. */
  say(line: string): void {
    this.add(Buffer.from(`${line}\n`));
  }

  /** Ends the log with the reason why the run was stopped or failed. */
  conclude(why: string): void {
    this.say(`\nStopped: ${why}.`);
  }

  /** The bytes that are still buffered. */
  get unsent(): Buffer {
    return Buffer.concat(this.waiting);
  }

  /** The end of the log that is not stored, for the caller to store. */
  async take(): Promise<Buffer> {
    const bytes = this.empty();
    await this.sending;
    return Buffer.concat([
      ...this.unstored.splice(0),
      this.shown(bytes),
      this.options.concealer?.end() ?? Buffer.alloc(0),
    ]);
  }

  /** Resolves when everything written so far is stored, or kept because it could not be stored. */
  flush(): Promise<void> {
    const bytes = this.empty();
    this.sending = this.sending.then(() => this.store(this.shown(bytes)));
    return this.sending;
  }

  private async store(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    try {
      if (this.unstored.length === 0) return await this.options.keep(bytes);
    } catch {
      // The bytes are kept.
    }
    this.unstored.push(bytes);
  }

  private shown(bytes: Buffer): Buffer {
    return this.options.concealer?.push(bytes) ?? bytes;
  }

  private empty(): Buffer {
    clearTimeout(this.timer);
    this.timer = undefined;
    const bytes = this.unsent;
    this.waiting = [];
    this.waitingBytes = 0;
    return bytes;
  }

  private add(bytes: Buffer): void {
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    this.last = (this.last + bytes.toString('utf8')).slice(-tailLength);
    this.timer ??= setTimeout(() => void this.flush(), gatherMs);
  }
}

const mostHeld = 256 * 1024;
const tailLength = 16 * 1024;
/** Watchers get new text of a log twice a second, so smaller pieces would not be seen. */
const gatherMs = 500;

/**
 * Replaces the bytes 2 and 3, which mark the start and the end of a log. Otherwise a tool that prints them would end
 * its own log.
 */
function markless(bytes: Buffer): Buffer {
  if (!bytes.includes(2) && !bytes.includes(3)) return Buffer.from(bytes);
  return Buffer.from(bytes.map((byte) => (byte === 2 || byte === 3 ? 0x3f : byte)));
}

/**
 * Replaces secret strings in a stream of bytes, even if a secret is split over several pieces. Bytes are compared as
 * strings with one character per byte.
 */
export class Concealer {
  private heldBack = '';
  private secrets: readonly string[] = [];
  private pattern = /(?!)/g;

  /** Conceals these strings from now on. */
  add(...secrets: readonly string[]): void {
    const added = secrets.filter((secret) => secret !== '').map((secret) => Buffer.from(secret).toString('latin1'));
    // The longest first, because one may be the start of another.
    this.secrets = [...this.secrets, ...added].sort((a, b) => b.length - a.length);
    if (this.secrets.length > 0) this.pattern = new RegExp(this.secrets.map(literally).join('|'), 'g');
  }

  /** The bytes that can be shown now. Bytes at the end that may be the start of a secret are held back. */
  push(bytes: Buffer): Buffer {
    if (this.secrets.length === 0) return bytes;
    const text = this.heldBack + bytes.toString('latin1');
    return this.show(text, startsAtEnd(text, this.secrets));
  }

  /** The bytes that were held back, at the end of the stream. */
  end(): Buffer {
    return this.show(this.heldBack, []);
  }

  /** `starts` are the places, in order, where a secret may start that continues in the next piece. */
  private show(text: string, starts: readonly number[]): Buffer {
    const until = () => starts.find((at) => at >= from) ?? text.length;
    let from = 0;
    let shown = '';
    for (const { index, 0: secret } of text.matchAll(this.pattern)) {
      if (index >= until()) break;
      shown += `${text.slice(from, index)}***`;
      from = index + secret.length;
    }
    this.heldBack = text.slice(until());
    return Buffer.from(shown + text.slice(from, until()), 'latin1');
  }
}

const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The places at the end of a string where it equals the start of a secret, but not all of it. */
function startsAtEnd(text: string, secrets: readonly string[]): number[] {
  const starts: number[] = [];
  const longest = secrets[0]!.length;
  for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
    const end = text.slice(at);
    if (secrets.some((secret) => secret.length > end.length && secret.startsWith(end))) starts.push(at);
  }
  return starts;
}
