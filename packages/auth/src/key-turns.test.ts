import { describe, expect, it } from '@jest/globals';
import { firstTurn, isTurnDue, shownKeys, takeTurn } from './index';

const rule = { turnEveryMs: 100, shownForMs: 150 };
const key = (kid: string) => ({ kid });
const names = (keys: readonly { kid: string }[]) => keys.map(({ kid }) => kid);

describe('the turns of an issuer’s keys', () => {
  it('begin where there are none, and come when the current key has signed for long enough', () => {
    const turns = firstTurn(key('a'), key('b'), 1_000);
    expect(isTurnDue(undefined, rule, 0)).toBe(true);
    expect(isTurnDue(turns, rule, 1_099)).toBe(false);
    expect(isTurnDue(turns, rule, 1_100)).toBe(true);
    expect(isTurnDue(takeTurn(turns, key('c'), rule, 1_100), rule, 1_199)).toBe(false);
  });

  it('let only a key sign that was published before, and show the one before it until its tokens have ended', () => {
    const first = firstTurn(key('a'), key('b'), 1_000);
    expect(names(shownKeys(first))).toEqual(['a', 'b']);
    const second = takeTurn(first, key('c'), rule, 1_100);
    expect(second).toEqual({
      current: key('b'),
      next: key('c'),
      previous: [{ kid: 'a', retiredAtMs: 1_100 }],
      currentSinceMs: 1_100,
    });
    const third = takeTurn(second, key('d'), rule, 1_249);
    expect(names(shownKeys(third))).toEqual(['c', 'd', 'b', 'a']);
    expect(names(shownKeys(takeTurn(second, key('d'), rule, 1_250)))).toEqual(['c', 'd', 'b']);
  });
});
