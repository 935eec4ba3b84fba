import { describe, expect, it } from '@jest/globals';
import { restartAfter } from './worker-process';

describe('a worker that ended', () => {
  it('is restarted after a longer pause each time that it ends right after its start', () => {
    let failures = 0;
    const pauses: number[] = [];
    for (let n = 0; n < 12; n++) {
      const next = restartAfter(failures, 500);
      failures = next.failures;
      pauses.push(next.pauseMs);
    }
    expect(pauses.slice(0, 4)).toEqual([200, 400, 800, 1600]);
    expect(pauses.slice(-3)).toEqual([30_000, 30_000, 30_000]);
  });

  it('is restarted at once if it had worked, however often it was killed before', () => {
    expect(restartAfter(12, 11_000)).toEqual({ failures: 1, pauseMs: 200 });
  });
});
