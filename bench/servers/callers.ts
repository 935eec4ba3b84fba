import { setTimeout as sleep } from 'node:timers/promises';
import { get, type Read } from './get';

/** A crowd: `count` callers, each on a separate connection, who arrive within `withinMs`. */
export interface Crowd extends Read {
  readonly count: number;
  readonly withinMs: number;
}

/** Sends the parent's calls, reports when all are answered, and ends. */
process.once('message', async (crowd: Crowd) => {
  const { count, withinMs } = crowd;
  const calls = Array.from({ length: count }, async (_, n) => {
    if (withinMs > 0) await sleep((n * withinMs) / count);
    await get(crowd, false);
  });
  await Promise.all(calls);
  process.send?.('done');
  process.disconnect();
});
process.send?.('ready');
