import { Refusal } from '@keystead/refusal';

/** Limits on running work, waiting work, and the wait. */
interface TurnLimits {
  readonly atOnce: number;
  readonly waiting?: number;
  readonly waitMs?: number;
}

/**
 * Runs a few pieces of work at the same time. Others wait in order of arrival. Throws `limited`, with `what` in its
 * message, if the queue or the wait is too long. Use it for work that occupies threads or connections that other work
 * also needs.
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
      // Finished work passes its place to the next in line.
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
