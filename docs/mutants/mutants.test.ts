import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readConformance } from '../conformance/report';
import { withMutants } from './loader';
import { change, changed, nameOf, play, wasReached } from './mutant';
import { planOf } from './plan';

const root = resolve(__dirname, '../..');

describe('mutants', () => {
  it('have a name each in their row', () => {
    for (const { row, mutants } of planOf(readConformance(root))) {
      const names = mutants.map(nameOf);
      expect([row.id, new Set(names).size]).toEqual([row.id, names.length]);
    }
  });

  it('of a text find their expression in its file, once', () => {
    const texts = planOf(readConformance(root))
      .flatMap(({ mutants }) => mutants)
      .filter(({ of }) => of.endsWith('.ts'));
    for (const mutant of texts) withMutants(mutant.of, readFileSync(resolve(root, mutant.of), 'utf8'), [mutant]);
    expect(() => withMutants('a.ts', 'x + x', [{ of: 'a.ts', part: 'x', how: 'y' }])).toThrow('exactly once');
  });

  it('change what is shown while they are in force, and say whether it was used', () => {
    const shown = () => ({ a: 1, b: { c: true } });
    const faulty = (part: string, how: string) => {
      play({ of: 'thing', part, how });
      const holder = shown();
      change('another', holder);
      expect([holder, wasReached()]).toEqual([shown(), false]);
      change('thing', holder);
      return [holder, wasReached()];
    };
    expect(faulty('a', 'null')).toEqual([{ a: null, b: { c: true } }, true]);
    expect(faulty('a', 'missing')).toEqual([{ b: { c: true } }, true]);
    expect(faulty('b.c', 'false')).toEqual([{ a: 1, b: { c: false } }, true]);
    expect(faulty('b.d', 'other')).toEqual([shown(), false]);
    play({ of: 'thing', part: 'a', how: 'constant' });
    expect([changed(5, 'constant'), changed(6, 'constant')]).toEqual([5, 5]);
    play(undefined);
  });
});
