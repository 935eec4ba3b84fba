import { describe, expect, it } from '@jest/globals';
import { Gate, GateFull } from './gate';

describe('a gate', () => {
  it('lets a few through at once, and the others in order', async () => {
    const gate = new Gate({ atOnce: 2, waiting: 10, waitMs: 60_000 }, 'things');
    const opened: (() => void)[] = [];
    const order: number[] = [];
    let inside = 0;
    let most = 0;
    const all = [0, 1, 2, 3, 4].map((number) =>
      gate.run(async () => {
        order.push(number);
        most = Math.max(most, ++inside);
        await new Promise<void>((resolve) => opened.push(resolve));
        inside--;
      }),
    );
    for (let places = 5; places > 0; places--) {
      while (opened.length === 0) await new Promise(setImmediate);
      opened.shift()!();
    }
    await Promise.all(all);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it('reports how many wait, and lets callers enter and leave explicitly', async () => {
    const gate = new Gate({ atOnce: 1, waiting: 10, waitMs: 60_000 }, 'things');
    const leave = await gate.enter();
    const second = gate.enter();
    expect(gate.waiting).toBe(1);
    leave();
    (await second)();
    expect(gate.waiting).toBe(0);
    await expect(gate.run(async () => 'room again')).resolves.toBe('room again');
  });

  it('refuses callers that would wait too long, and continues after a failure', async () => {
    const gate = new Gate({ atOnce: 1, waiting: 1, waitMs: 20 }, 'things');
    let open: () => void = () => undefined;
    const first = gate.run(() => new Promise<void>((resolve) => (open = resolve)));
    const second = expect(gate.run(async () => 'late')).rejects.toThrow('too many things at once');
    await expect(gate.run(async () => 'no room')).rejects.toThrow('too many things at once');
    await second;
    open();
    await first;
    await expect(gate.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(gate.run(async () => 'fine')).resolves.toBe('fine');
  });

  it('refuses at once if the queue is full', async () => {
    const gate = new Gate({ atOnce: 1, waiting: 1, waitMs: 3_600_000 }, 'things');
    const leave = await gate.enter();
    const second = gate.enter();
    await expect(gate.enter()).rejects.toThrow(new GateFull('things'));
    expect(gate.waiting).toBe(1);
    leave();
    (await second)();
  });

  it('lets callers leave at any time: inside, in the line, and twice', async () => {
    const gate = new Gate({ atOnce: 1, waiting: 2, waitMs: 60_000 }, 'things');
    const [first, second, third] = [gate.place(), gate.place(), gate.place()];
    await first.enter();
    const gone = expect(second.enter()).rejects.toThrow(new GateFull('things'));
    const entered = third.enter();
    expect(gate.waiting).toBe(2);
    second.leave();
    await gone;
    expect(gate.waiting).toBe(1);
    first.leave();
    first.leave();
    second.leave();
    await entered;
    const fourth = gate.enter();
    expect(gate.waiting).toBe(1);
    third.leave();
    (await fourth)();
    await expect(gate.run(async () => 'room again')).resolves.toBe('room again');
  });

  it('never gives all places to the callers of one key', async () => {
    const gate = new Gate({ atOnce: 2, waiting: 10, waitMs: 60_000 }, 'things');
    const entered: string[] = [];
    const enter = async (key: string) => {
      const leave = await gate.enter(key);
      entered.push(key);
      return leave;
    };
    const nextTurn = () => new Promise(setImmediate);
    const first = await enter('slow');
    const second = enter('slow');
    const third = enter('slow');
    const other = await enter('quick');
    other();
    const another = await enter('third');
    await nextTurn();
    expect(entered).toEqual(['slow', 'quick', 'third']);
    another();
    await nextTurn();
    expect(entered).toEqual(['slow', 'quick', 'third']);
    first();
    (await second)();
    (await third)();
    expect(entered).toEqual(['slow', 'quick', 'third', 'slow', 'slow']);
    expect(gate.waiting).toBe(0);
  });

  it.each([
    [1, 1],
    [2, 1],
    [4, 3],
  ])('of %i places gives %i to one key, and forgets callers who waited too long', async (atOnce, most) => {
    const gate = new Gate({ atOnce, waiting: 10, waitMs: 20 }, 'things');
    const leavers = [];
    for (let i = 0; i < most; i++) leavers.push(await gate.enter('one'));
    expect(gate.waiting).toBe(0);
    const late = expect(gate.enter('one')).rejects.toThrow(new GateFull('things'));
    expect(gate.waiting).toBe(1);
    await late;
    expect(gate.waiting).toBe(0);
    for (const leave of leavers) leave();
    for (let i = 0; i < most; i++) await gate.enter('one');
    expect(gate.waiting).toBe(0);
  });
});
