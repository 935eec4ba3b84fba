import { describe, expect, it } from '@jest/globals';
import { WorkTurns } from './index';

/** Work that ends on command, and the names of the work that has started. */
function pieces() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      begun.push(name);
      ends.set(name, () => resolve(name));
    });
  return { begun, work, end: (name: string) => ends.get(name)!() };
}

const tooMany = { kind: 'limited', message: 'too many keys at once; try again' };

describe('work in turns', () => {
  it('runs a few at once, the others in order of arrival, and continues after a failure', async () => {
    const turns = new WorkTurns({ atOnce: 2 }, 'keys');
    const { begun, work, end } = pieces();
    const failed = turns.run(() => Promise.reject(new Error('broken')));
    const rest = ['a', 'b', 'c'].map((name) => turns.run(work(name)));
    expect(begun).toEqual(['a']);
    await expect(failed).rejects.toThrow('broken');
    expect(begun).toEqual(['a', 'b']);
    end('b');
    expect(await rest[1]).toBe('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    end('a');
    end('c');
    expect(await Promise.all(rest)).toEqual(['a', 'b', 'c']);
  });

  it('refuses work if the queue is full or the wait too long, and then runs the next', async () => {
    const turns = new WorkTurns({ atOnce: 1, waiting: 1, waitMs: 20 }, 'keys');
    const { begun, work, end } = pieces();
    const first = turns.run(work('a'));
    const late = turns.run(work('b'));
    await expect(turns.run(work('c'))).rejects.toMatchObject(tooMany);
    await expect(late).rejects.toMatchObject(tooMany);
    const last = turns.run(work('d'));
    end('a');
    await first;
    expect(begun).toEqual(['a', 'd']);
    end('d');
    expect(await last).toBe('d');
  });
});
