import { describe, expect, it } from '@jest/globals';
import type { ChangeNotices } from './types';
import { WholeTable } from './whole-table';

describe('a table cached as a whole', () => {
  function table() {
    let stored = 1;
    let tell = () => {};
    const readings: (() => void)[] = [];
    const loads = { count: 0 };
    const changes = {
      fresh: true,
      listen: (_topic: string, forget: (key: string) => void) => {
        tell = () => forget('*');
      },
    };
    const rendered = { value: 0 };
    const cachedTable = new WholeTable(changes as unknown as ChangeNotices, 'mount', async () => {
      const read = stored;
      loads.count++;
      await new Promise<void>((resolve) => readings.push(resolve));
      rendered.value = read;
    });
    const change = (to: number) => {
      stored = to;
      tell();
    };
    /** Lets reads finish, including those that start in the meantime. */
    const finish = async () => {
      for (let turns = 0; turns < 20; turns++) {
        readings.shift()?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    /** The value that a caller gets now. */
    const ask = async () => {
      await cachedTable.refresh();
      return rendered.value;
    };
    return { changes, change, finish, ask, begun: loads };
  }

  it('shows callers nothing that was read before the last notice', async () => {
    const { change, finish, ask } = table();
    const before = ask();
    change(2);
    const after = [ask(), ask()];
    await finish();
    expect(await before).toBe(1);
    expect(await Promise.all(after)).toEqual([2, 2]);
  });

  it('is read once more for all callers that come during a read, while notices may be missed', async () => {
    const { changes, change, finish, ask, begun: loads } = table();
    changes.fresh = false;
    const first = ask();
    change(2);
    const others = [...Array(100)].map(() => ask());
    await finish();
    expect([await first, ...new Set(await Promise.all(others))]).toEqual([1, 2]);
    expect(loads.count).toBe(2);
  });

  it('shows callers nothing that was read before their request, while notices may be missed', async () => {
    const { changes, change, finish, ask } = table();
    void ask();
    await finish();
    changes.fresh = false;
    const before = ask();
    change(2);
    const after = ask();
    await finish();
    await before;
    expect(await after).toBe(2);
  });
});
