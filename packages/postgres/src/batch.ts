import { type Asked, currentCourse, follow, together } from '@keystead/tracing';

/** A kind of batch: its limits and how it is sent. */
export interface Batching<Item> {
  /** The name of a batch in traces. */
  readonly name: string;
  /** The maximum number of batches that run at the same time. */
  readonly inFlight: number | (() => number);
  /** The maximum number of items in a batch. */
  readonly most?: number;
  /**
   * Chooses the next batch. Default: the oldest items. Returns an empty list while all waiting items must wait for a
   * running batch.
   */
  take?(waiting: readonly Item[]): readonly Item[];
  /** Does the work and settles each item. Never rejects. */
  run(batch: readonly Item[]): Promise<void>;
}

/**
 * Sends the work of simultaneous callers together: reads that share a query, writes that share a commit. A batch is
 * sent at the end of the current turn of the event loop, so a single caller does not wait. No caller can join a running
 * batch, so each result is at least as new as its request.
 */
export class BatchScheduler<Item> {
  private waiting: Item[] = [];
  private underWay = 0;
  /** The size of the last batch. */
  private latest = 0;
  private planned = false;
  /** The watched callers of the waiting items. */
  private readonly askers = new Map<Item, Asked>();

  constructor(private readonly batching: Batching<Item>) {}

  add(item: Item): void {
    this.waiting.push(item);
    const course = currentCourse();
    if (course) this.askers.set(item, { course, sinceMs: performance.now() });
    this.plan();
  }

  /** Waiting items and batches in progress, for metrics. */
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
    const batchAskers: Asked[] = [];
    if (this.askers.size > 0) {
      for (const item of batch) {
        const one = this.askers.get(item);
        if (one && this.askers.delete(item)) batchAskers.push(one);
      }
    }
    // The batch runs outside the trace of the caller that started it, because it also works for other callers.
    if (batchAskers.length === 0) return follow(undefined, () => this.batching.run(batch));
    return together(this.batching.name, batchAskers, () => this.batching.run(batch));
  }

  private isFull(): boolean {
    const { inFlight } = this.batching;
    if (this.underWay >= (typeof inFlight === 'number' ? inFlight : inFlight())) return true;
    // While a batch is running, the next one is sent only if it is as large as the last, because a smaller batch costs
    // each request more than it saves in waiting.
    return this.underWay > 0 && this.waiting.length < this.latest;
  }

  /** Removes the items of the next batch from the queue. The remaining items keep their order. */
  private take(): readonly Item[] {
    const { take, most = Number.POSITIVE_INFINITY } = this.batching;
    if (take === undefined) return this.waiting.splice(0, Math.min(most, this.waiting.length));
    const batch = take(this.waiting);
    const chosen = new Set(batch);
    this.waiting = this.waiting.filter((item) => !chosen.has(item));
    return batch;
  }
}

interface QueuedKey<K, V> {
  readonly key: K;
  readonly resolve: (value: V | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface Gathering<K> {
  readonly name?: string;
  /** The maximum number of queries at the same time, and of keys in a query. */
  readonly inFlight?: number;
  readonly most?: number;
  /** Keys for which this function returns the same string never share a query. */
  readonly apart?: (key: K) => string;
  /** Whether each key gets a separate query after a shared query has failed with this error. */
  readonly repeats?: (error: unknown) => boolean;
}

/** Converts a reader of many keys into a reader of one key. Simultaneous calls share a query. */
export function gather<K, V>(
  readMany: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  { name = 'reads', inFlight = 1, most = 256, apart, repeats = () => false }: Gathering<K> = {},
): (key: K) => Promise<V | undefined> {
  type Waiting = QueuedKey<K, V>;
  const run = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const found = await readMany([...new Set(batch.map((waiting) => waiting.key))]);
      for (const waiting of batch) waiting.resolve(found.get(waiting.key));
    } catch (error) {
      if (batch.length > 1 && repeats(error)) for (const waiting of batch) await run([waiting]);
      else for (const waiting of batch) waiting.reject(error);
    }
  };
  const take = (waiting: readonly Waiting[]): Waiting[] => {
    const selected = new Map<unknown, Waiting>();
    for (const one of waiting) {
      const place = apart ? apart(one.key) : one;
      if (selected.size < most && !selected.has(place)) selected.set(place, one);
    }
    return [...selected.values()];
  };
  const scheduler = new BatchScheduler<Waiting>({ name, inFlight, most, run, take: apart && take });
  return (key) => new Promise((resolve, reject) => scheduler.add({ key, resolve, reject }));
}
