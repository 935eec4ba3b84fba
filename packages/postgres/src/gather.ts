/**
 * Turns a reader of many keys into a reader of one: calls that wait at the same moment share one query.
 *
 * A call never joins a query that has already started, so each answer is at least as new as its question.
 * At most `inFlight` queries run at once; a lone caller waits for nothing.
 */
export function gather<K, V>(
  readMany: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  { inFlight = 1, most = 256 }: { inFlight?: number; most?: number } = {},
): (key: K) => Promise<V | undefined> {
  interface Waiting {
    readonly key: K;
    readonly resolve: (value: V | undefined) => void;
    readonly reject: (error: unknown) => void;
  }
  let queue: Waiting[] = [];
  let running = 0;
  let planned = false;

  const run = async (batch: readonly Waiting[]) => {
    try {
      const found = await readMany([...new Set(batch.map((waiting) => waiting.key))]);
      for (const waiting of batch) waiting.resolve(found.get(waiting.key));
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      running--;
      start();
    }
  };
  // Leaves once everything that has already arrived has asked.
  const plan = () => {
    if (planned || running >= inFlight) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      start();
    });
  };
  const start = () => {
    while (running < inFlight && queue.length > 0) {
      const batch = queue.slice(0, most);
      queue = queue.slice(most);
      running++;
      void run(batch);
    }
  };
  return (key) =>
    new Promise((resolve, reject) => {
      queue.push({ key, resolve, reject });
      plan();
    });
}
