import { describe, expect, it } from '@jest/globals';
import { timeText } from './time-text';

describe('a time in an answer', () => {
  it('is null if another system sent an impossible time', () => {
    expect(timeText(0)).toBe('1970-01-01T00:00:00.000Z');
    for (const ms of [undefined, Number.NaN, Number.POSITIVE_INFINITY, 9e15]) expect(timeText(ms)).toBeNull();
  });
});
