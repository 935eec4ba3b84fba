import { Refusal } from '@keystead/refusal';

/**
 * The number of calls allowed at the same time, and the number added per second. A user with five shares never has to
 * wait.
 */
const BURST_CALLS = 20;
const CALLS_PER_SECOND = 2;

/**
 * Limits the rate of guesses of shares. Each node counts separately, which is sufficient because a share has 33 random
 * bytes.
 */
export class Allowance {
  private remaining = BURST_CALLS;
  private countedMs = performance.now();

  /** Counts one call. Throws `limited` if the limit is reached. */
  take(): void {
    const now = performance.now();
    this.remaining = Math.min(BURST_CALLS, this.remaining + ((now - this.countedMs) / 1000) * CALLS_PER_SECOND);
    this.countedMs = now;
    if (this.remaining < 1) throw new Refusal('limited', 'too many attempts; wait a moment');
    this.remaining--;
  }
}
