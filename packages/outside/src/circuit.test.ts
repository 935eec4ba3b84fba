import { beforeEach, describe, expect, it } from '@jest/globals';
import { Circuit, NotNow, Unreachable } from './index';

let nowMs: number;
let circuit: Circuit;
let calls: number;
beforeEach(() => {
  nowMs = 1_000_000;
  calls = 0;
  circuit = new Circuit('the cloud', { now: () => nowMs });
});

const silent = (error: unknown) => (error as Error).message;
const fail = (text = 'ECONNREFUSED') =>
  circuit
    .run(async () => {
      calls += 1;
      throw new Error(text);
    }, silent)
    .catch((error) => error);
const answer = () =>
  circuit.run(async () => {
    calls += 1;
    return 'answer';
  }, silent);
/** Five unanswered calls in a row. */
async function open() {
  for (let i = 0; i < 5; i++) await fail();
}

describe('a circuit', () => {
  it('passes calls and failures on while fewer than five in a row were unanswered', async () => {
    for (let i = 0; i < 4; i++) expect(await fail()).toEqual(new Error('ECONNREFUSED'));
    expect(await answer()).toBe('answer');
    for (let i = 0; i < 4; i++) await fail();
    expect(() => circuit.check()).not.toThrow();
    expect(calls).toBe(9);
  });

  it('fails at once after five unanswered calls, and reports the remaining wait', async () => {
    await open();
    nowMs += 1_500;
    const refusal = await answer().catch((error) => error);
    expect(refusal).toBeInstanceOf(NotNow);
    expect(refusal).toBeInstanceOf(Unreachable);
    expect(refusal).toMatchObject({
      kind: 'upstream',
      issues: [],
      unreachable: true,
      restMs: 4_000,
      message: 'the cloud did not answer 5 calls in a row (ECONNREFUSED); it is tried again in 4 s',
    });
    expect(() => circuit.check()).toThrow(NotNow);
    expect(calls).toBe(5);
  });

  it('does not count failures that are answers', async () => {
    for (let i = 0; i < 4; i++) await fail();
    const refused = circuit.run(
      async () => {
        throw new Error('403');
      },
      () => undefined,
    );
    await expect(refused).rejects.toThrow('403');
    await fail();
    expect(() => circuit.check()).not.toThrow();
  });

  it('tries again after the wait, and closes after an answer', async () => {
    await open();
    nowMs += 4_999;
    expect(() => circuit.check()).toThrow(NotNow);
    nowMs += 1;
    expect(() => circuit.check()).not.toThrow();
    expect(await answer()).toBe('answer');
    for (let i = 0; i < 4; i++) await fail();
    expect(() => circuit.check()).not.toThrow();
  });

  it('waits twice as long after an unanswered try, but never more than 15 s', async () => {
    await open();
    const rests: number[] = [];
    for (let i = 0; i < 3; i++) {
      nowMs += 15_000;
      await fail('ETIMEDOUT');
      const refusal = await answer().catch((error) => error);
      rests.push(refusal.restMs);
      expect(refusal.message).toContain(`${6 + i} calls in a row (ETIMEDOUT)`);
    }
    expect(rests).toEqual([10_000, 15_000, 15_000]);
    nowMs += 15_000;
    await answer();
    // The wait starts again.
    await open();
    expect(await answer().catch(({ restMs }) => restMs)).toBe(5_000);
  });

  it('does not wait longer because of calls that were running when it opened', async () => {
    const failures = Array.from({ length: 8 }, () => fail());
    await Promise.all(failures);
    expect(await answer().catch(({ restMs }) => restMs)).toBe(5_000);
  });

  it('closes after the answer to a call that was running when it opened', async () => {
    let end: (text: string) => void = () => undefined;
    const slow = circuit.run(() => new Promise<string>((resolve) => (end = resolve)), silent);
    await open();
    expect(() => circuit.check()).toThrow(NotNow);
    end('late');
    expect(await slow).toBe('late');
    expect(() => circuit.check()).not.toThrow();
  });

  it('lets calls run in parallel while it is closed', async () => {
    const finishers: ((text: string) => void)[] = [];
    const call = () => circuit.run(() => new Promise<string>((resolve) => finishers.push(resolve)), silent);
    const both = [call(), call()];
    await new Promise(setImmediate);
    expect(finishers).toHaveLength(2);
    for (const end of finishers) end('answer');
    expect(await Promise.all(both)).toEqual(['answer', 'answer']);
  });

  it('lets one call try while the others wait for its result', async () => {
    await open();
    nowMs += 5_000;
    let end: (text: string) => void = () => undefined;
    const trial = circuit.run(() => new Promise<string>((resolve) => (end = resolve)), silent);
    const others = [answer(), answer()];
    await new Promise(setImmediate);
    expect(calls).toBe(5);
    end('back');
    expect(await trial).toBe('back');
    expect(await Promise.all(others)).toEqual(['answer', 'answer']);
    expect(calls).toBe(7);
  });

  it('tells the others that the try has failed', async () => {
    await open();
    nowMs += 5_000;
    let end: (error: Error) => void = () => undefined;
    const trial = circuit.run(() => new Promise<string>((_, reject) => (end = reject)), silent);
    const other = answer();
    await new Promise(setImmediate);
    end(new Error('ETIMEDOUT'));
    await expect(trial).rejects.toThrow('ETIMEDOUT');
    await expect(other).rejects.toMatchObject({ restMs: 10_000 });
    expect(calls).toBe(5);
  });
});
