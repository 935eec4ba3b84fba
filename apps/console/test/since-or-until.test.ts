import { describe, expect, it } from '@jest/globals';
import { sinceOrUntil } from '../src/design/since-or-until';

const hour = 3_600_000;
const day = 24 * hour;

describe('relative times', () => {
  it.each([
    [0, 'just now'],
    [1500, 'just now'],
    [30_000, 'in a few seconds'],
    [-3 * 60_000, '3 min. ago'],
    [2 * hour, 'in 2 hr.'],
    [day, 'in 1 day'],
    [-day, '1 day ago'],
    [14 * day, 'in 14 days'],
    [31 * day, 'in 31 days'],
    [90 * day, 'in 3 mo.'],
    [-400 * day, '13 mo. ago'],
    [3650 * day, 'in 10 yr.'],
  ])('have a unit that distinguishes them: %d ms', (distance, text) => {
    expect(sinceOrUntil(distance, 0)).toBe(text);
  });
});
