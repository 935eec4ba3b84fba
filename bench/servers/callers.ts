import { setTimeout as sleep } from 'node:timers/promises';
import { get, type Read } from './get';

/** A crowd: `count` callers, each on a separate connection, who arrive within `withinMs`. */
export interface Crowd extends Read {
  readonly count: number;
  readonly withinMs: number;
}

/** Makes the calls that the parent process requests, reports when all are answered, and ends. */
process.once('message', async (load: Crowd) => {
  const { count, withinMs } = load;
  const calls = Array.from({ length: count }, async (_, n) => {
    if (withinMs > 0) await sleep((n * withinMs) / count);
    await get(load, false);
  });
  await Promise.all(calls);
  process.send?.('done');
  process.disconnect();
});
process.send?.('ready');
