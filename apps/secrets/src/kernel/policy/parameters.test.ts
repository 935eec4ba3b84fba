import { describe, expect, it } from '@jest/globals';
import { ExactNumber } from '@keystead/envelope';
import { MergedLists } from './merged-lists';
import { judgeParameters } from './parameters';
import { PatternRule } from './rule';
import type { ParameterLists, PolicyValue } from './types';

function denying(values: readonly PolicyValue[]): PatternRule {
  const deniedParameters: ParameterLists = new Map([['xyz', values]]);
  return Object.create(new PatternRule('a'), { deniedParameters: { value: deniedParameters } });
}

/** Parameters that are all called `xyz`, in upper and lower case. */
const parametersOf = (count: number, value: unknown) =>
  Object.fromEntries(['xyz', 'Xyz', 'xYz', 'xyZ', 'XYz', 'XyZ'].slice(0, count).map((name) => [name, value]));

const tooMuch = expect.objectContaining({
  kind: 'too-large',
  message: 'too many or too long parameters to compare with the policies',
});

// One request must not block all others, so it has a budget of 250 million steps.
describe('the parameters of a request', () => {
  it.each<[string, PolicyValue, number, unknown]>([
    ['strings', 'a', 1_000_000, 'b'],
    ['objects', { object: new Map([['k', 'a']]) }, 333_333, { k: 'b' }],
    // A search may compare each of 1,009 characters with each of 99.
    ['patterns with stars at both ends', `*${'a'.repeat(97)}*`, 500, 'b'.repeat(1_009)],
  ])('are compared with %s while that is fast', (_, listed, times, value) => {
    const rule = denying(Array(times).fill(listed));
    expect(judgeParameters(rule, { parameters: parametersOf(5, value) } as never)).toBeUndefined();
    expect(() => judgeParameters(rule, { parameters: parametersOf(6, value) } as never)).toThrow(tooMuch);
  });

  it.each<[string, number, boolean]>([
    [`*${'a'.repeat(998)}*`, 249_999, true],
    [`*${'a'.repeat(998)}*`, 250_000, false],
    [`*${'a'.repeat(999)}`, 250_000, true],
    [`${'a'.repeat(999)}*`, 250_000, true],
    ['a'.repeat(1_000), 250_000, true],
  ])('are searched for a pattern while that is fast', (pattern, length, quick) => {
    const judge = (value: unknown) => judgeParameters(denying([pattern]), { parameters: { xyz: value } } as never);
    if (quick) expect(judge('b'.repeat(length))).toBeUndefined();
    else expect(() => judge('b'.repeat(length))).toThrow(tooMuch);
    expect(judge({ length })).toBeUndefined();
  });

  it('are compared with numbers while that is fast', () => {
    const judge = (count: number, digits: string) =>
      judgeParameters(denying(Array(count).fill({ number: '5' })), {
        parameters: { xyz: new ExactNumber(digits) },
      } as never);
    expect(judge(10, `5e${'9'.repeat(1_000_000)}`)).toBeUndefined();
    expect(judge(10, `5.${'0'.repeat(1_000_000)}`)).toBe('denied-parameter');
    expect(judge(10, `5e${'0'.repeat(1_000_000)}`)).toBe('denied-parameter');
    expect(() => judge(13, `6.${'0'.repeat(1_000_000)}`)).toThrow(tooMuch);
  });

  it('are merged lists, and the given lists are unchanged', () => {
    const merged = new MergedLists();
    expect(merged.lists).toBeUndefined();
    const added = [
      new Map([
        ['a', ['1']],
        ['b', []],
        ['c', ['2']],
      ]),
      new Map([
        ['a', ['3']],
        ['b', ['4']],
        ['c', []],
        ['d', ['5']],
      ]),
      new Map([
        ['c', ['6']],
        ['d', ['7']],
        ['e', []],
      ]),
    ] as ParameterLists[];
    const before = JSON.stringify(added.map((lists) => [...lists]));
    merged.add(undefined);
    merged.add(added[0]);
    expect(merged.lists).toEqual(added[0]);
    merged.add(added[1]);
    merged.add(undefined);
    merged.add(added[2]);
    expect([...merged.lists!]).toEqual([
      ['a', ['1', '3']],
      ['b', []],
      ['c', []],
      ['d', ['5', '7']],
      ['e', []],
    ]);
    expect(JSON.stringify(added.map((lists) => [...lists]))).toBe(before);
  });
});
