import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { combineShares, sameSecret, splitKey } from './index';

describe('key shares', () => {
  it.each([
    [5, 3],
    [2, 2],
    [255, 2],
    [10, 10],
  ])('%i, of which any %i restore the key', async (shares, threshold) => {
    const key = randomBytes(32);
    const all = await splitKey(key, shares, threshold);
    expect(all).toHaveLength(shares);
    expect(await combineShares(all.slice(-threshold).reverse())).toEqual(key);
    expect(await combineShares(all)).toEqual(key);
    expect(await combineShares(all.slice(0, threshold - 1))).not.toEqual(key);
  });

  it('are one byte longer than the key and differ in their last byte', async () => {
    const all = await splitKey(randomBytes(32), 50, 3);
    expect(all.every((share) => share.length === 33)).toBe(true);
    const last = all.map((share) => share[32]!);
    expect(new Set(last).size).toBe(50);
    expect(last).not.toContain(0);
  });

  it('use the field with the polynomial 0x11b', async () => {
    // Two points of the line y = 0x53 + 0xca·x: at x = 1 it is 0x53 ^ 0xca; at x = 2, 0xca doubled is 0x194 ^ 0x11b = 0x8f.
    const line = [Buffer.from([0x53 ^ 0xca, 1]), Buffer.from([0x53 ^ 0x8f, 2])];
    expect(await combineShares(line)).toEqual(Buffer.from([0x53]));
  });

  it('are the key itself when there is only one', async () => {
    const key = randomBytes(32);
    expect(await splitKey(key, 1, 1)).toEqual([key]);
    expect(await combineShares([key])).toEqual(key);
  });

  it('cannot be several with a threshold of one', async () => {
    await expect(splitKey(randomBytes(32), 3, 1)).rejects.toThrow();
    await expect(splitKey(randomBytes(32), 1, 2)).rejects.toThrow();
  });

  it('cannot be fewer than the threshold', async () => {
    await expect(splitKey(randomBytes(32), 2, 3)).rejects.toThrow();
    const [one] = await splitKey(randomBytes(32), 3, 2);
    await expect(combineShares([one!, one!])).rejects.toThrow();
  });
});

describe('comparing secrets', () => {
  it('needs equal length and equal bytes', () => {
    expect(sameSecret(Buffer.from('abc'), Buffer.from('abc'))).toBe(true);
    expect(sameSecret(Buffer.from('abc'), Buffer.from('abd'))).toBe(false);
    expect(sameSecret(Buffer.from('abc'), Buffer.from('abcd'))).toBe(false);
  });
});
