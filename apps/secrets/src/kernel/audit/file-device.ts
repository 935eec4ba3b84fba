import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type AuditDevice, DeviceFailed } from './device';
import { LineWriter, type WriterLimits } from './line-writer';

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
