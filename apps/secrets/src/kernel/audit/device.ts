/** The backlog of a device that sends lines to a receiver. */
export interface Backlog {
  /** Whether the last attempt to send failed. */
  readonly away: boolean;
  /** Lines that wait to be sent. */
  readonly waiting: number;
  /** Lines dropped since the start, which the receiver will never get. */
  readonly dropped: number;
}

/** Where audit lines go. */
export interface AuditDevice {
  /** With a trailing slash, unique: `file/`. */
  readonly path: string;
  readonly type: 'file' | 'stdout' | 'socket' | 'syslog' | 'http';
  readonly description: string;
  readonly options: Readonly<Record<string, string>>;
  /** The value from the request that enabled the device. It is only shown; every node writes to every device. */
  readonly local: boolean;
  /** Whether its lines show the accessors of tokens unhashed. */
  readonly showsAccessors: boolean;
  /** Set for a device with a remote receiver. Requests do not wait for it if another device has written the line. */
  readonly backlog?: Backlog;
  /** Resolves when the line (with its line break) has been written; rejects with a reason that names the device. */
  write(line: string): Promise<void>;
  /** Reopens the sink, as after log rotation. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** A device failed to write a line. */
export class DeviceFailed extends Error {
  override readonly name = 'DeviceFailed';
  constructor(path: string, reason: string, options?: { cause?: unknown }) {
    super(`audit device ${path}: ${reason}`, options);
  }
}
