import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { blankOf } from './blank';

const names = Array.from({ length: 80 }, (_, index) => `name${index}`);

/** V8's own word on how an object is kept: with a shape, or as a hash table. */
function hasShape(): (object: object) => boolean {
  setFlagsFromString('--allow-natives-syntax');
  const ask = runInNewContext('(object) => %HasFastProperties(object)');
  // Functions are read when they are called first.
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

  it('keeps its shape when copies of it are filled, where an object that grows loses it', () => {
    const isShaped = hasShape();
    const grown: Record<string, number> = {};
    const filled: Record<string, unknown> = { ...blankOf(names) };
    for (const [index, name] of names.entries()) {
      grown[`grown-${name}`] = index;
      filled[name] = index;
    }
    expect([isShaped(grown), isShaped(filled), isShaped({ ...filled })]).toEqual([false, true, true]);
    expect(Object.values(filled)).toEqual(Object.values(grown));
  });
});
