import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Silence } from './silence';

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

  it('lasts when nothing is heard for so long, and is over with the first word', () => {
    const told = jest.fn();
    silence.whenItLasts(told);
    jest.advanceTimersByTime(2750);
    expect(silence.lasts).toBe(false);
    silence.heard();
    jest.advanceTimersByTime(2750);
    expect(silence.lasts).toBe(false);
    expect(told).not.toHaveBeenCalled();
    jest.advanceTimersByTime(250);
    expect(silence.lasts).toBe(true);
    expect(told).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(1000);
    expect(told).toHaveBeenCalledTimes(1);
    silence.heard();
    expect(silence.lasts).toBe(false);
  });

  it('calls back no waiter that has stopped waiting', () => {
    const told = jest.fn();
    silence.whenItLasts(told)();
    jest.advanceTimersByTime(4000);
    expect(told).not.toHaveBeenCalled();
  });

  it('calls back only waiters whose own time is over', () => {
    const told = jest.fn();
    const patient = jest.fn();
    silence.whenItLasts(told, 500);
    silence.whenItLasts(patient, 10_000);
    jest.advanceTimersByTime(250);
    silence.heard();
    expect(told).not.toHaveBeenCalled();
    jest.advanceTimersByTime(500);
    silence.heard();
    jest.advanceTimersByTime(500);
    expect(told.mock.calls).toEqual([['late']]);
    expect(patient).not.toHaveBeenCalled();
    jest.advanceTimersByTime(3000);
    expect(patient.mock.calls).toEqual([['silent']]);
  });

  it('tells what those who wait are about, until they leave', () => {
    const about = { request: 1 };
    const over = silence.whenItLasts(() => {}, 500, about);
    jest.advanceTimersByTime(200);
    expect(silence.waitingFor()).toEqual([{ about, leftMs: 300 }]);
    over();
    expect(silence.waitingFor()).toEqual([]);
  });

  it('does not count the time in which this process itself did nothing', () => {
    let steadyMs = 0;
    const own = new Silence(3000, () => steadyMs);
    steadyMs += 60_000;
    jest.advanceTimersByTime(250);
    expect(own.lasts).toBe(false);
    own.stop();
  });

  it('keeps nothing of those who have left, which else would survive the quick collections of garbage', () => {
    const leaving: (() => void)[] = [];
    const pass = (times: number): void => {
      for (let n = 0; n < times; n++) {
        const all = Array.from({ length: 100 }, (_, i) => n + i);
        leaving.push(silence.whenItLasts(() => void all.length, 60_000, { all: all.map((one) => one + 0.5) }));
        if (leaving.length > 32) leaving.shift()!();
        if (n % 500 === 0) collect({ type: 'minor' });
      }
    };
    pass(1000);
    // What is in the table now is old from here on.
    collect();
    const before = oldBytes();
    pass(20_000);
    // All of them are far more than 17 MB.
    expect(oldBytes() - before).toBeLessThan(5_000_000);
  });
});
