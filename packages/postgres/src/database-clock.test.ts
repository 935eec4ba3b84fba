import { beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseClock } from './database-clock';

const HOUR = 3_600_000;

describe('the clock of the database', () => {
  let databaseMs: number;
  let steadyMs: number;
  let machineOffMs: number;
  let messages: string[];
  let clock: DatabaseClock;
  beforeEach(() => {
    databaseMs = Date.UTC(2026, 0, 1);
    steadyMs = 5000;
    machineOffMs = 0;
    messages = [];
    clock = make();
  });

  const make = () =>
    new DatabaseClock({
      toleranceMs: 2000,
      machine: () => databaseMs + machineOffMs,
      steady: () => steadyMs,
      log: { warn: (_, text) => void messages.push(text), info: (_, text) => void messages.push(text) },
    });
  const pass = (ms: number) => {
    databaseMs += ms;
    steadyMs += ms;
  };
  /** Asks the database, which takes its time after a third of the round trip. */
  const compare = (tookMs = 3) => {
    const finish = clock.compare();
    pass(tookMs / 3);
    const at = databaseMs;
    pass((tookMs * 2) / 3);
    finish(at);
  };

  it.each([0, 2 * HOUR, -3 * HOUR, 40 * 24 * HOUR])(
    'stays correct while the clock of the machine is off by %i ms',
    (offMs) => {
      machineOffMs = offMs;
      clock = make();
      compare();
      expect(Math.abs(clock.now() - databaseMs)).toBeLessThanOrEqual(3);
      pass(10_000);
      expect(Math.abs(clock.now() - databaseMs)).toBeLessThanOrEqual(3);
    },
  );

  it('is unaffected if the machine’s clock jumps, and reports this until that clock is right again', () => {
    compare();
    expect(clock.trouble).toBeUndefined();
    for (const jumpMs of [2 * HOUR, -3 * HOUR]) {
      machineOffMs = jumpMs;
      pass(100);
      // Before the first comparison.
      expect(Math.abs(clock.now() - databaseMs)).toBeLessThanOrEqual(3);
      compare();
      compare();
      expect(Math.abs(clock.now() - databaseMs)).toBeLessThanOrEqual(3);
      expect(clock.trouble).toContain(jumpMs > 0 ? '7200.0 s ahead of the database' : '10800.0 s behind the database');
      machineOffMs = 0;
      compare();
      expect(clock.trouble).toBeUndefined();
    }
    expect(messages).toEqual([
      expect.stringContaining('this node lets nothing expire: the clock of this machine is 7200.0 s ahead'),
      'the clock of this machine agrees with the database again',
      expect.stringContaining('10800.0 s behind the database (2 s are allowed)'),
      'the clock of this machine agrees with the database again',
    ]);
  });

  it('follows the database if its clock jumps, and reports that the two clocks disagree', () => {
    compare();
    databaseMs += HOUR;
    machineOffMs = -HOUR;
    compare();
    expect(Math.abs(clock.now() - databaseMs)).toBeLessThanOrEqual(3);
    expect(clock.trouble).toContain('3600.0 s behind the database');
  });

  it('is not trusted before the first comparison, and then up to the tolerance', () => {
    expect(clock.trouble).toBe('the clock has not yet been compared with the database');
    machineOffMs = 1990;
    compare();
    expect(clock.trouble).toBeUndefined();
    machineOffMs = -2010;
    compare();
    expect(clock.trouble).toBeDefined();
  });

  it('does not mistake a slow answer for a wrong clock, and is not moved by a slow answer', () => {
    compare();
    const before = clock.now() - databaseMs;
    for (const tookMs of [6000, 90, 30_000]) {
      compare(tookMs);
      expect(clock.trouble).toBeUndefined();
      expect(clock.now() - databaseMs).toBe(before);
    }
  });

  it('returns whole milliseconds', () => {
    pass(0.4);
    compare();
    pass(0.3);
    expect(Number.isInteger(clock.now())).toBe(true);
  });
});
