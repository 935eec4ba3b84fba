import { setTimeout as sleep } from 'node:timers/promises';

/** A limit on requests per second. Each request waits for its turn. */
export class RequestPace {
  private next = 0;

  /** `perSecond` 0: no limit. */
  constructor(private readonly perSecond: number) {}

  async turn(): Promise<void> {
    if (this.perSecond === 0) return;
    const now = performance.now();
    const at = Math.max(this.next, now);
    this.next = at + 1000 / this.perSecond;
    if (at > now) await sleep(at - now);
  }
}

/**
 * Processes the items of a list, at most `width` in parallel. After the first failure it starts no more, waits for
 * running work, and throws.
 */
export async function inParallel<T>(
  items: AsyncGenerator<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const worker = async () => {
    while (failures.length === 0) {
      const { done, value } = await items.next();
      if (done) return;
      await work(value);
    }
  };
  await Promise.all(
    Array.from({ length: width }, () =>
      worker().catch((error: unknown) => {
        failures.push(error);
      }),
    ),
  );
  if (failures.length > 0) throw failures[0];
}
