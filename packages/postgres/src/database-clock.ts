/** What a clock is made of; time sources are replaced in tests. */
export interface DatabaseClockOptions {
  /** How far the clock of this machine may be off. */
  readonly toleranceMs: number;
  /** The clock of this machine, in epoch milliseconds; `Date.now`. */
  readonly machine?: () => number;
  /** Milliseconds that only ever go on; `performance.now`. */
  readonly steady?: () => number;
  readonly log?: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

/** An SQL expression for the time of the database, in epoch milliseconds with fractions. */
export const DATABASE_TIME = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

/**
 * The time of the database, known without asking it each time: all nodes of an installation decide by the same clock, and a
 * jump of one machine's own clock does nothing. A comparison moves it only as far as the answer proves it wrong.
 *
 * Where the machine and the database disagree, either may be right: `trouble` says so, and while it does
 * nothing may be ended for good.
 */
export class DatabaseClock {
  private readonly machine: () => number;
  private readonly steady: () => number;
  /** What to add to the steady clock. */
  private offsetMs: number;
  /** How far the machine is off, at least; undefined before the first comparison. */
  private apartMs: number | undefined;
  private told = false;

  constructor(private readonly options: DatabaseClockOptions) {
    this.machine = options.machine ?? Date.now;
    this.steady = options.steady ?? (() => performance.now());
    this.offsetMs = this.machine() - this.steady();
  }

  /** Whole epoch milliseconds; before the first comparison as the machine has it. */
  readonly now = (): number => Math.floor(this.steady() + this.offsetMs);

  /** Why nothing may be ended by the time; undefined when it may. */
  get trouble(): string | undefined {
    const { apartMs } = this;
    if (apartMs === undefined) return 'the clock was not yet compared with the database';
    const { toleranceMs } = this.options;
    if (Math.abs(apartMs) <= toleranceMs) return undefined;
    const apart = `${Math.abs(apartMs / 1000).toFixed(1)} s ${apartMs > 0 ? 'ahead of' : 'behind'} the database`;
    return `the clock of this machine is ${apart} (${toleranceMs / 1000} s are allowed)`;
  }

  /** Begins a comparison; call what it returns with the answer of the database to `DATABASE_TIME`. */
  compare(): (databaseMs: number) => void {
    const askedMs = this.steady();
    return (databaseMs) => {
      const answeredMs = this.steady();
      const within = (value: number) => Math.min(Math.max(value, databaseMs - answeredMs), databaseMs - askedMs);
      this.offsetMs = within(this.offsetMs);
      // However long the answer took, no more than what is certain counts.
      const machineMs = this.machine() - answeredMs;
      this.apartMs = machineMs - within(machineMs);
      this.tell();
    };
  }

  private tell(): void {
    const { trouble } = this;
    if (this.told === (trouble !== undefined)) return;
    this.told = !this.told;
    const fields = { apartMs: Math.round(this.apartMs!) };
    if (this.told) this.options.log?.warn(fields, `not ready, and nothing is ended here: ${trouble}`);
    else this.options.log?.info(fields, 'the clock of this machine agrees with the database again');
  }
}
