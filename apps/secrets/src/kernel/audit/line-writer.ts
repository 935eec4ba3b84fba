import { fsync, write, writeSync } from 'node:fs';
import { DeviceFailed } from './device';

/** Lines that are written together, and their waiters. */
class LineBatch {
  text = '';
  /** Settles the promise of all lines. */
  finish!: () => void;
  failed!: (error: Error) => void;
  readonly finished = new Promise<void>((resolve, reject) => {
    this.finish = resolve;
    this.failed = reject;
  });
}

/** Limits of a writer; all have defaults. */
export interface WriterLimits {
  /** A write that takes longer is treated as failed; default 5 s. */
  readonly patienceMs?: number;
  /**
   * The maximum number of waiting bytes; default 32 MiB. Above this limit, lines are refused immediately; long lines
   * are refused above half of it.
   */
  readonly waitingBytes?: number;
  /** Flush lines to the disk. */
  readonly sync?: boolean;
}

const lineEnd = 10;
/** Lines longer than this may not use the last half of a slow sink's queue. */
const longLine = 8 * 1024;

/**
 * Appends lines to an open file descriptor. Lines that arrive during a write are written together in the next write.
 * Only a limited number of lines wait for a stuck sink, for a limited time; other lines are refused. Until the stuck
 * write returns, new lines are refused at once. A failed write may have left part of a line, so the next write begins
 * on a new line and can be parsed.
 */
export class LineWriter {
  private next: LineBatch | undefined;
  private writing = false;
  private stuck = false;
  private planned = false;
  /** Whether the last write ended in the middle of a line. */
  torn = false;
  /**
   * Whether the sink is a regular file, where a write only fills the page cache. One system call for all lines of a
   * turn of the event loop is much cheaper than the thread pool.
   */
  direct = false;

  constructor(
    private readonly path: string,
    private readonly descriptor: () => number,
    private readonly limits: WriterLimits = {},
  ) {}

  append(line: string): Promise<void> {
    if (this.stuck) return Promise.reject(new DeviceFailed(this.path, 'the sink accepts nothing'));
    const room = this.limits.waitingBytes ?? 32 * 1024 * 1024;
    this.next ??= new LineBatch();
    const { next } = this;
    if (next.text.length > (line.length > longLine ? room / 2 : room)) {
      return Promise.reject(new DeviceFailed(this.path, 'the sink is too slow'));
    }
    next.text += line;
    if (this.writing) return next.finished;
    if (!this.direct || this.limits.sync) this.flush();
    else if (!this.planned) {
      this.planned = true;
      setImmediate(() => this.flushDirectly());
    }
    return next.finished;
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    while ((this.writing || this.planned) && !this.stuck) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  private flush(): void {
    const batch = this.next;
    if (batch === undefined) return;
    this.next = undefined;
    this.writing = true;
    const bytes = this.bytesOf(batch);
    const timer = setTimeout(() => this.giveUp(batch), this.limits.patienceMs ?? 5000);
    this.writeAll(bytes, 0, performance.now(), (error) => {
      clearTimeout(timer);
      this.writing = false;
      this.stuck = false;
      if (error) batch.failed(new DeviceFailed(this.path, reason(error), { cause: error }));
      else batch.finish();
      this.flush();
    });
  }

  private flushDirectly(): void {
    this.planned = false;
    if (!this.direct) {
      if (!this.writing) this.flush();
      return;
    }
    const batch = this.next;
    if (batch === undefined) return;
    this.next = undefined;
    try {
      const bytes = this.bytesOf(batch);
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(this.descriptor(), bytes, at);
        this.torn = bytes[at - 1] !== lineEnd;
      }
      batch.finish();
    } catch (error) {
      batch.failed(new DeviceFailed(this.path, reason(error as Error), { cause: error }));
    }
  }

  private bytesOf({ text }: LineBatch): Buffer {
    return Buffer.from(this.torn ? `\n${text}` : text);
  }

  private giveUp(batch: LineBatch): void {
    this.stuck = true;
    for (const late of [batch, this.next]) late?.failed(new DeviceFailed(this.path, 'the sink accepts nothing'));
    this.next = undefined;
  }

  private writeAll(bytes: Buffer, from: number, startedMs: number, callback: (error: Error | null) => void): void {
    write(this.descriptor(), bytes, from, bytes.length - from, null, (error, count) => {
      if (error) {
        // The pipe is full and must not block: try again until the time is over.
        if (error.code === 'EAGAIN' && performance.now() - startedMs < (this.limits.patienceMs ?? 5000)) {
          setTimeout(() => this.writeAll(bytes, from, startedMs, callback), 5);
        } else callback(error);
        return;
      }
      if (count > 0) this.torn = bytes[from + count - 1] !== lineEnd;
      if (from + count < bytes.length) this.writeAll(bytes, from + count, startedMs, callback);
      else if (this.limits.sync) fsync(this.descriptor(), callback);
      else callback(null);
    });
  }
}

function reason(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOSPC':
      return 'no space left';
    case 'EPIPE':
      return 'the sink has no reader';
    case 'EBADF':
      return 'the sink is closed';
    default:
      return `writing failed (${error.code ?? 'unknown'})`;
  }
}
