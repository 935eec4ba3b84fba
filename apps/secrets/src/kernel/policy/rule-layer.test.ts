import { describe, expect, it } from '@jest/globals';
import type { Folding } from '../../sdk/canonical-path';
import { PatternRule } from './rule';
import { findAllRules, findRule, foldLayers, RuleLayer } from './rule-layer';

const layer = (...patterns: string[]) => new RuleLayer(patterns.map((pattern) => new PatternRule(pattern)));
const patternsOf = (layers: readonly RuleLayer[]) =>
  layers.map(({ rules }) => rules.map(({ pattern }) => pattern).sort());
const third: Folding = { fold: 'case', from: 2, to: 3 };

describe('rules in layers', () => {
  it('count the segments of the longest pattern', () => {
    expect(layer('a/b/c', 'longer/one').longestPattern).toBe(3);
    expect(layer().longestPattern).toBe(0);
  });

  it('are found in any layer, the best one first', () => {
    const layers = [layer('a/b*', 'x'), layer('a/bc*', 'a/*', 'y')];
    expect(['x', 'y', 'a/bcd', 'a/bd', 'a/c', 'z'].map((path) => findRule(layers, path, false)?.pattern)).toEqual([
      ...['x', 'y', 'a/bc*', 'a/b*', 'a/*', undefined],
    ]);
    expect(findAllRules(layers, 'a/bcd', false).map(({ pattern }) => pattern)).toEqual(['a/bc*', 'a/b*', 'a/*']);
    expect(findAllRules(layers, 'y', false).map(({ pattern }) => pattern)).toEqual(['y']);
  });

  it('are those of the path without its slash only for a list, and only if such rules exist', () => {
    const layers = [layer('sec/a', 'sec/+', '+/ab')];
    const found = (path: string, listing: boolean) => findAllRules(layers, path, listing).map(({ pattern }) => pattern);
    expect(findRule(layers, 'sec/a/', true)?.pattern).toBe('sec/a');
    expect(findRule(layers, 'sec/b/', true)?.pattern).toBe('sec/+');
    expect(findRule(layers, 'sec/a/', false)).toBeUndefined();
    expect(findRule([layer('sec/a')], 'sec/ab', true)).toBeUndefined();
    expect(found('sec/a/', true)).toEqual(['sec/a', 'sec/+']);
    expect(found('sec/a/', false)).toEqual([]);
    expect(found('sec/ab', true)).toEqual(['sec/+', '+/ab']);
  });
});

describe('layers for paths of which a segment is read in lower case', () => {
  it('are the same object if that changes nothing', () => {
    const layers = [layer('a/b/c', 'A/B/*'), layer('a/b/d/E')];
    expect(layers[0]!.foldedBy(third)).toBe(layers[0]);
    expect(foldLayers(layers, third)).toBe(layers);
  });

  it('are built once for each way of reading', () => {
    const one = layer('a/B/C');
    const folded = one.foldedBy(third);
    expect(one.foldedBy({ ...third })).toBe(folded);
    const [wider, open] = [one.foldedBy({ ...third, from: 1 }), one.foldedBy({ ...third, to: 4 })];
    expect(patternsOf([folded, wider, open])).toEqual([['a/B/c'], ['a/b/c'], ['a/B/c']]);
    expect(open).not.toBe(folded);
  });

  it('remain separate if they share no pattern', () => {
    const folded = foldLayers([layer('a/b/X', 'a/b/Y'), layer('a/b/z')], third);
    expect(patternsOf(folded)).toEqual([['a/b/x', 'a/b/y'], ['a/b/z']]);
  });

  it.each([
    [['a/b/X'], ['a/b/x']],
    [['a/b/x'], ['a/b/X', 'a/b/Y']],
    [
      ['a/b/w', 'a/b/X'],
      ['a/b/x', 'a/b/y'],
    ],
  ])('are merged if %j and %j then share a pattern', (one, other) => {
    const folded = foldLayers([layer('q'), layer(...one), layer(...other)], third);
    const all = ['q', ...one, ...other].map((pattern) => pattern.toLowerCase());
    expect(patternsOf(folded)).toEqual([[...new Set(all)].sort()]);
  });
});
