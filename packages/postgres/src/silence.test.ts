import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Silence, type Wait } from './silence';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (how?: { type: 'minor' }) => void;
const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size;

describe('silence', () => {
  let silence: Silence;
  beforeEach(() => {
    jest.useFakeTimers();
    silence = new Silence(3000);
  });
  afterEach(() => {
    silence.stop();
    jest.useRealTimers();
  });

  it('starts after a time without answers, and ends with the first answer', () => {
    const callback = jest.fn();
    silence.begin({ giveUp: callback });
    jest.advanceTimersByTime(2750);
    expect(silence.lasts).toBe(false);
    silence.noteAnswer();
    jest.advanceTimersByTime(2750);
    expect(silence.lasts).toBe(false);
    expect(callback).not.toHaveBeenCalled();
    jest.advanceTimersByTime(250);
    expect(silence.lasts).toBe(true);
    expect(callback).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(1000);
    expect(callback).toHaveBeenCalledTimes(1);
    silence.noteAnswer();
    expect(silence.lasts).toBe(false);
  });

  it('calls back no waiter that has stopped waiting', () => {
    const callback = jest.fn();
    silence.end(silence.begin({ giveUp: callback }));
    jest.advanceTimersByTime(4000);
    expect(callback).not.toHaveBeenCalled();
  });

  it('calls back only waiters whose time limit has passed', () => {
    const callback = jest.fn();
    const patient = jest.fn();
    silence.begin({ giveUp: callback }, 500);
    silence.begin({ giveUp: patient }, 10_000);
    jest.advanceTimersByTime(250);
    silence.noteAnswer();
    expect(callback).not.toHaveBeenCalled();
    jest.advanceTimersByTime(500);
    silence.noteAnswer();
    jest.advanceTimersByTime(500);
    expect(callback.mock.calls).toEqual([['late']]);
    expect(patient).not.toHaveBeenCalled();
    jest.advanceTimersByTime(3000);
    expect(patient.mock.calls).toEqual([['silent']]);
  });

  it('lists the current waiters', () => {
    const waiter = { request: 1, giveUp() {} };
    const wait = silence.begin(waiter, 500);
    jest.advanceTimersByTime(200);
    expect(silence.waiters()).toEqual([{ waiter, leftMs: 300 }]);
    silence.end(wait);
    expect(silence.waiters()).toEqual([]);
  });

  it('does not count the time in which this process was blocked', () => {
    let steadyMs = 0;
    const other = new Silence(3000, () => steadyMs);
    steadyMs += 60_000;
    jest.advanceTimersByTime(250);
    expect(other.lasts).toBe(false);
    other.stop();
  });

  it('keeps no reference to waiters that have left, so that they do not survive young-generation collections', () => {
    const waits: Wait[] = [];
    const pass = (times: number): void => {
      for (let n = 0; n < times; n++) {
        const all = Array.from({ length: 100 }, (_, i) => n + i);
        waits.push(silence.begin({ giveUp: () => void all.length }, 60_000));
        if (waits.length > 32) silence.end(waits.shift()!);
        if (n % 500 === 0) collect({ type: 'minor' });
      }
    };
    pass(1000);
    const grown = [1, 2, 3].map(() => {
      // From here on, the current rows of the table are old.
      collect();
      const before = oldBytes();
      pass(20_000);
      return oldBytes() - before;
    });
    // All waiters of a round are far more than 17 MB. Other objects of this process may also become old, but only once.
    expect(Math.min(...grown)).toBeLessThan(5_000_000);
  });
});
