const TICK_MS = 250;

/**
 * Notices that a database has stopped answering, as when it is frozen or the network swallows everything: nothing came back
 * for a while although it was asked all the time. Time in which this process itself was held up does not count.
 */
export class Silence {
  private silentMs = 0;
  private tickedMs: number;
  private readonly timer: NodeJS.Timeout;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly limitMs: number,
    private readonly steady: () => number = () => performance.now(),
  ) {
    this.tickedMs = steady();
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.timer.unref();
  }

  /** True while nobody should wait for the database. */
  get lasts(): boolean {
    return this.silentMs >= this.limitMs;
  }

  /** The database answered something. */
  heard(): void {
    this.silentMs = 0;
  }

  /** Calls back, once, when the silence has lasted too long; what it returns takes the call back. */
  whenItLasts(tell: () => void): () => void {
    this.waiting.add(tell);
    return () => void this.waiting.delete(tell);
  }

  stop(): void {
    clearInterval(this.timer);
    this.waiting.clear();
  }

  private tick(): void {
    const nowMs = this.steady();
    this.silentMs += Math.min(nowMs - this.tickedMs, 2 * TICK_MS);
    this.tickedMs = nowMs;
    if (!this.lasts) return;
    for (const tell of this.waiting) tell();
    this.waiting.clear();
  }
}
