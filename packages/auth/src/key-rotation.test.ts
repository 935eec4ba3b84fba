import { describe, expect, it } from '@jest/globals';
import { firstKeys, isRotationDue, rotateKeys, shownKeys } from './index';

const rule = { rotateEveryMs: 100, shownForMs: 150 };
const key = (kid: string) => ({ kid });
const names = (keys: readonly { kid: string }[]) => keys.map(({ kid }) => kid);

describe('the keys of an issuer', () => {
  it('are created if there are none, and rotate when the current key has signed for long enough', () => {
    const keys = firstKeys(key('a'), key('b'), 1_000);
    expect(isRotationDue(undefined, rule, 0)).toBe(true);
    expect(isRotationDue(keys, rule, 1_099)).toBe(false);
    expect(isRotationDue(keys, rule, 1_100)).toBe(true);
    expect(isRotationDue(rotateKeys(keys, key('c'), rule, 1_100), rule, 1_199)).toBe(false);
  });

  it('sign only with a key that was published before, and publish the previous one until its tokens have ended', () => {
    const first = firstKeys(key('a'), key('b'), 1_000);
    expect(names(shownKeys(first))).toEqual(['a', 'b']);
    const second = rotateKeys(first, key('c'), rule, 1_100);
    expect(second).toEqual({
      current: key('b'),
      next: key('c'),
      previous: [{ kid: 'a', retiredAtMs: 1_100 }],
      currentSinceMs: 1_100,
    });
    const third = rotateKeys(second, key('d'), rule, 1_249);
    expect(names(shownKeys(third))).toEqual(['c', 'd', 'b', 'a']);
    expect(names(shownKeys(rotateKeys(second, key('d'), rule, 1_250)))).toEqual(['c', 'd', 'b']);
  });
});
