import { describe, expect, it } from '@jest/globals';
import { Turns } from './keyed-mutex';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('come in the order of asking, one after the other, also behind work that fails; other names do not wait', async () => {
    const turns = new Turns();
    const said: string[] = [];
    let free = () => {};
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    const stand = (name: string, what: string, work: () => Promise<void>) =>
      turns.stand(name, async (waited) => {
        said.push(`${what}${waited ? ' waited' : ''}`);
        await work();
      });
    const all = [
      stand('a', 'first', () => held),
      stand('a', 'second', async () => {
        throw new Error('as expected');
      }),
      stand('a', 'third', tick),
      stand('b', 'other', tick),
    ];
    const ended = Promise.allSettled(all);
    await all[3];
    expect(said).toEqual(['first', 'other']);
    free();
    expect((await ended).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(said).toEqual(['first', 'other', 'second waited', 'third waited']);
    await stand('a', 'later', tick);
    expect(said.at(-1)).toBe('later');
  });

  it('are given up when they do not come in time, and those behind still have theirs', async () => {
    const turns = new Turns(1);
    let free = () => {};
    const first = turns.stand('a', () => new Promise<void>((resolve) => (free = resolve)));
    await expect(turns.stand('a', tick)).rejects.toMatchObject({ kind: 'unavailable' });
    free();
    await first;
    await turns.stand('a', tick);
  });
});
