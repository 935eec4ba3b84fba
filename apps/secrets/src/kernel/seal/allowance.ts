import { Refusal } from '@keystead/refusal';

/** Calls that may come at once, and how many come back each second: a person with five shares is never held up. */
const BURST_CALLS = 20;
const CALLS_PER_SECOND = 2;

/** Slows down guesses of shares; counted by each node for itself, since a share has 33 random bytes and no guess succeeds. */
export class Allowance {
  private left = BURST_CALLS;
  private countedMs = performance.now();

  /** Takes one call. Throws `limited` when there is none left. */
  take(): void {
    const now = performance.now();
    this.left = Math.min(BURST_CALLS, this.left + ((now - this.countedMs) / 1000) * CALLS_PER_SECOND);
    this.countedMs = now;
    if (this.left < 1) throw new Refusal('limited', 'too many attempts; wait a moment');
    this.left--;
  }
}
