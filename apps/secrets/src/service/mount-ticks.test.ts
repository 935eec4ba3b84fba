import { afterAll, describe, expect, it } from '@jest/globals';
import type { Logger } from '@keystead/server';
import { Background } from '../kernel/storage/background';
import type { Modules } from './modules';
import { runTicks } from './mount-ticks';

/** Shorter than the interval at which all mounts are checked. */
const soonMs = 3700;

describe('the scheduled work of a mount', () => {
  const background = new Background(
    () => false,
    () => false,
  );
  afterAll(() => background.stop());

  it('is done when the mount reported that it is due, and for other mounts when all are checked', async () => {
    const called: string[] = [];
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    // Timers of one process fire in order, however busy it is.
    const ticks: Record<string, () => number | undefined> = {
      // Always due, but only called at the minimum interval.
      due: () => Date.now() - 1000,
      later() {
        setTimeout(() => {
          called.push('soon');
          end();
        }, soonMs);
        return Date.now() + 3_600_000;
      },
      silent: () => undefined,
    };
    const mounts = Object.entries(ticks).map(([uuid, tick]) => ({
      uuid,
      tainted: false,
      backend: {
        async tick() {
          called.push(uuid);
          return tick();
        },
      },
    }));
    const modules = {
      storage: { background, clock: { now: () => Date.now() }, barrier: { sealed: false } },
      mounts: { all: () => mounts, refresh() {}, find: (uuid: string) => mounts.find((one) => one.uuid === uuid) },
      inBackground: (_mount: unknown, run: () => Promise<unknown>) => run(),
    };
    runTicks(modules as unknown as Modules, {} as Logger);
    background.start();
    await ended;
    await background.stop();
    expect(called.filter((name) => name !== 'due')).toEqual(['later', 'silent', 'soon']);
    const times = called.filter((name) => name === 'due').length;
    expect(times).toBeGreaterThanOrEqual(2);
    expect(times).toBeLessThanOrEqual(3);
  });
});
