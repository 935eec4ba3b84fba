import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { Interruption } from './interruption';

function interrupted() {
  const exits: unknown[] = [];
  const messages: string[] = [];
  const source = Object.assign(new EventEmitter(), {
    exit: (code: unknown) => {
      exits.push(code);
    },
  });
  const interruption = new Interruption((text) => messages.push(text), source as unknown as NodeJS.Process);
  return { interruption, source, exits, said: messages };
}

describe('an interruption', () => {
  it('ends work at its next step, and says how to continue', async () => {
    const { interruption, source, exits, said: messages } = interrupted();
    const steps: number[] = [];
    const work = interruption.during('run it again', async () => {
      for (const step of [1, 2, 3]) {
        interruption.check();
        steps.push(step);
        if (step === 2) source.emit('SIGINT');
      }
    });
    await expect(work).rejects.toMatchObject({ message: 'stopped: run it again', exitCode: 130 });
    expect([steps, messages, exits]).toEqual([[1, 2], ['stopping; Ctrl-C again stops at once'], []]);
  });

  it('ends the program at once if it is repeated', async () => {
    const { interruption, source, exits } = interrupted();
    await interruption.during('run it again', async () => {
      source.emit('SIGINT');
      source.emit('SIGTERM');
    });
    expect(exits).toEqual([130]);
  });

  it('by Ctrl-C is handled only during the work', async () => {
    const { interruption, source } = interrupted();
    expect(source.listenerCount('SIGINT')).toBe(0);
    await interruption.during('', async () => expect(source.listenerCount('SIGINT')).toBe(1));
    await expect(
      interruption.during('', async () => {
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(['SIGINT', 'SIGTERM'].map((name) => source.listenerCount(name))).toEqual([0, 0]);
  });
});
