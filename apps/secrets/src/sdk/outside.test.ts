import { describe, expect, it } from '@jest/globals';
import { Circuit, NotNow, Throttle } from './outside';

describe('a circuit', () => {
  let time = 0;
  let calls = 0;
  const dead = async () => {
    calls++;
    throw new Error('ECONNREFUSED');
  };
  const run = (circuit: Circuit, call: () => Promise<unknown> = dead) =>
    circuit.run(call, (error) => (error as Error).message).catch((error) => error as Error);
  const opened = async () => {
    const circuit = new Circuit('the thing', { now: () => time });
    for (let n = 0; n < 5; n++) await run(circuit);
    calls = 0;
    return circuit;
  };

  it('opens after five unanswered calls, and says for how long', async () => {
    const circuit = await opened();
    const refused = (await run(circuit)) as NotNow;
    expect(refused).toBeInstanceOf(NotNow);
    expect(refused.kind).toBe('upstream');
    expect(refused.restMs).toBe(5000);
    expect(refused.message).toBe('the thing did not answer 5 calls in a row (ECONNREFUSED); it is tried again in 5 s');
    expect(calls).toBe(0);
  });

  it('lets one call through after its pause, doubles the pause if it fails, and closes if it succeeds', async () => {
    const circuit = await opened();
    time += 5001;
    let fail: (error: Error) => void = () => {};
    const slow = run(circuit, () => new Promise((_, reject) => (fail = reject)));
    const waiting = run(circuit);
    fail(new Error('timeout'));
    await slow;
    expect(await waiting).toBeInstanceOf(NotNow);
    expect(calls).toBe(0);
    expect(((await run(circuit)) as NotNow).restMs).toBe(10_000);
    time += 10_001;
    expect(await run(circuit, async () => 'back')).toBe('back');
    expect(await run(circuit)).toEqual(new Error('ECONNREFUSED'));
  });

  it('counts answers of every kind as signs of life', async () => {
    const circuit = new Circuit('the thing', { now: () => time });
    const refuse = () => Promise.reject(new Error('403'));
    for (let n = 0; n < 20; n++) await circuit.run(refuse, () => undefined).catch(() => {});
    expect(() => circuit.check()).not.toThrow();
  });
});

describe('throttle', () => {
  it('lets many callers continue, only a few at a time, and other work in between', async () => {
    const throttle = new Throttle();
    const order: string[] = [];
    const crowd = Array.from({ length: 20 }, async () => {
      await throttle.take();
      order.push('crowd');
    });
    const other = new Promise<void>((resolve) =>
      setImmediate(() => {
        order.push('other');
        resolve();
      }),
    );
    await Promise.all([...crowd, other]);
    expect(order).toHaveLength(21);
    expect(order.indexOf('other')).toBeLessThan(9);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(throttle.take()).toBeUndefined();
  });
});
