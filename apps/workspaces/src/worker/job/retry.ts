import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal } from '@keystead/refusal';
import type { Logger } from '@keystead/server';

/** Repeats a call after each of the pauses until it succeeds. Refusals are final and thrown immediately. */
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

/** Pauses that double each time up to a maximum, until the time limit. */
export function* doubling(fromMs: number, longestMs: number, isOver: (pauseMs: number) => boolean): Iterable<number> {
  for (let pauseMs = fromMs; !isOver(pauseMs); pauseMs = Math.min(pauseMs * 2, longestMs)) yield pauseMs;
}

const longestSilenceMs = 600_000;

/**
 * Logs repeated failures: the first one completely, then one line at growing intervals, and a line when the attempts
 * succeed again. A service that is down for hours does not fill the log.
 */
export class Failing {
  private count = 0;
  private sinceMs = 0;
  private nextMs = 0;

  constructor(
    private readonly log: Pick<Logger, 'warn' | 'info'>,
    private readonly what: string,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Records that an attempt failed. */
  failed(error: unknown): void {
    const nowMs = this.now();
    this.count++;
    if (this.count === 1) {
      this.sinceMs = nowMs;
      this.nextMs = nowMs + 10_000;
      this.log.warn({ err: error }, this.what);
    } else if (nowMs >= this.nextMs) {
      this.nextMs = nowMs + Math.min(nowMs - this.sinceMs, longestSilenceMs);
      this.log.warn(
        { seconds: this.seconds, times: this.count, reason: (error as Error).message },
        `still: ${this.what}`,
      );
    }
  }

  /** Records that an attempt succeeded. */
  worked(): void {
    if (this.count === 0) return;
    this.log.info({ seconds: this.seconds, times: this.count }, `works again, after: ${this.what}`);
    this.count = 0;
  }

  private get seconds(): number {
    return Math.round((this.now() - this.sinceMs) / 1000);
  }
}
