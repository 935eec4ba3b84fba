/** Revocations of one mount under way at a time on one node, so that a slow system holds up only its own. */
export const WIDEST = 16;
/** No rest is longer; after that the leases waiting for it count it as a failure. */
export const LONGEST_REST_MS = 5 * 60_000;

/**
 * How fast one mount's leases are ended. An outside system that throttles us or does not answer is left alone for a
 * while that doubles, and then asked by fewer at a time; every success widens again.
 */
export class Pace {
  width = WIDEST;
  private restMs = 0;
  private untilMs = 0;

  /** Epoch milliseconds at which the rest ends; 0 when there is none. */
  restsUntil(nowMs: number): number {
    return this.untilMs > nowMs ? this.untilMs : 0;
  }

  /** True when the rest cannot grow any more. */
  get exhausted(): boolean {
    return this.restMs >= LONGEST_REST_MS;
  }

  /** True when nothing of a trouble is left. */
  get recovered(): boolean {
    return this.restMs === 0 && this.width === WIDEST;
  }

  succeeded(): void {
    this.restMs = 0;
    this.width = Math.min(this.width + 1, WIDEST);
  }

  /** The system asks for `askedMs`. Several who hear it at the same time make one rest. */
  rest(askedMs: number, nowMs: number): void {
    if (this.restsUntil(nowMs)) return;
    this.restMs = Math.min(Math.max(askedMs, this.restMs * 2), LONGEST_REST_MS);
    this.untilMs = nowMs + this.restMs;
    this.width = Math.max(1, Math.floor(this.width / 2));
  }
}
