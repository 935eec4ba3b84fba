import { describe, expect, it } from '@jest/globals';
import { KeyedMutex } from './keyed-mutex';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('work under a key', () => {
  it('runs in order of arrival, one at a time, also after work that fails; other names do not wait', async () => {
    const mutex = new KeyedMutex();
    const said: string[] = [];
    let free = () => {};
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    const stand = (name: string, what: string, work: () => Promise<void>) =>
      mutex.run(name, async (waited) => {
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

  it('is given up if it waits too long, and later work still runs', async () => {
    const mutex = new KeyedMutex(1);
    let free = () => {};
    const first = mutex.run('a', () => new Promise<void>((resolve) => (free = resolve)));
    await expect(mutex.run('a', tick)).rejects.toMatchObject({ kind: 'unavailable' });
    free();
    await first;
    await mutex.run('a', tick);
  });
});
