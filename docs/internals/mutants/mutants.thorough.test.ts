import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readConformance } from '../conformance/report';
import { Rows, Worker } from './crew';
import { TooLong, within } from './limits';
import { compiledFrom, withMutants } from './loader';
import { change, changed, nameOf, play, wasReached } from './mutant';
import { type Planned, planOf } from './plan';

const root = resolve(__dirname, '../../..');

describe('mutants', () => {
  it('have unique names in their row', () => {
    for (const { row, mutants } of planOf(readConformance(root))) {
      const names = mutants.map(nameOf);
      expect([row.id, new Set(names).size]).toEqual([row.id, names.length]);
    }
  });

  it('of source text find their expression exactly once in its file, and leave code that compiles', () => {
    const texts = planOf(readConformance(root))
      .flatMap(({ mutants }) => mutants)
      .filter(({ of }) => of.endsWith('.ts'));
    const planted = (file: string, source: string) =>
      compiledFrom(
        file,
        withMutants(
          file,
          source,
          texts.filter(({ of }) => of === file),
        ),
      );
    for (const file of new Set(texts.map(({ of }) => of))) planted(file, readFileSync(resolve(root, file), 'utf8'));
    expect(() => withMutants('a.ts', 'x + x', [{ of: 'a.ts', part: 'x', how: 'y' }])).toThrow('exactly once');
    const pair = withMutants('a.ts', 'f({ a: 1 })', [{ of: 'a.ts', part: 'a: 1', how: 'a: 2' }]);
    expect(() => compiledFrom('a.ts', pair)).toThrow('Syntax Error');
  });

  it('change the output while they are active, and report whether their code was used', () => {
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

const mutant = (part: string) => ({ of: 'thing', part, how: 'null' });
const rowOf = (id: string, ...parts: string[]): Planned => ({
  row: { id, section: '', text: '', cells: [], silent: false },
  files: [`${id.replace(/\..*/, '')}.test.ts`],
  mutants: parts.map(mutant),
});

/** Runs the rows of its orders; hangs in an endless loop in the mutants of `stuck`, and in `sick` without a mutant. */
const worker = `
const say = (said) => process.send(said);
const spin = () => { for (;;); };
process.on('message', ({ row, stuck }) => {
  say({ kind: 'step', mutant: undefined });
  if (row === 'S1.3') spin();
  if (row === 'S1.4') process.exit(3);
  for (const part of row === 'S1.2' ? ['a'] : []) {
    const mutant = 'thing ' + part + ': null';
    if (stuck.includes(mutant)) continue;
    say({ kind: 'step', mutant });
    spin();
  }
  say({ kind: 'played', survivors: [{ name: 'thing c: null', reached: true }] });
});
say({ kind: 'ready', places: [['thing', 'thing.ts']] });
`;

describe('the program that runs mutants', () => {
  it('stops waiting for a step when its time is over', async () => {
    await expect(within(1, 'waiting', () => new Promise(() => undefined))).rejects.toThrow(TooLong);
    await expect(within(60_000, 'failing', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await within(60_000, 'answering', async () => 5)).toBe(5);
  });

  it('ends a stuck process: an active mutant is then treated as killed, anything else as not played', async () => {
    const box = mkdtempSync(join(tmpdir(), 'keystead-mutants-'));
    const program = join(box, 'worker.js');
    writeFileSync(program, worker);
    const one = new Worker(4000, program);
    try {
      expect(await one.start()).toEqual(new Map([['thing', 'thing.ts']]));
      const survivors = [{ name: 'thing c: null', reached: true }];
      expect(await one.play(rowOf('S1.1', 'c'))).toEqual({ survivors });
      expect(await one.play(rowOf('S1.2', 'a', 'c'))).toEqual({ survivors });
      expect(await one.play(rowOf('S1.3', 'a'))).toEqual({
        survivors: [],
        failure: expect.stringContaining('silence'),
      });
      expect(await one.play(rowOf('S1.4', 'a'))).toEqual({
        survivors: [],
        failure: expect.stringContaining('ended (3)'),
      });
      expect(await one.play(rowOf('S1.1', 'c'))).toEqual({ survivors });
    } finally {
      await one.end();
      rmSync(box, { recursive: true });
    }
  });

  it('continues with the files it has loaded, then with files that no worker has started', () => {
    const rows = new Rows(['S1.1', 'S2.1', 'S2.2', 'S2.3', 'S1.2'].map((id) => rowOf(id)));
    const first = rows.next(undefined);
    const second = rows.next(undefined);
    expect([first?.row.id, second?.row.id]).toEqual(['S2.1', 'S1.1']);
    const rest = [rows.next(second), rows.next(second), rows.next(first), rows.next(first)];
    expect(rest.map((planned) => planned?.row.id)).toEqual(['S1.2', 'S2.2', 'S2.3', undefined]);
  });
});
