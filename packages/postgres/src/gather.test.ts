import { describe, expect, it } from '@jest/globals';
import { gather } from './batch';

describe('gather', () => {
  it('lets simultaneous calls share a query, and answers each', async () => {
    const queries: string[][] = [];
    const read = gather<string, string>(async (keys) => {
      queries.push([...keys]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return new Map(keys.filter((key) => key !== 'absent').map((key) => [key, key.toUpperCase()]));
    });
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'c', 'absent'].map(read));
    expect(answers).toEqual(['A', 'B', 'C', 'D', 'C', undefined]);
    expect(queries.length).toBeLessThan(4);
    expect(queries.flat().sort()).toEqual(['a', 'absent', 'b', 'c', 'd']);
  });

  it('never returns results of a query that began before the call', async () => {
    let value = 'old';
    const read = gather<string, string>(
      async (keys) => {
        const lastValue = value;
        await new Promise((resolve) => setTimeout(resolve, 5));
        return new Map(keys.map((key) => [key, lastValue]));
      },
      { inFlight: 1 },
    );
    const before = read('k');
    await new Promise((resolve) => setImmediate(resolve));
    value = 'new';
    expect(await Promise.all([before, read('k')])).toEqual(['old', 'new']);
  });

  it('fails every caller of a failed query, and continues', async () => {
    let fails = true;
    const read = gather<string, number>(async (keys) => {
      if (fails) throw new Error('gone');
      return new Map(keys.map((key) => [key, 1]));
    });
    await expect(Promise.all([read('a'), read('b')])).rejects.toThrow('gone');
    fails = false;
    expect(await read('a')).toBe(1);
  });

  it('reads keys with the same group in separate queries, and all others in one', async () => {
    const queries: string[][] = [];
    const read = gather<string, string>(
      async (keys) => {
        queries.push([...keys]);
        return new Map(keys.map((key) => [key, key.toUpperCase()]));
      },
      { apart: (key) => key[0]!, most: 2 },
    );
    expect(await Promise.all(['a1', 'a2', 'b1', 'c1', 'a3'].map(read))).toEqual(['A1', 'A2', 'B1', 'C1', 'A3']);
    expect(queries).toEqual([['a1', 'b1'], ['a2', 'c1'], ['a3']]);
  });

  it('fails only one key if the query may be repeated key by key', async () => {
    let queries = 0;
    const read = gather<string, string>(
      async (keys) => {
        queries++;
        if (keys.includes('bad')) throw new Error('bad');
        return new Map(keys.map((key) => [key, key]));
      },
      { repeats: (error) => (error as Error).message === 'bad' },
    );
    const answers = await Promise.allSettled(['a', 'bad', 'b'].map(read));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(queries).toBe(4);
  });
});
