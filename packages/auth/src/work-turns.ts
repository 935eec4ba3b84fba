import { Refusal } from '@keystead/refusal';

/** How much may run and wait at once, and how long. */
interface TurnLimits {
  readonly atOnce: number;
  readonly waiting?: number;
  readonly waitMs?: number;
}

/**
 * Lets a few pieces of work run at once; others wait, as they came. Where the line or the wait is too long, it throws
 * `limited`, with `what` in its message. For work that takes threads or connections that others need, too.
 */
export class WorkTurns {
  private running = 0;
  private readonly line: (() => void)[] = [];

  constructor(
    private readonly limits: TurnLimits,
    private readonly what: string,
  ) {}

  async run<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.running < this.limits.atOnce) this.running += 1;
    else await this.turn();
    try {
      return await work();
    } finally {
      // The place of what ends is that of the next.
      const next = this.line.shift();
      if (next) next();
      else this.running -= 1;
    }
  }

  private turn(): Promise<void> {
    const { waiting, waitMs } = this.limits;
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new Refusal('limited', `too many ${this.what} at once; try again`));
      if (waiting !== undefined && this.line.length >= waiting) return refuse();
      const go = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer =
        waitMs === undefined
          ? undefined
          : setTimeout(() => {
              this.line.splice(this.line.indexOf(go), 1);
              refuse();
            }, waitMs);
      this.line.push(go);
    });
  }
}
