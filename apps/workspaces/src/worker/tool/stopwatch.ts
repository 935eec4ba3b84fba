/** Measures the time during which at least one of several operations is in progress. */
export class Stopwatch {
  private under = 0;
  private sinceMs = 0;
  private countedMs = 0;

  /** The total so far, of everything that has ended. */
  get ms(): number {
    return this.countedMs;
  }

  async during<T>(work: Promise<T>): Promise<T> {
    if (this.under++ === 0) this.sinceMs = performance.now();
    try {
      return await work;
    } finally {
      if (--this.under === 0) this.countedMs += performance.now() - this.sinceMs;
    }
  }
}
