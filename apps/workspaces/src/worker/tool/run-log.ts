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

const stars = Buffer.from('***');

/** Replaces secret strings in a stream of bytes, even if a secret is split over several pieces. */
export class Concealer {
  private heldBack: Buffer = Buffer.alloc(0);
  private texts: readonly Buffer[] = [];
  private preparedCount = 0;

  /** `secrets` may grow. */
  constructor(private readonly secrets: readonly string[]) {}

  /** The bytes that can be shown now. Bytes at the end that may be the start of a secret are held back. */
  push(bytes: Buffer): Buffer {
    if (this.preparedCount < this.secrets.length) {
      this.preparedCount = this.secrets.length;
      this.texts = this.secrets.filter((text) => text !== '').map((text) => Buffer.from(text));
    }
    if (this.texts.length === 0) return bytes;
    let all: Buffer = this.heldBack.length === 0 ? bytes : Buffer.concat([this.heldBack, bytes]);
    for (const text of this.texts) all = replaced(all, text);
    const keep = Math.max(...this.texts.map((text) => beginningAtEnd(all, text)));
    this.heldBack = Buffer.from(all.subarray(all.length - keep));
    return all.subarray(0, all.length - keep);
  }

  /** The bytes that were held back, at the end of the stream. */
  end(): Buffer {
    const rest = this.heldBack;
    this.heldBack = Buffer.alloc(0);
    return rest;
  }
}

function replaced(all: Buffer, text: Buffer): Buffer {
  let found = all.indexOf(text);
  if (found < 0) return all;
  const pieces: Buffer[] = [];
  let from = 0;
  for (; found >= 0; found = all.indexOf(text, from)) {
    pieces.push(all.subarray(from, found), stars);
    from = found + text.length;
  }
  return Buffer.concat([...pieces, all.subarray(from)]);
}

/** The number of bytes at the end of `all` that are equal to the start of `text`. */
function beginningAtEnd(all: Buffer, text: Buffer): number {
  for (let length = Math.min(all.length, text.length - 1); length > 0; length--) {
    if (all.subarray(all.length - length).equals(text.subarray(0, length))) return length;
  }
  return 0;
}
