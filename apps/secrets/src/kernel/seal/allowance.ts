import { Refusal } from '@keystead/refusal';

/** The number of calls allowed at once, and of calls added each second. A person with five shares never has to wait. */
const BURST_CALLS = 20;
const CALLS_PER_SECOND = 2;

/** Slows down guesses of shares; each node counts for itself, which is enough because a share has 33 random bytes. */
export class Allowance {
  private remaining = BURST_CALLS;
  private countedMs = performance.now();

  /** Takes one call. Throws `limited` if there is none left. */
  take(): void {
    const now = performance.now();
    this.remaining = Math.min(BURST_CALLS, this.remaining + ((now - this.countedMs) / 1000) * CALLS_PER_SECOND);
    this.countedMs = now;
    if (this.remaining < 1) throw new Refusal('limited', 'too many attempts; wait a moment');
    this.remaining--;
  }
}
