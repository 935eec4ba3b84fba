import { describe, expect, it } from '@jest/globals';
import { gather } from './gather';

describe('gather', () => {
  it('lets calls that wait at the same moment share a query, and answers each', async () => {
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

  it('never answers from a query that began before the question', async () => {
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

  it('tells every caller of a failed query, and goes on', async () => {
    let fails = true;
    const read = gather<string, number>(async (keys) => {
      if (fails) throw new Error('gone');
      return new Map(keys.map((key) => [key, 1]));
    });
    await expect(Promise.all([read('a'), read('b')])).rejects.toThrow('gone');
    fails = false;
    expect(await read('a')).toBe(1);
  });
});
