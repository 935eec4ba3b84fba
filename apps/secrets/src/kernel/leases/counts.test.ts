import { describe, expect, it } from '@jest/globals';
import type { StorageKernel } from '../storage/storage';
import { countLeases, RowCounts } from './counts';

describe('counting rows', () => {
  let timeMs = 0;
  let calls = 0;
  /** A fake database: the number of leases equals the number of queries, and each count takes this long. */
  const countsTaking = (tookMs: number, fails = false) => {
    timeMs = 0;
    calls = 0;
    const query = async () => {
      calls++;
      timeMs += tookMs;
      if (fails) throw new Error('away');
      return { rows: [{ leases: calls, irrevocable: 1, not_live: 3, due: 0, tokens: 0, tokens_due: 0, intents: 0 }] };
    };
    const storage = { database: { query }, clock: { now: () => 0 } } as unknown as StorageKernel;
    return new RowCounts(
      () => countLeases(storage),
      () => timeMs,
    );
  };

  it('is repeated each time while it is fast', async () => {
    const counts = countsTaking(5);
    expect((await counts.now()).leases).toBe(1);
    expect(await counts.now()).toMatchObject({ leases: 2, irrevocable: 1, ending: 2 });
  });

  it('is not repeated for twenty times as long as it took', async () => {
    const counts = countsTaking(400);
    expect((await counts.now()).leases).toBe(1);
    timeMs += 7900;
    expect((await counts.now()).leases).toBe(1);
    timeMs += 200;
    expect((await counts.now()).leases).toBe(2);
  });

  it('is done once for simultaneous callers', async () => {
    const counts = countsTaking(5);
    const both = await Promise.all([counts.now(), counts.now()]);
    expect(both.map(({ leases }) => leases)).toEqual([1, 1]);
  });

  it('is tried again after a failure', async () => {
    const counts = countsTaking(400, true);
    await expect(counts.now()).rejects.toThrow('away');
    await expect(counts.now()).rejects.toThrow('away');
    expect(calls).toBe(2);
  });
});
