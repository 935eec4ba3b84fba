const TICK_MS = 250;

/** The reason why a waiter gives up: the database does not answer, or the waiter's time limit has passed. */
export type Impatience = 'silent' | 'late';

/** Something that waits for the database, and what to do if that takes too long. */
export interface Waiter {
  giveUp(why: Impatience): void;
}

/** A waiter and its time limit. */
export interface Wait {
  readonly untilMs: number;
  /** Undefined after the wait has ended. */
  waiter: Waiter | undefined;
}

/**
 * Detects that a database has stopped answering, for example because it is frozen or the network drops packets. This is
 * the case if there have been open requests for a while and no response has arrived. Time during which this process
 * itself was blocked is not counted.
 */
export class Silence {
  private silentMs = 0;
  private tickedMs: number;
  private readonly timer: NodeJS.Timeout;
  private readonly waiting = new Set<Wait>();

  constructor(
    private readonly limitMs: number,
    private readonly steady: () => number = () => performance.now(),
  ) {
    this.tickedMs = steady();
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.timer.unref();
  }

  /** True while callers should not wait for the database. */
  get lasts(): boolean {
    return this.silentMs >= this.limitMs;
  }

  /** Records that the database answered a request. */
  noteAnswer(): void {
    this.silentMs = 0;
  }

  /**
   * Calls `giveUp` once, when the database has been silent for too long or after `longestMs`; end the wait with `end`.
   * All waiters share one timer, because separate timers would cost a request a tenth of its time.
   */
  begin(waiter: Waiter, longestMs = Number.POSITIVE_INFINITY): Wait {
    const wait: Wait = { untilMs: this.steady() + longestMs, waiter };
    this.waiting.add(wait);
    return wait;
  }

  end(wait: Wait): void {
    this.waiting.delete(wait);
    // Decision 0003.
    wait.waiter = undefined;
  }

  /** All current waiters, longest wait first, with the milliseconds until they time out. */
  waiters(): { waiter: Waiter | undefined; leftMs: number }[] {
    const nowMs = this.steady();
    return [...this.waiting].map(({ waiter, untilMs }) => ({ waiter, leftMs: untilMs - nowMs }));
  }

  stop(): void {
    clearInterval(this.timer);
    this.waiting.clear();
  }

  private tick(): void {
    const nowMs = this.steady();
    this.silentMs += Math.min(nowMs - this.tickedMs, 2 * TICK_MS);
    this.tickedMs = nowMs;
    const { lasts } = this;
    for (const wait of this.waiting) {
      if (!lasts && wait.untilMs > nowMs) continue;
      this.waiting.delete(wait);
      wait.waiter?.giveUp(lasts ? 'silent' : 'late');
    }
  }
}
