/** Revocations of one mount under way at a time on one node, so that a slow system holds up only its own. */
export const WIDEST = 16;
/** The longest rest that a system gets, however long it asks for. */
const LONGEST_REST_MS = 5 * 60_000;

/**
 * How fast one mount's leases are ended on this node. A system that asks for a rest gets it, and then fewer calls at a
 * time; every success allows more, and the first success of a call begun since ends the rest.
 */
export class RevocationPace {
  width = WIDEST;
  private begunMs = 0;
  private untilMs = 0;

  /** Epoch milliseconds at which the rest ends; 0 when there is none. */
  restsUntil(nowMs: number): number {
    return this.untilMs > nowMs ? this.untilMs : 0;
  }

  /** True when nothing of a trouble is left. */
  recovered(nowMs: number): boolean {
    return this.width === WIDEST && this.restsUntil(nowMs) === 0;
  }

  /** The system did what it was asked for at `askedMs`. Returns whether it answers again, as far as this node knows. */
  succeeded(askedMs: number): boolean {
    this.width = Math.min(this.width + 1, WIDEST);
    if (askedMs < this.begunMs) return false;
    this.untilMs = 0;
    return true;
  }

  /** The system asks for a rest of `wantedMs`. Several calls that hear it at the same time make one rest. */
  rest(wantedMs: number, nowMs: number): void {
    if (this.restsUntil(nowMs)) return;
    this.begunMs = nowMs;
    this.untilMs = nowMs + Math.min(wantedMs, LONGEST_REST_MS);
    this.width = Math.max(1, Math.floor(this.width / 2));
  }
}
