import { expect, it } from '@jest/globals';
import { parseSeconds } from './duration';

it.each<[string, number | undefined]>([
  ['0', 0],
  ['90', 90],
  [' 90 ', 90],
  ['90s', 90],
  ['1m', 60],
  ['2h', 7_200],
  ['1d', 86_400],
  ['1d2h3m4s', 93_784],
  ['1.5h', 5_400],
  ['1.h', 3_600],
  ['.5m', 30],
  ['12.25m', 735],
  ['1500ms', 1.5],
  ['2000000us', 2],
  ['2000000µs', 2],
  ['3000000000ns', 3],
  ['9007199254740', 9_007_199_254_740],
  ['9007199254741', undefined],
  ['9007199254741s', undefined],
  ['', undefined],
  [' ', undefined],
  ['s', undefined],
  ['.s', undefined],
  ['-1', undefined],
  ['-1s', undefined],
  ['+1s', undefined],
  ['1.5', undefined],
  ['90x', undefined],
  ['x90', undefined],
  ['1h30', undefined],
  ['1h 30m', undefined],
  ['1h-30m', undefined],
  ['x1h', undefined],
  ['1hx', undefined],
])('%j is %s seconds', (text, seconds) => {
  const read = parseSeconds(text);
  if (seconds === undefined || read === undefined) expect(read).toBe(seconds);
  else expect(read).toBeCloseTo(seconds, 9);
});
