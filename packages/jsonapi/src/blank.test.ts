import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { blankOf } from './blank';

const names = Array.from({ length: 80 }, (_, index) => `name${index}`);

/** How V8 stores an object: with a shape, or as a hash table. */
function hasShape(): (object: object) => boolean {
  setFlagsFromString('--allow-natives-syntax');
  const ask = runInNewContext('(object) => %HasFastProperties(object)');
  // Functions are compiled when they are first called.
  ask({});
  setFlagsFromString('--no-allow-natives-syntax');
  return ask;
}

describe('a blank object', () => {
  it('has the properties in their order, all null', () => {
    expect(Object.entries(blankOf(['b', 'a']))).toEqual([
      ['b', null],
      ['a', null],
    ]);
  });

  it('keeps its shape when copies of it are filled, unlike an object that grows', () => {
    const isShaped = hasShape();
    const slow: Record<string, number> = {};
    const filled: Record<string, unknown> = { ...blankOf(names) };
    for (const [index, name] of names.entries()) {
      slow[`grown-${name}`] = index;
      filled[name] = index;
    }
    expect([isShaped(slow), isShaped(filled), isShaped({ ...filled })]).toEqual([false, true, true]);
    expect(Object.values(filled)).toEqual(Object.values(slow));
  });
});
