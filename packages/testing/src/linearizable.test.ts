import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isLinearizable, type Recorded } from './linearizable';
import { type LockAnswer, type LockCall, lockModel } from './lock-clients';

const call = (who: string, what: LockCall['what'], answer: LockAnswer | undefined, began: number, ended: number) =>
  ({ operation: { who, what }, answer, began, ended }) satisfies Recorded<LockCall, LockAnswer>;
const isValid = (...history: Recorded<LockCall, LockAnswer>[]) => isLinearizable(history, lockModel, '');
const never = Number.POSITIVE_INFINITY;

describe('a history of locks', () => {
  it('is valid if calls take turns', () => {
    expect(
      isValid(
        call('a', 'lock', 'yes', 0, 1),
        call('b', 'lock', 'no', 2, 3),
        call('a', 'upload', 'yes', 4, 5),
        call('a', 'unlock', 'yes', 6, 7),
        call('b', 'lock', 'yes', 8, 9),
        call('a', 'force', 'yes', 10, 11),
        call('b', 'upload', 'no', 12, 13),
      ),
    ).toBe(true);
  });

  it('is invalid if two clients hold it, or if a client without it uploads', () => {
    expect(isValid(call('a', 'lock', 'yes', 0, 1), call('b', 'lock', 'yes', 2, 3))).toBe(false);
    expect(isValid(call('a', 'lock', 'yes', 0, 1), call('b', 'upload', 'yes', 2, 3))).toBe(false);
    expect(isValid(call('a', 'lock', 'yes', 0, 3), call('b', 'lock', 'yes', 1, 2))).toBe(false);
    expect(isValid(call('a', 'lock', 'no', 0, 1))).toBe(false);
  });

  it('allows simultaneous calls in any order', () => {
    expect(
      isValid(call('a', 'unlock', 'yes', 1, 4), call('b', 'lock', 'yes', 2, 3), call('a', 'lock', 'yes', 0, 1)),
    ).toBe(true);
  });

  it('allows a call without an answer to take effect late, or never', () => {
    expect(isValid(call('a', 'lock', undefined, 0, never), call('b', 'lock', 'yes', 2, 3))).toBe(true);
    expect(isValid(call('a', 'lock', undefined, 0, never), call('b', 'lock', 'no', 2, 3))).toBe(true);
    expect(
      isValid(
        call('a', 'lock', 'yes', 0, 1),
        call('a', 'unlock', undefined, 2, never),
        call('b', 'lock', 'yes', 3, 4),
        call('b', 'upload', 'yes', 5, 6),
      ),
    ).toBe(true);
    expect(isValid(call('b', 'lock', 'no', 0, 1), call('a', 'lock', undefined, 2, never))).toBe(false);
  });

  it('is checked quickly even if most calls have no answer', () => {
    let steps = 0;
    const model: typeof lockModel = (...args) => {
      steps++;
      return lockModel(...args);
    };
    const kinds = ['lock', 'unlock', 'force', 'upload'] as const;
    const unknown = Array.from({ length: 60 }, (_, i) => call('abc'[i % 3]!, kinds[i % 4]!, undefined, i, never));
    const end = [
      call('a', 'lock', 'yes', 100, 101),
      call('b', 'lock', 'yes', 102, 103),
      call('d', 'upload', 'yes', 104, 105),
    ];
    expect(isLinearizable([...unknown, ...end.slice(0, 2)], model, '')).toBe(true);
    expect(isLinearizable([...unknown, ...end], model, '')).toBe(false);
    expect(steps).toBeLessThan(100_000);
  });

  it('gets the same result as by trying every order', () => {
    const calls = fc.record({
      who: fc.constantFrom('a', 'b'),
      what: fc.constantFrom('lock' as const, 'unlock' as const, 'force' as const, 'upload' as const),
      answer: fc.constantFrom<LockAnswer | undefined>('yes', 'no', undefined),
      began: fc.nat(12),
      durationMs: fc.integer({ min: 1, max: 6 }),
    });
    const verdicts = { sound: 0, unsound: 0 };
    fc.assert(
      fc.property(fc.array(calls, { maxLength: 6 }), (generated) => {
        const history = generated.map(({ who, what, answer, began, durationMs }) =>
          call(who, what, answer, began, answer === undefined ? never : began + durationMs),
        );
        const sound = isValid(...history);
        verdicts[sound ? 'sound' : 'unsound']++;
        expect(sound).toBe(anyOrder(history, ''));
      }),
      { numRuns: 2000 },
    );
    expect(Math.min(verdicts.sound, verdicts.unsound)).toBeGreaterThan(100);
  });
});

/** A brute-force version: tries each possible next call, and may leave out each call without an answer. */
function anyOrder(remaining: readonly Recorded<LockCall, LockAnswer>[], state: string): boolean {
  if (remaining.every(({ answer }) => answer === undefined)) return true;
  return remaining.some((one) => {
    if (remaining.some(({ ended }) => ended < one.began)) return false;
    const next = lockModel(state, one.operation, one.answer);
    const rest = remaining.filter((other) => other !== one);
    return (next !== undefined && anyOrder(rest, next)) || (one.answer === undefined && anyOrder(rest, state));
  });
}
