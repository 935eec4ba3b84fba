import { setTimeout as sleep } from 'node:timers/promises';
import { type Carrying, carryOut, type WorkerParts } from './carry-out';
import { Failing } from './retry';

/** A worker at work. */
export interface Claiming {
  /** Takes no more jobs, waits a while for the current ones to end, then stops them. */
  close(drainSeconds: number): Promise<void>;
  /** Jobs in progress. */
  count(): number;
}

const longestPauseMs = 10_000;

/** Takes jobs, up to `parallel` at a time, until it is closed. */
export function startClaiming(parts: WorkerParts, options: { parallel: number; pollMs: number }): Claiming {
  const { source, log } = parts;
  const stopped = new AbortController();
  const carrying = new Set<Carrying>();
  const executing = new Set<Carrying>();
  const failing = new Failing(log, 'no job could be taken');
  let closing = false;
  let wake = () => {};
  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const claim = async (): Promise<boolean> => {
    const job = await source.claim(stopped.signal);
    parts.heard?.();
    if (!job) return false;
    if (closing) {
      await source.release(job);
      return false;
    }
    const one = carryOut(parts, job);
    carrying.add(one);
    executing.add(one);
    // The next job need not wait until this one's result is handed in.
    void one.executed.then(() => {
      executing.delete(one);
      wake();
    });
    void one.done.finally(() => {
      carrying.delete(one);
      wake();
    });
    return true;
  };
  const looping = (async () => {
    let pauseMs = options.pollMs;
    while (!closing) {
      try {
        const hasRoom = executing.size < options.parallel && carrying.size < options.parallel * 2;
        const more = hasRoom && (await claim());
        pauseMs = options.pollMs;
        failing.worked();
        if (more) continue;
      } catch (error) {
        if (closing) break;
        failing.failed(error);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
      if (!closing) await rest(pauseMs);
    }
  })();
  return {
    count: () => carrying.size,
    async close(drainSeconds) {
      closing = true;
      stopped.abort();
      wake();
      await looping;
      const ended = Promise.all([...carrying].map(({ done }) => done));
      const drain = new AbortController();
      await Promise.race([
        ended,
        sleep(drainSeconds * 1000, undefined, { signal: drain.signal }).catch(() => undefined),
      ]);
      drain.abort();
      for (const one of carrying) one.stop();
      await ended;
      await source.retire().catch((error) => log.warn({ err: error }, 'not deregistered'));
    },
  };
}
