import { describe, expect, it } from '@jest/globals';
import { durationText, parseDuration, shortDurationText } from './duration';
import { type LifetimeTerms, lifetime } from './lifetime';

const hour = 3600;
const mount = { defaultLeaseTtlSeconds: 768 * hour, maxLeaseTtlSeconds: 768 * hour };
const nowMs = Date.UTC(2026, 0, 1);
const capped = (requested: string, max: string) =>
  `TTL of "${requested}" exceeded the effective max_ttl of "${max}"; TTL value is capped accordingly`;

describe('lifetime', () => {
  it.each<[string, Partial<LifetimeTerms>, number, string[]]>([
    ['the default of the mount, if nothing is set', {}, 768 * hour, []],
    ['the requested lifetime', { incrementSeconds: 10 }, 10, []],
    ['the lifetime of the role', { ttlSeconds: 60 }, 60, []],
    ['the requested lifetime takes precedence over that of the role', { incrementSeconds: 10, ttlSeconds: 60 }, 10, []],
    ['at most the maximum of the role', { incrementSeconds: 7200, maxTtlSeconds: hour }, hour, [capped('2h', '1h')]],
    ['the default is limited by the maximum of the role', { maxTtlSeconds: 1800 }, 1800, [capped('768h', '30m')]],
    [
      'at most the explicit maximum',
      { incrementSeconds: 7200, explicitMaxTtlSeconds: hour },
      hour,
      [capped('2h', '1h')],
    ],
    [
      'at most the smallest maximum',
      { incrementSeconds: 900, maxTtlSeconds: 600, explicitMaxTtlSeconds: 300 },
      300,
      [capped('15m', '5m')],
    ],
    ['a period takes precedence over the requested lifetime', { incrementSeconds: 10, periodSeconds: 600 }, 600, []],
    [
      'a period is limited by the maximum',
      { periodSeconds: 7200, maxTtlSeconds: hour },
      hour,
      ['period of "2h" exceeded the effective max_ttl of "1h"; period value is capped accordingly'],
    ],
    ['a period has no fixed end', { periodSeconds: 600, issuedAtMs: nowMs - 9999 * hour * 1000 }, 600, []],
    [
      'an explicit maximum ends a period',
      { periodSeconds: 600, explicitMaxTtlSeconds: hour, issuedAtMs: nowMs - 3500_000 },
      100,
      [],
    ],
    [
      'the maximum of a renewal starts at the issue',
      { incrementSeconds: hour, maxTtlSeconds: hour, issuedAtMs: nowMs - 1000_000 },
      2600,
      [capped('1h', '43m20s')],
    ],
    [
      'a renewal may shorten the lifetime',
      { incrementSeconds: 10, maxTtlSeconds: hour, issuedAtMs: nowMs - 1000_000 },
      10,
      [],
    ],
  ])('%s', (_what, terms, ttlSeconds, warnings) => {
    expect(lifetime({ nowMs, issuedAtMs: nowMs, mount, ...terms })).toEqual({ ttlSeconds, warnings });
  });

  it('is over when the maximum has passed', () => {
    expect(() => lifetime({ nowMs, issuedAtMs: nowMs - 3601_000, maxTtlSeconds: hour, mount })).toThrow(
      'past the max TTL, cannot renew',
    );
  });
});

describe('durations', () => {
  it.each([
    ['', 0],
    ['0', 0],
    ['1h30m5s', 5405],
    ['-10s', -10],
    ['1.5h', 5400],
    ['2d', 172_800],
    ['300us', 0],
    ['h', undefined],
    ['1x', undefined],
    ['1h 5m', undefined],
    ['9223372037', undefined],
  ])('%j is %p seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it('are written in full and in short', () => {
    expect([0, 5, 1800, 2764800].map(durationText)).toEqual(['0s', '5s', '30m0s', '768h0m0s']);
    expect([0, 5, 1800, 5400, 2764800].map(shortDurationText)).toEqual(['0s', '5s', '30m', '1h30m', '768h']);
  });
});
