import { type Asked, currentCourse, follow, together } from '@keystead/tracing';

/** What waits to be sent in batches, and how. */
export interface Batching<Item> {
  /** What a batch is called where it is watched. */
  readonly name: string;
  /** How many batches may be under way at once. */
  readonly inFlight: number | (() => number);
  /** Most items of a batch. */
  readonly most?: number;
  /** The next batch, if it is not just the oldest; none while all that wait have to wait for what is under way. */
  take?(waiting: readonly Item[]): readonly Item[];
  /** Does the work and tells each item its outcome; never rejects. */
  run(batch: readonly Item[]): Promise<void>;
}

/**
 * Lets work of all callers that begins at the same moment leave together: reads that share a query, writes that share a
 * commit. A batch leaves once everything that has already arrived has asked, so a lone caller waits for nothing. Nothing
 * joins a batch that is under way, so each answer is at least as new as its question.
 */
export class BatchScheduler<Item> {
  private waiting: Item[] = [];
  private underWay = 0;
  /** Items of the batch that left last. */
  private latest = 0;
  private planned = false;
  /** Who asked for what waits, of those that are watched. */
  private readonly asked = new Map<Item, Asked>();

  constructor(private readonly batching: Batching<Item>) {}

  add(item: Item): void {
    this.waiting.push(item);
    const course = currentCourse();
    if (course) this.asked.set(item, { course, sinceMs: performance.now() });
    this.plan();
  }

  /** Items that wait, and batches under way; for metrics. */
  get pending(): number {
    return this.waiting.length + this.underWay;
  }

  private plan(): void {
    if (this.planned || this.waiting.length === 0 || this.isFull()) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      this.start();
    });
  }

  private start(): void {
    while (this.waiting.length > 0 && !this.isFull()) {
      const batch = this.take();
      if (batch.length === 0) return;
      this.underWay++;
      this.latest = batch.length;
      void this.run(batch).finally(() => {
        this.underWay--;
        this.plan();
      });
    }
  }

  private run(batch: readonly Item[]): Promise<void> {
    const asked: Asked[] = [];
    if (this.asked.size > 0) {
      for (const item of batch) {
        const one = this.asked.get(item);
        if (one && this.asked.delete(item)) asked.push(one);
      }
    }
    // The batch runs outside the trace of the caller that started it: the others are not part of that.
    if (asked.length === 0) return follow(undefined, () => this.batching.run(batch));
    return together(this.batching.name, asked, () => this.batching.run(batch));
  }

  private isFull(): boolean {
    const { inFlight } = this.batching;
    if (this.underWay >= (typeof inFlight === 'number' ? inFlight : inFlight())) return true;
    // While one is under way, only a batch of that size leaves: small ones cost each request more than they save it in waiting.
    return this.underWay > 0 && this.waiting.length < this.latest;
  }

  /** Those that stay keep their places. */
  private take(): readonly Item[] {
    const { take, most = Number.POSITIVE_INFINITY } = this.batching;
    if (take === undefined) return this.waiting.splice(0, Math.min(most, this.waiting.length));
    const batch = take(this.waiting);
    const taken = new Set(batch);
    this.waiting = this.waiting.filter((item) => !taken.has(item));
    return batch;
  }
}
