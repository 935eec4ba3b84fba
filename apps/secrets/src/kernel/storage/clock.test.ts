import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshStorage, type TestStorage, until } from '../../../test/fresh-storage';

describe('background work that depends on the time', () => {
  let aheadMs = 7_200_000;
  let test: TestStorage;
  beforeAll(async () => {
    test = await freshStorage({ machineClock: () => Date.now() + aheadMs });
  });
  afterAll(() => test.close());

  it('pauses while the machine’s clock is wrong; other work continues', async () => {
    const { background } = test.storage;
    const runs = { byTime: 0, other: 0 };
    const count = (which: keyof typeof runs) => async () => {
      runs[which]++;
      return undefined;
    };
    background.every('by time', 10, count('byTime'), { byTime: true });
    background.every('other', 10, count('other'));
    await until(() => runs.other > 20);
    expect(runs.byTime).toBe(0);
    expect(test.storage.clockTrouble).toContain('ahead of the database');
    aheadMs = 0;
    await until(() => runs.byTime > 2);
    expect(test.storage.clockTrouble).toBeUndefined();
  });
});
