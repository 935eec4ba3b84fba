/** Work that is done for many callers at once. */
export interface Batched<Item, Result, Context> {
  /** One queue per name. */
  readonly name: string;
  /**
   * Does the work for all items, in order. Each gets a result, or an error of its own; what is thrown instead fails
   * the whole batch, whose items are then tried one by one.
   */
  run(context: Context, items: readonly Item[]): Promise<readonly (Result | Error)[]>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Callers that wait at the same moment share one run, and each is answered after it: group commit.
 * At most `inFlight` runs at once; a lone caller waits for nothing.
 */
export function together<Item, Result, Context>(
  work: Batched<Item, Result, Context>,
  context: Context,
  { inFlight = 2, most = 64 }: { inFlight?: number; most?: number } = {},
): (item: Item) => Promise<Result> {
  let queue: Waiting<Item, Result>[] = [];
  let running = 0;
  let planned = false;

  const settle = (batch: readonly Waiting<Item, Result>[], results: readonly (Result | Error)[]): void => {
    for (const [index, { resolve, reject }] of batch.entries()) {
      const result = results[index]!;
      if (result instanceof Error) {
        reject(result);
      } else {
        resolve(result);
      }
    }
  };
  const alone = async (waiting: Waiting<Item, Result>): Promise<void> => {
    try {
      settle([waiting], await work.run(context, [waiting.item]));
    } catch (error) {
      waiting.reject(error);
    }
  };
  const run = async (batch: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const items = batch.map(({ item }) => item);
      settle(batch, await work.run(context, items));
    } catch (error) {
      if (batch.length === 1) {
        batch[0]!.reject(error);
      } else {
        for (const waiting of batch) {
          await alone(waiting);
        }
      }
    } finally {
      running--;
      start();
    }
  };
  // Leaves once everything that has already arrived has asked.
  const plan = (): void => {
    if (planned || running >= inFlight) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      start();
    });
  };
  const start = (): void => {
    while (running < inFlight && queue.length > 0) {
      const batch = queue.slice(0, most);
      queue = queue.slice(most);
      running++;
      void run(batch);
    }
  };
  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      plan();
    });
}
