const TICK_MS = 250;

/** The reason why a waiter gives up: the database does not answer, or the waiter's time limit has passed. */
export type Impatience = 'silent' | 'late';

interface Watched {
  readonly untilMs: number;
  tell: (why: Impatience) => void;
  about: unknown;
}

const ignore = (): void => {};

/**
 * Detects that a database has stopped answering, for example because it is frozen or the network drops packets: no
 * response has arrived for a while although there were always open requests. Time in which this process itself was
 * blocked is not counted.
 */
export class Silence {
  private silentMs = 0;
  private tickedMs: number;
  private readonly timer: NodeJS.Timeout;
  private readonly waiting = new Set<Watched>();

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

  /** The database answered something. */
  noteAnswer(): void {
    this.silentMs = 0;
  }

  /**
   * Calls back once, when the database has been silent for too long or after `longestMs`. Call the result to cancel.
   * All waiters share one timer, because separate timers would cost a request a tenth of its time. `waitingFor` returns
   * `about` in the meantime.
   */
  whenItLasts(tell: (why: Impatience) => void, longestMs = Number.POSITIVE_INFINITY, about?: unknown): () => void {
    const waiting: Watched = { tell, untilMs: this.steady() + longestMs, about };
    this.waiting.add(waiting);
    return () => {
      this.waiting.delete(waiting);
      // Decision 0003.
      waiting.tell = ignore;
      waiting.about = undefined;
    };
  }

  /** The `about` of all current waiters, longest wait first, with the milliseconds until they time out. */
  waitingFor(): { about: unknown; leftMs: number }[] {
    const nowMs = this.steady();
    return [...this.waiting].map(({ about, untilMs }) => ({ about, leftMs: untilMs - nowMs }));
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
    for (const waiting of this.waiting) {
      if (!lasts && waiting.untilMs > nowMs) continue;
      this.waiting.delete(waiting);
      waiting.tell(lasts ? 'silent' : 'late');
    }
  }
}
