import { describe, expect, it } from '@jest/globals';
import { isWorthAskingAgain, isWorthRepeating, waitOf } from './patience';

const now = Date.parse('2026-05-04T10:00:00Z');
const headers = (name: string, value: string) => new Headers({ [name]: value });

describe('the retries of an import', () => {
  it.each([
    ['seconds', 'retry-after', '7', 7000],
    ['a fraction of a second', 'x-ratelimit-reset', '0.41', 410],
    ['a date', 'retry-after', 'Mon, 04 May 2026 10:00:20 GMT', 20_000],
    ["the clock's current second", 'x-ratelimit-reset', `${now / 1000 + 3}`, 3000],
    ['an hour, and waits only a minute', 'retry-after', '3600', 60_000],
    ['a date in the past, so the import chooses', 'retry-after', 'Mon, 04 May 2026 09:59:00 GMT', 500],
    ['a value that it cannot read, so the import chooses', 'retry-after', 'soon', 500],
  ])('wait as long as the server asks for: %s', (_, name, value, wait) => {
    expect(waitOf(headers(name, value), 1, now)).toBeCloseTo(wait, 0);
  });

  it('wait longer after every attempt if the server names no time', () => {
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
  ])('send %s answered by %i at attempt %i again: %s', (method, status, attempt, again) => {
    expect(isWorthRepeating(method, status, attempt)).toBe(again);
  });

  it('repeat reads without an answer, and never a write that may have been carried out', () => {
    expect([isWorthAskingAgain('GET', 5), isWorthAskingAgain('GET', 6), isWorthAskingAgain('POST', 1)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
