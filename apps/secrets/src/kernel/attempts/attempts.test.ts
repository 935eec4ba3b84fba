import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { freshStorage, type TestStorage, until } from '../../../test/fresh-storage';
import { Attempts, type GuessRule, type TakenAttempt } from './attempts';

const clock = manualClock(Date.UTC(2027, 0, 1));
const rule: GuessRule = { allowed: 5, lockSeconds: 60, longestLockSeconds: 200, forgetSeconds: 900 };
let test: TestStorage;
let attempts: Attempts;
let elsewhere: Attempts;
let subjects = 0;

beforeAll(async () => {
  test = await freshStorage({ clock });
  attempts = new Attempts(test.storage);
  elsewhere = new Attempts(await test.another({ clock }));
});
afterAll(() => test.close());

const guessed = () => ({ kind: 'password', subject: `s${++subjects}` }) as const;
const takeAttempt = async (...args: Parameters<Attempts['take']>): Promise<TakenAttempt> => {
  const attempt = await attempts.take(...args);
  if (!attempt.allowed) throw new Error('locked');
  return attempt;
};
const fail = async (who: ReturnType<typeof guessed>, times: number) => {
  for (let i = 0; i < times; i += 1) await takeAttempt(who, rule);
};

describe('guesses', () => {
  it('sent at once to two nodes are checked no more often than allowed', async () => {
    const who = guessed();
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? attempts : elsewhere).take(who, rule)),
    );
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(all.filter((one) => one.allowed && one.locksUntilMs > 0)).toHaveLength(1);
    for (const one of all) if (!one.allowed) expect(one.lockedUntilMs).toBe(clock.now() + 60_000);
    // One more batch neither lifts the lock nor moves it.
    clock.advance(59_999);
    expect(await attempts.take(who, rule)).toEqual({ allowed: false, lockedUntilMs: clock.now() + 1 });
    clock.advance(1);
    expect((await attempts.take(who, rule)).allowed).toBe(true);
  });

  it('at many secrets at once are each counted by their rule, and forgotten only if they were right', async () => {
    const all = Array.from({ length: 20 }, (_, n) => ({
      who: guessed(),
      rule: { ...rule, allowed: 2 + (n % 2), lockSeconds: 60 + n, longestLockSeconds: 60 + n },
    }));
    const guess = () => Promise.all(all.map((one) => attempts.take(one.who, one.rule)));
    const first = await guess();
    expect(first).toEqual(all.map(() => expect.objectContaining({ allowed: true, locksUntilMs: 0 })));
    await Promise.all(first.map((one, n) => (n < 10 && one.allowed ? attempts.succeed(one) : undefined)));
    const locks = (await guess()).map((one) =>
      one.allowed && one.locksUntilMs > 0 ? one.locksUntilMs - clock.now() : 0,
    );
    // Only some of the secrets with two wrong guesses may get a third.
    expect(locks).toEqual(all.map(({ rule }, n) => (n < 10 || rule.allowed > 2 ? 0 : rule.lockSeconds * 1000)));
  });

  it('lock twice as long every time, up to a maximum, and are counted from zero after each lock', async () => {
    const who = guessed();
    for (const seconds of [60, 120, 200, 200]) {
      await fail(who, 5);
      expect(await attempts.take(who, rule)).toEqual({ allowed: false, lockedUntilMs: clock.now() + seconds * 1000 });
      clock.advance(seconds * 1000);
    }
  });

  it('are forgotten after a right guess', async () => {
    const who = guessed();
    for (let round = 0; round < 3; round += 1) {
      await fail(who, 4);
      const last = await takeAttempt(who, rule);
      expect(last.locksUntilMs).toBeGreaterThan(clock.now());
      await attempts.succeed(last);
    }
  });

  it('are forgotten for the next guess although a right guess is answered before it, and a lock that the right guess started has ended', async () => {
    const who = guessed();
    const right = async () => true;
    for (let round = 0; round < 3; round += 1) {
      await fail(who, 3);
      expect(await Promise.all([attempts.check(who, rule, right), attempts.check(who, rule, right)])).toEqual([
        true,
        true,
      ]);
      expect(await attempts.check(who, rule, async () => undefined)).toBeUndefined();
      await fail(who, 3);
      expect(await attempts.check(who, rule, right)).toBe(true);
      expect(await elsewhere.isLocked(who)).toBe(false);
    }
    const broken = () => Promise.reject(new Error('unreachable'));
    for (let i = 0; i < 20; i += 1) await expect(attempts.check(who, rule, broken)).rejects.toThrow('unreachable');
    for (let i = 0; i < 5; i += 1) await attempts.check(who, rule, async () => undefined);
    expect(await attempts.check(who, rule, right)).toBeUndefined();
  });

  it('keep a lock that another guess caused, regardless of how earlier guesses end', async () => {
    const who = guessed();
    const early = await takeAttempt(who, rule);
    await fail(who, 4);
    await attempts.succeed(early);
    await attempts.giveBack(early);
    expect((await attempts.take(who, rule)).allowed).toBe(false);
  });

  it('that were neither right nor wrong do not count, and neither does their lock', async () => {
    const who = guessed();
    for (let i = 0; i < 20; i += 1) await attempts.giveBack(await takeAttempt(who, rule));
    await fail(who, 4);
    await attempts.giveBack(await takeAttempt(who, rule));
    await fail(who, 1);
    expect(await attempts.take(who, rule)).toEqual({ allowed: false, lockedUntilMs: clock.now() + 60_000 });
  });

  it('are forgotten after a while, and their rows deleted', async () => {
    const who = guessed();
    await fail(who, 4);
    clock.advance(899_999);
    await fail(who, 1);
    expect((await attempts.take(who, rule)).allowed).toBe(false);
    clock.advance(60_000 + 900_000);
    await fail(who, 4);
    clock.advance(900_000);
    test.storage.background.wake('attempts');
    await until(async () => (await test.byHand('SELECT count(*)::int AS count FROM attempt'))[0]!.count === 0);
  });

  it('can be limited to one, and an administrator ends every lock', async () => {
    const who = guessed();
    const strict = { ...rule, allowed: 1 };
    expect((await takeAttempt(who, strict)).locksUntilMs).toBe(clock.now() + 60_000);
    expect((await attempts.take(who, strict)).allowed).toBe(false);
    await attempts.forget(who);
    expect((await attempts.take(who, strict)).allowed).toBe(true);
  });

  it('at different secrets are counted separately', async () => {
    const who = guessed();
    await fail(who, 5);
    expect((await attempts.take({ ...who, kind: 'one-time code' }, rule)).allowed).toBe(true);
  });
});
