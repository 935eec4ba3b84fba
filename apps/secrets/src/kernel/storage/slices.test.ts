import { describe, expect, it } from '@jest/globals';
import { mapInSlices } from './slices';

describe('mapping many rows', () => {
  it('keeps their order, and yields after every hundred', async () => {
    const rows = Array.from({ length: 1001 }, (_, n) => n);
    let turns = 0;
    let counting = true;
    const count = () => {
      turns++;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const most: number[] = [];
    let mapped = 0;
    const doubled = await mapInSlices(rows, (n) => {
      mapped++;
      most[turns] = (most[turns] ?? 0) + 1;
      return n % 2 === 0 ? 2 * n : Promise.resolve(2 * n);
    });
    counting = false;
    expect(doubled).toEqual(rows.map((n) => 2 * n));
    expect(mapped).toBe(1001);
    expect(Math.max(...most.filter(Boolean))).toBeLessThanOrEqual(100);
  });

  it('handles an empty list', async () => {
    expect(await mapInSlices([], () => 1)).toEqual([]);
  });
});
