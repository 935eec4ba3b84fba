import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns';

const never = new Promise<void>(() => undefined);
/** Takes the next item of an organization that is not busy. */
const from = (left: string[]) => async (busy: string[]) => {
  const at = left.findIndex((id) => !busy.includes(id));
  return at < 0 ? [] : [{ organization_id: left.splice(at, 1)[0]! }];
};

describe('turns', () => {
  it('wait for everything without a limit', async () => {
    const done: string[] = [];
    await new Turns().each(5, from(['a', 'a', 'b']), async ({ organization_id }) => void done.push(organization_id));
    expect(done).toEqual(['a', 'a', 'b']);
  });

  it('stop waiting for a hanging call, and start nothing else for its organization', async () => {
    const begun: string[] = [];
    const left = ['a', 'a', 'b', 'a', 'b'];
    const turns = new Turns(5);
    await turns.each(9, from(left), async ({ organization_id: id }) => {
      begun.push(id);
      if (id === 'a') await never;
    });
    expect([begun, left, turns.busy]).toEqual([['a', 'b', 'b'], ['a', 'a'], ['a']]);
  });

  it('do no more than requested', async () => {
    const left = ['a', 'b', 'c'];
    await new Turns().each(2, from(left), async () => undefined);
    expect(left).toEqual(['c']);
  });

  it('wait for one of eight calls before they start another', async () => {
    const ends: (() => void)[] = [];
    const left = Array.from({ length: 9 }, (_, n) => `o${n}`);
    const turns = new Turns(1);
    const all = turns.each(9, from(left), () => new Promise<void>((resolve) => ends.push(resolve)));
    while (ends.length < 8) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(left).toEqual(['o8']);
    ends[3]!();
    await all;
    expect(turns.busy).toEqual(['o0', 'o1', 'o2', 'o4', 'o5', 'o6', 'o7', 'o8']);
    for (const end of ends) end();
    await turns.settled();
    expect(turns.busy).toEqual([]);
  });

  it('report failures, even of calls they no longer wait for', async () => {
    const failing = async () => {
      throw new Error('broken');
    };
    await expect(new Turns().each(1, from(['a']), failing)).rejects.toThrow('broken');
    let fail: (error: Error) => void = () => undefined;
    const turns = new Turns(1);
    await turns.each(1, from(['a']), () => new Promise<void>((_, reject) => (fail = reject)));
    fail(new Error('late'));
    await turns.settled();
    const served: string[] = [];
    const serve = async ({ organization_id: id }: { organization_id: string }) => void served.push(id);
    await expect(turns.each(1, from(['b']), serve)).rejects.toThrow('late');
    // After an error of one organization, the others still get their turns.
    expect(served).toEqual(['b']);
    await turns.each(1, from(['b']), serve);
  });

  it('extend their claims only while the work continues', async () => {
    const kept: string[] = [];
    const keep = async ({ organization_id: id }: { organization_id: string }) => {
      kept.push(id);
      if (kept.length === 2) throw new Error('the database is down');
    };
    const untilKept = async () => {
      while (kept.length < 4) await new Promise((resolve) => setTimeout(resolve, 1));
    };
    await new Turns(undefined, 1).each(1, from(['a']), untilKept, keep);
    const { length } = kept;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([new Set(kept), kept.length]).toEqual([new Set(['a']), length]);
  });
});
