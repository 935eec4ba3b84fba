import { constants, fsync, write, writeSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type AuditDevice, DeviceFailed } from './device';

/** The shortest time between two checks of the file's path. */
const lookEveryMs = 1000;
const appending = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY;

/** Options of a file device; all have defaults. */
export interface FileSettings extends WriterLimits {
  readonly description?: string;
  /** Whether the file must be a regular file without other names: no link, no pipe. */
  readonly plain?: boolean;
  /** Permissions of the file, also if it already exists; 0 leaves them unchanged. */
  readonly mode?: number;
  /** The text at the start of every line. */
  readonly prefix?: string;
}

/**
 * Appends to a file (mode 0600). A file that was moved or deleted is created again, so rotation needs no signal. If the
 * file cannot be created, the device fails until this succeeds.
 */
export class FileDevice implements AuditDevice {
  readonly type = 'file';
  readonly description: string;
  readonly options: Readonly<Record<string, string>>;
  readonly local = false;
  readonly showsAccessors = false;
  private handle: FileHandle | undefined;
  private closed = false;
  private inode = 0;
  private lookedMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;
  private readonly writer: LineWriter;

  /** Does not open the file yet: until it can be opened, lines are refused. */
  constructor(
    readonly path: string,
    private readonly file: string,
    private readonly settings: FileSettings = {},
  ) {
    this.description = settings.description ?? '';
    this.options = { file_path: file };
    this.writer = new LineWriter(path, () => this.handle?.fd ?? -1, settings);
  }

  /** Opens the file, which must be writable now. */
  static async open(path: string, file: string, settings: FileSettings = {}): Promise<FileDevice> {
    const device = new FileDevice(path, file, settings);
    await device.reopen();
    return device;
  }

  write(text: string): Promise<void> {
    const line = this.settings.prefix ? this.settings.prefix + text : text;
    const now = performance.now();
    if (now - this.lookedMs < lookEveryMs && this.handle) return this.writer.append(line);
    this.looking ??= this.look(now).finally(() => {
      this.looking = undefined;
    });
    return this.looking.then(() => this.writer.append(line));
  }

  async reopen(): Promise<void> {
    const handle = await this.opened();
    const before = this.handle;
    await this.writer.idle();
    const stats = await handle.stat();
    this.handle = handle;
    this.writer.direct = stats.isFile();
    this.writer.torn = stats.isFile() && !(await endsLine(this.file, stats.size));
    this.inode = stats.ino;
    this.lookedMs = performance.now();
    await before?.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.looking?.catch(() => {});
    await this.writer.idle();
    const handle = this.handle;
    this.handle = undefined;
    await handle?.close().catch(() => {});
  }

  private async opened(): Promise<FileHandle> {
    if (this.closed) throw new DeviceFailed(this.path, 'is closed');
    const { plain, mode } = this.settings;
    // Opening a pipe without a reader would block.
    const flags = plain ? appending | constants.O_NOFOLLOW | constants.O_NONBLOCK : appending;
    let handle: FileHandle | undefined;
    try {
      handle = await open(this.file, flags, mode || 0o600);
      const stats = plain ? await handle.stat() : undefined;
      if (stats && (!stats.isFile() || stats.nlink > 1)) {
        throw new DeviceFailed(this.path, 'this is not a regular file with only this name');
      }
      if (mode) await handle.chmod(mode);
      return handle;
    } catch (error) {
      await handle?.close().catch(() => {});
      if (error instanceof DeviceFailed) throw error;
      throw new DeviceFailed(this.path, `the file cannot be opened (${(error as NodeJS.ErrnoException).code})`, {
        cause: error,
      });
    }
  }

  private async look(now: number): Promise<void> {
    const there = await stat(this.file).catch(() => undefined);
    if (there?.ino !== this.inode || !this.handle) await this.reopen();
    this.lookedMs = now;
  }
}

/** Whether a file ends with a complete line; a killed process or a full disk may have left an incomplete line. */
async function endsLine(file: string, size: number): Promise<boolean> {
  if (size === 0) return true;
  // If this process may not read the file, another process created it.
  const handle = await open(file, 'r').catch(() => undefined);
  if (!handle) return true;
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] === 10;
  } finally {
    await handle.close();
  }
}

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
