/** The time sources of a clock, which tests replace. */
export interface DatabaseClockOptions {
  /** How far the clock of this machine may be off. */
  readonly toleranceMs: number;
  /** The clock of this machine, in epoch milliseconds; `Date.now`. */
  readonly machine?: () => number;
  /** Monotonic milliseconds; `performance.now`. */
  readonly steady?: () => number;
  readonly log?: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

/** An SQL expression for the time of the database, in epoch milliseconds with fractions. */
export const DATABASE_TIME = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

/**
 * The time of the database, without a query for each reading. All nodes of an installation use this clock, so a jump of
 * one machine's clock has no effect. A comparison corrects this clock only by the error that the response proves. If
 * the machine and the database disagree, either may be right. In this case `trouble` describes the problem, and nothing
 * may be revoked or deleted.
 */
export class DatabaseClock {
  private readonly machine: () => number;
  private readonly steady: () => number;
  /** The offset from the monotonic clock. */
  private offsetMs: number;
  /** The smallest possible error of the machine's clock; undefined before the first comparison. */
  private apartMs: number | undefined;
  private reported = false;

  constructor(private readonly options: DatabaseClockOptions) {
    this.machine = options.machine ?? Date.now;
    this.steady = options.steady ?? (() => performance.now());
    this.offsetMs = this.machine() - this.steady();
  }

  /** Whole epoch milliseconds; before the first comparison, the machine's time. */
  readonly now = (): number => Math.floor(this.steady() + this.offsetMs);

  /** The reason why nothing may expire at present; undefined if things may expire. */
  get trouble(): string | undefined {
    const { apartMs } = this;
    if (apartMs === undefined) return 'the clock has not yet been compared with the database';
    const { toleranceMs } = this.options;
    if (Math.abs(apartMs) <= toleranceMs) return undefined;
    const apart = `${Math.abs(apartMs / 1000).toFixed(1)} s ${apartMs > 0 ? 'ahead of' : 'behind'} the database`;
    return `the clock of this machine is ${apart} (${toleranceMs / 1000} s are allowed)`;
  }

  /** Starts a comparison. Call the returned function with the database's response to `DATABASE_TIME`. */
  compare(): (databaseMs: number) => void {
    const askedMs = this.steady();
    return (databaseMs) => {
      const answeredMs = this.steady();
      const within = (value: number) => Math.min(Math.max(value, databaseMs - answeredMs), databaseMs - askedMs);
      this.offsetMs = within(this.offsetMs);
      // Uses only the part of the difference that the duration of the query cannot explain.
      const machineMs = this.machine() - answeredMs;
      this.apartMs = machineMs - within(machineMs);
      this.tell();
    };
  }

  private tell(): void {
    const { trouble } = this;
    if (this.reported === (trouble !== undefined)) return;
    this.reported = !this.reported;
    const fields = { apartMs: Math.round(this.apartMs!) };
    if (this.reported) this.options.log?.warn(fields, `not ready, and this node lets nothing expire: ${trouble}`);
    else this.options.log?.info(fields, 'the clock of this machine agrees with the database again');
  }
}
