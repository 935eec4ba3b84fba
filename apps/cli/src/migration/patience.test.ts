import { describe, expect, it } from '@jest/globals';
import { isWorthAskingAgain, isWorthRepeating, waitOf } from './patience';

const now = Date.parse('2026-05-04T10:00:00Z');
const headers = (name: string, value: string) => new Headers({ [name]: value });

describe('the patience of an import', () => {
  it.each([
    ['seconds', 'retry-after', '7', 7000],
    ['a part of a second', 'x-ratelimit-reset', '0.41', 410],
    ['a date', 'retry-after', 'Mon, 04 May 2026 10:00:20 GMT', 20_000],
    ['the second of the clock', 'x-ratelimit-reset', `${now / 1000 + 3}`, 3000],
    ['an hour, of which it waits a minute', 'retry-after', '3600', 60_000],
    ['a date gone by, so it chooses', 'retry-after', 'Mon, 04 May 2026 09:59:00 GMT', 500],
    ['nothing that it knows, so it chooses', 'retry-after', 'soon', 500],
  ])('lasts as long as the server asks for: %s', (_, name, value, wait) => {
    expect(waitOf(headers(name, value), 1, now)).toBeCloseTo(wait, 0);
  });

  it('grows with every attempt where the server asks for nothing', () => {
    expect([1, 2, 3].map((attempt) => waitOf(undefined, attempt))).toEqual([500, 1000, 2000]);
  });

  it.each([
    ['GET', 429, 29, true],
    ['GET', 429, 30, false],
    ['POST', 429, 29, true],
    ['GET', 502, 5, true],
    ['GET', 500, 6, false],
    ['POST', 503, 1, true],
    ['POST', 500, 1, false],
    ['POST', 504, 1, false],
    ['GET', 404, 1, false],
  ])('%s answered by %i at attempt %i is sent again: %s', (method, status, attempt, again) => {
    expect(isWorthRepeating(method, status, attempt)).toBe(again);
  });

  it('asks again for what had no answer, and never sends twice what may have been done', () => {
    expect([isWorthAskingAgain('GET', 5), isWorthAskingAgain('GET', 6), isWorthAskingAgain('POST', 1)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
