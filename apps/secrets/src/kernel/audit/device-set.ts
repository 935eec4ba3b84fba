import type { AuditDevice } from './device';

/** No device wrote a line: the request must not continue. */
export class AuditFailed extends Error {
  override readonly name = 'AuditFailed';
}

/** The minimum time between two attempts with a failing device while there are no requests. */
const triedEveryMs = 250;

/**
 * The devices of this node. A line is treated as written as soon as one device has written it. The log names a failing
 * device, as does the error if all fail. A request waits for remote receivers only if no local device wrote the line.
 */
export class DeviceSet {
  /** Lines that devices failed to write, since the start. */
  failures = 0;
  /** Whether any device writes the accessors of tokens in the clear. */
  showsAccessors = false;
  /** Lines that no device wrote, since the last written line. */
  private refused = 0;
  private refusedSinceMs = 0;
  private triedMs = 0;
  private readonly configured = new Map<string, AuditDevice>();
  private readonly enabled = new Map<string, AuditDevice>();
  private all: readonly AuditDevice[] = [];

  constructor(private readonly log: { warn(fields: object, message: string): void }) {}

  /** True if nothing is written at all. */
  get empty(): boolean {
    return this.all.length === 0;
  }

  /** Adds a device of this node's configuration. */
  add(device: AuditDevice): void {
    this.configured.set(device.path, device);
    this.gather();
  }

  /** Adds a device that was enabled by API, replacing one with the same path. */
  enable(device: AuditDevice): void {
    const before = this.enabled.get(device.path);
    this.enabled.set(device.path, device);
    this.gather();
    if (before) void this.end(before);
  }

  /** Closes a device that was enabled by API; lines that it already has are still written. */
  async disable(path: string): Promise<void> {
    const device = this.enabled.get(path);
    this.enabled.delete(path);
    this.gather();
    if (device) await this.end(device);
  }

  /** Devices by path. Configured devices take precedence over others with the same path. */
  list(): AuditDevice[] {
    const devices = new Map([...this.enabled, ...this.configured]);
    return [...devices.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  find(path: string): AuditDevice | undefined {
    const at = path.endsWith('/') ? path : `${path}/`;
    return this.configured.get(at) ?? this.enabled.get(at);
  }

  /** The configured devices of this node. */
  listConfigured(): AuditDevice[] {
    return [...this.configured.values()];
  }

  /**
   * Writes a line to all devices. `shown` is the line with clear accessors, for devices that show them. Throws
   * `AuditFailed`.
   */
  write(line: string, shown = line): Promise<void> {
    const [first] = this.all;
    if (first === undefined || this.all.length > 1) return this.writeAll(this.all, line, shown);
    return first.write(first.showsAccessors ? shown : line).then(this.resetRefused, this.notTaken);
  }

  /**
   * Whether lines can be written, for `/readyz`. If no device wrote the last lines, it sometimes tries with a test
   * line, because there may be no further requests.
   */
  async accepts(): Promise<boolean> {
    if (this.refused === 0 || this.empty) return true;
    // Receivers retry by themselves.
    if (this.all.every(({ backlog }) => backlog?.away)) return false;
    const now = Date.now();
    if (now - this.triedMs < triedEveryMs) return false;
    this.triedMs = now;
    const line = { time: new Date(now).toISOString(), type: 'gap', since: new Date(this.refusedSinceMs).toISOString() };
    await this.write(`${JSON.stringify({ ...line, refused: this.refused })}\n`).catch(() => {});
    return this.refused === 0;
  }

  /**
   * Reopens all devices. It tries all of them, and then throws the failure of the first device that could not be
   * opened.
   */
  async reopen(): Promise<void> {
    const results = await Promise.allSettled(this.all.map((device) => device.reopen()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async close(): Promise<void> {
    for (const device of this.all) await device.close();
  }

  /** Closes a device that is no longer used. If this fails, the failure is only logged. */
  private async end(device: AuditDevice): Promise<void> {
    const failure = await failureOf(() => device.close());
    if (failure) this.log.warn({ err: failure, device: device.path }, 'an audit device could not be closed');
  }

  private gather(): void {
    this.all = [...this.configured.values(), ...this.enabled.values()];
    this.showsAccessors = this.all.some((device) => device.showsAccessors);
  }

  private async writeAll(devices: readonly AuditDevice[], line: string, shown: string): Promise<void> {
    const write = (device: AuditDevice) => failureOf(() => device.write(device.showsAccessors ? shown : line));
    const elsewhere = devices.filter(({ backlog }) => backlog).map(write);
    const results = await Promise.all(devices.filter(({ backlog }) => !backlog).map(write));
    const failures = results.filter((failure) => failure !== undefined);
    // There may be no device, because the last one may have been disabled while a long line was built.
    const none = failures.length === results.length && devices.length > 0;
    if (none) failures.push(...(await untilOneTook(elsewhere)));
    if (none && failures.length === devices.length) throw this.refuse(failures);
    this.resetRefused();
    this.tell(failures);
  }

  private readonly resetRefused = (): void => {
    this.refused = 0;
  };

  private readonly notTaken = (error: Error): never => {
    throw this.refuse([error]);
  };

  private refuse(failures: readonly Error[]): AuditFailed {
    if (this.refused === 0) this.refusedSinceMs = Date.now();
    this.refused += 1;
    this.tell(failures);
    return new AuditFailed(failures.map(({ message }) => message).join('; '), { cause: failures[0] });
  }

  private tell(failures: readonly Error[]): void {
    this.failures += failures.length;
    for (const failure of failures) this.log.warn({ err: failure }, failure.message);
  }
}

/** The failure of a device. Never rejects, because a receiver may fail while nothing waits for it. */
async function failureOf(write: () => Promise<void>): Promise<Error | undefined> {
  try {
    await write();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Waits until one device has written the line; returns the failures if no device did. */
async function untilOneTook(pending: readonly Promise<Error | undefined>[]): Promise<readonly Error[]> {
  const outcomes = pending.map(async (outcome) => {
    const failure = await outcome;
    if (failure) throw failure;
  });
  try {
    await Promise.any(outcomes);
    return [];
  } catch (error) {
    return (error as AggregateError).errors;
  }
}
