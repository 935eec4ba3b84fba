/** Where an outage is reported, for example a logger. */
export interface OutageLog {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/**
 * How long there must be no failure before an outage is over. At the start and end of an outage, some calls succeed and
 * others fail.
 */
const QUIET_MS = 1000;

/**
 * Reports an outage of storage once when it begins and once when it is over, however many requests and jobs it affects.
 * One per process.
 */
export class Outage {
  private sinceMs: number | undefined;
  private lastMs = 0;
  private count = 0;

  constructor(
    private readonly log: OutageLog,
    private readonly now: () => number = Date.now,
  ) {}

  /** Notes that a call failed because storage is unavailable. */
  lost(error: unknown): void {
    this.lastMs = this.now();
    this.count++;
    if (this.sinceMs !== undefined) return;
    this.sinceMs = this.lastMs;
    this.log.warn({ err: error }, 'storage is unavailable');
  }

  /** Notes that storage has answered. */
  answered(): void {
    if (this.sinceMs === undefined || this.now() - this.lastMs < QUIET_MS) return;
    this.log.info(
      { seconds: Math.round((this.now() - this.sinceMs) / 1000), met: this.count },
      'storage is available again',
    );
    this.sinceMs = undefined;
    this.count = 0;
  }
}
