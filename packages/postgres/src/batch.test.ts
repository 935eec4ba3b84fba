import { describe, expect, it } from '@jest/globals';
import { BatchScheduler } from './batch';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A scheduler whose batches end on command. */
function started(options: {
  inFlight: number | (() => number);
  most?: number;
  take?: (all: readonly string[]) => string[];
}) {
  const sent: string[][] = [];
  const finishers: (() => void)[] = [];
  const scheduler = new BatchScheduler<string>({
    name: 'work',
    ...options,
    run(batch) {
      sent.push([...batch]);
      return new Promise((end) => finishers.push(end));
    },
  });
  const add = (...items: string[]) => {
    for (const item of items) scheduler.add(item);
  };
  const end = async (index: number) => {
    finishers[index]!();
    await turn();
    await turn();
  };
  return { scheduler, sent, add, end };
}

describe('batches', () => {
  it('contain the items of one turn, run a limited number at a time, and accept no items while they run', async () => {
    const { scheduler, sent, add, end } = started({ inFlight: 1 });
    add('a', 'b');
    expect(sent).toEqual([]);
    await turn();
    add('c');
    await turn();
    add('d');
    await turn();
    expect([sent, scheduler.pending]).toEqual([[['a', 'b']], 3]);
    await end(0);
    expect(sent).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    await end(1);
    expect(scheduler.pending).toBe(0);
  });

  it('start in parallel to a running one only if they are as large', async () => {
    const { sent, add, end } = started({ inFlight: 2 });
    add('a', 'b');
    await turn();
    add('c');
    await turn();
    expect(sent).toEqual([['a', 'b']]);
    add('d');
    await turn();
    expect(sent).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    add('e');
    await end(0);
    expect(sent).toHaveLength(2);
    await end(1);
    expect(sent[2]).toEqual(['e']);
  });

  it('have a maximum size', async () => {
    const { sent, add } = started({ inFlight: 2, most: 2 });
    add('a', 'b', 'c', 'd', 'e');
    await turn();
    expect(sent).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('are what `take` returns: the other items keep their order, and wait if it returns nothing', async () => {
    const busy = new Set(['x']);
    const { sent, add, end } = started({ inFlight: 2, take: (all) => all.filter((item) => !busy.has(item)) });
    add('a', 'x', 'b');
    await turn();
    expect(sent).toEqual([['a', 'b']]);
    busy.clear();
    await end(0);
    expect(sent).toEqual([['a', 'b'], ['x']]);
  });

  it('follow the current limit on parallel batches', async () => {
    let most = 1;
    const { sent, add } = started({ inFlight: () => most });
    add('a');
    await turn();
    add('b');
    await turn();
    expect(sent).toEqual([['a']]);
    most = 2;
    add('c');
    await turn();
    expect(sent).toEqual([['a'], ['b', 'c']]);
  });
});
