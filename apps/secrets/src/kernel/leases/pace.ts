/**
 * The maximum number of simultaneous revocations of one mount on one node, so that a slow system blocks only its own
 * leases.
 */
export const WIDEST = 16;
/** The longest pause of a system, even if it asks for a longer one. */
const LONGEST_REST_MS = 5 * 60_000;

/**
 * How fast the leases of a mount are revoked on this node. If a system asks for a pause, it is not called during the
 * pause, and afterwards with fewer calls at a time. Every success allows more calls. A pause also ends when a call
 * succeeds that started after the system had asked for the pause.
 */
export class RevocationPace {
  width = WIDEST;
  private begunMs = 0;
  private untilMs = 0;

  /** Epoch milliseconds at which the pause ends; 0 if there is no pause. */
  restsUntil(nowMs: number): number {
    return this.untilMs > nowMs ? this.untilMs : 0;
  }

  /** True if the pace is back to normal. */
  recovered(nowMs: number): boolean {
    return this.width === WIDEST && this.restsUntil(nowMs) === 0;
  }

  /**
   * Records that a call that started at `askedMs` succeeded. Returns false if the system asked for a pause after that
   * time.
   */
  succeeded(askedMs: number): boolean {
    this.width = Math.min(this.width + 1, WIDEST);
    if (askedMs < this.begunMs) return false;
    this.untilMs = 0;
    return true;
  }

  /**
   * Records that the system needs a pause of `wantedMs`. Simultaneous responses to several calls cause only one pause.
   */
  rest(wantedMs: number, nowMs: number): void {
    if (this.restsUntil(nowMs)) return;
    this.begunMs = nowMs;
    this.untilMs = nowMs + Math.min(wantedMs, LONGEST_REST_MS);
    this.width = Math.max(1, Math.floor(this.width / 2));
  }
}
