/** What a device that sends its lines elsewhere still has to send. */
export interface Backlog {
  /** The receiver took nothing when it was last tried. */
  readonly away: boolean;
  /** Lines that wait for it. */
  readonly waiting: number;
  /** Lines that were let go since the start: it will never have them. */
  readonly dropped: number;
}

/** Where audit lines go. */
export interface AuditDevice {
  /** With a trailing slash, unique: `file/`. */
  readonly path: string;
  readonly type: 'file' | 'stdout' | 'socket' | 'syslog' | 'http';
  readonly description: string;
  readonly options: Readonly<Record<string, string>>;
  /** Said when it was enabled, and shown; every node writes to every device. */
  readonly local: boolean;
  /** Its lines show accessors of tokens in the clear. */
  readonly showsAccessors: boolean;
  /** Of one whose receiver is elsewhere, and is not waited for where another device has a line. */
  readonly backlog?: Backlog;
  /** Resolves when the line (with its line break) has been written; rejects with a reason that names the device. */
  write(line: string): Promise<void>;
  /** Reopens the sink, as after log rotation. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** A device that did not take a line. */
export class DeviceFailed extends Error {
  override readonly name = 'DeviceFailed';
  constructor(path: string, reason: string, options?: { cause?: unknown }) {
    super(`audit device ${path}: ${reason}`, options);
  }
}
