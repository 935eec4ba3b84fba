import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type AuditDevice, DeviceFailed } from './device';
import { LineWriter, type WriterLimits } from './line-writer';

/** How often at most the file is looked for under its name. */
const lookEveryMs = 1000;

/**
 * Appends to a file (mode 0600). A file that was moved away or deleted is made again under its name, so rotation needs
 * no signal; where that is impossible the device fails until it is possible.
 */
export class FileDevice implements AuditDevice {
  readonly type = 'file';
  readonly options: Readonly<Record<string, string>>;
  private handle: FileHandle | undefined;
  private inode = 0;
  private lookedMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;
  private readonly writer: LineWriter;

  private constructor(
    readonly path: string,
    private readonly file: string,
    readonly description: string,
    limits: WriterLimits,
  ) {
    this.options = { file_path: file };
    this.writer = new LineWriter(path, () => this.handle?.fd ?? -1, limits);
  }

  /** Opens the file, which must be writable now. */
  static async open(path: string, file: string, description = '', limits: WriterLimits = {}): Promise<FileDevice> {
    const device = new FileDevice(path, file, description, limits);
    await device.reopen();
    return device;
  }

  write(line: string): Promise<void> {
    const now = performance.now();
    if (now - this.lookedMs < lookEveryMs && this.handle) return this.writer.append(line);
    this.looking ??= this.look(now).finally(() => {
      this.looking = undefined;
    });
    return this.looking.then(() => this.writer.append(line));
  }

  async reopen(): Promise<void> {
    const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY;
    let handle: FileHandle;
    try {
      handle = await open(this.file, flags, 0o600);
    } catch (error) {
      throw new DeviceFailed(this.path, `the file cannot be opened (${(error as NodeJS.ErrnoException).code})`, {
        cause: error,
      });
    }
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
    await this.writer.idle();
    const handle = this.handle;
    this.handle = undefined;
    await handle?.close().catch(() => {});
  }

  private async look(now: number): Promise<void> {
    const there = await stat(this.file).catch(() => undefined);
    if (there?.ino !== this.inode || !this.handle) await this.reopen();
    this.lookedMs = now;
  }
}

/** Whether a file ends with a whole line; a process that was killed, or a disk that was full, may have left a part of one. */
async function endsLine(file: string, size: number): Promise<boolean> {
  if (size === 0) return true;
  // What was made for others to read only, or not at all, is no file of this process.
  const handle = await open(file, 'r').catch(() => undefined);
  if (!handle) return true;
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] === 10;
  } finally {
    await handle.close();
  }
}
