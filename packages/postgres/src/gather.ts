import { BatchScheduler } from './batch';

interface QueuedKey<K, V> {
  readonly key: K;
  readonly resolve: (value: V | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Turns a reader of many keys into a reader of one key: simultaneous calls share a query. At most `inFlight` queries
 * run at once.
 */
export function gather<K, V>(
  readMany: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  { name = 'reads', inFlight = 1, most = 256 }: { name?: string; inFlight?: number; most?: number } = {},
): (key: K) => Promise<V | undefined> {
  const scheduler = new BatchScheduler<QueuedKey<K, V>>({
    name,
    inFlight,
    most,
    async run(batch) {
      try {
        const found = await readMany([...new Set(batch.map((waiting) => waiting.key))]);
        for (const waiting of batch) waiting.resolve(found.get(waiting.key));
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    },
  });
  return (key) => new Promise((resolve, reject) => scheduler.add({ key, resolve, reject }));
}
