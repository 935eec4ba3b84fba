import { BatchScheduler } from './batch';

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
  /** Keys for which it returns the same string never share a query. */
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
    const taken = new Map<unknown, Waiting>();
    for (const one of waiting) {
      const place = apart ? apart(one.key) : one;
      if (taken.size < most && !taken.has(place)) taken.set(place, one);
    }
    return [...taken.values()];
  };
  const scheduler = new BatchScheduler<Waiting>({ name, inFlight, most, run, take: apart && take });
  return (key) => new Promise((resolve, reject) => scheduler.add({ key, resolve, reject }));
}
