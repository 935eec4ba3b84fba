import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal } from '@keystead/refusal';

/** Does something again after each of the pauses until it succeeds. Refusals are answers and thrown at once. */
export async function retry<T>(
  work: () => Promise<T>,
  pausesMs: Iterable<number>,
  failed: (error: unknown) => void = () => undefined,
): Promise<T> {
  const pauses = pausesMs[Symbol.iterator]();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isRefusal(error)) throw error;
      const pause = pauses.next();
      if (pause.done) throw error;
      failed(error);
      await sleep(pause.value);
    }
  }
}

/** Pauses that are twice as long each time, up to the longest, until it is too late for another. */
export function* doubling(fromMs: number, longestMs: number, isOver: (pauseMs: number) => boolean): Iterable<number> {
  for (let pauseMs = fromMs; !isOver(pauseMs); pauseMs = Math.min(pauseMs * 2, longestMs)) yield pauseMs;
}
