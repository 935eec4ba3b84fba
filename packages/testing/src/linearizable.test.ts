import { describe, expect, it } from '@jest/globals';
import { isLinearizable, type Recorded } from './linearizable';
import { type LockAnswer, type LockCall, lockModel } from './lock-clients';

const call = (who: string, what: LockCall['what'], answer: LockAnswer | undefined, began: number, ended: number) =>
  ({ operation: { who, what }, answer, began, ended }) satisfies Recorded<LockCall, LockAnswer>;
const holds = (...history: Recorded<LockCall, LockAnswer>[]) => isLinearizable(history, lockModel, '');
const never = Number.POSITIVE_INFINITY;

describe('a history of locks', () => {
  it('is sound when calls take turns', () => {
    expect(
      holds(
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

  it('is not when two hold it, or when a client uploads that does not', () => {
    expect(holds(call('a', 'lock', 'yes', 0, 1), call('b', 'lock', 'yes', 2, 3))).toBe(false);
    expect(holds(call('a', 'lock', 'yes', 0, 1), call('b', 'upload', 'yes', 2, 3))).toBe(false);
    expect(holds(call('a', 'lock', 'yes', 0, 3), call('b', 'lock', 'yes', 1, 2))).toBe(false);
    expect(holds(call('a', 'lock', 'no', 0, 1))).toBe(false);
  });

  it('lets calls at the same time come in any order', () => {
    expect(
      holds(call('a', 'unlock', 'yes', 1, 4), call('b', 'lock', 'yes', 2, 3), call('a', 'lock', 'yes', 0, 1)),
    ).toBe(true);
  });

  it('lets a call without an answer have happened late, or never', () => {
    expect(holds(call('a', 'lock', undefined, 0, never), call('b', 'lock', 'yes', 2, 3))).toBe(true);
    expect(holds(call('a', 'lock', undefined, 0, never), call('b', 'lock', 'no', 2, 3))).toBe(true);
    expect(
      holds(
        call('a', 'lock', 'yes', 0, 1),
        call('a', 'unlock', undefined, 2, never),
        call('b', 'lock', 'yes', 3, 4),
        call('b', 'upload', 'yes', 5, 6),
      ),
    ).toBe(true);
    expect(holds(call('b', 'lock', 'no', 0, 1), call('a', 'lock', undefined, 2, never))).toBe(false);
  });
});
