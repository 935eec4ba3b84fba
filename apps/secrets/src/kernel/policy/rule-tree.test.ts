import { expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import * as fc from 'fast-check';
import { PatternRule } from './rule';
import { comparePatterns, hasWildcard, RuleTree } from './rule-layer';

// A small alphabet, so that patterns and paths collide often.
const segment = fc.constantFrom('a', 'ab', 'abc', 'b+', '+', '+', '');
const patterns = fc
  .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([segments, open]) => segments.join('/') + (open && segments.at(-1) !== '+' ? '*' : ''))
  .filter((pattern) => hasWildcard(pattern) && !pattern.includes('+*'));
const paths = fc
  .array(fc.constantFrom('a', 'ab', 'abcd', 'b+', 'c', ''), { minLength: 1, maxLength: 5 })
  .map((segments) => segments.join('/'));

function matches(pattern: string, path: string): boolean {
  const open = pattern.endsWith('*');
  const patternSegments = (open ? pattern.slice(0, -1) : pattern).split('/');
  const pathSegments = path.split('/');
  if (open ? pathSegments.length < patternSegments.length : pathSegments.length !== patternSegments.length)
    return false;
  const last = patternSegments.length - 1;
  const rest = pathSegments.slice(last).join('/');
  return patternSegments.every(
    (one, i) => one === '+' || (open && i === last ? rest.startsWith(one) : pathSegments[i] === one),
  );
}

it('a tree finds the same rules as trying every rule, the best one first', () => {
  let found = 0;
  void fc.assert(
    fc.property(fc.uniqueArray(patterns, { maxLength: 8 }), fc.array(paths, { maxLength: 4 }), (all, somePaths) => {
      const tree = new RuleTree(all.map((pattern) => new PatternRule(pattern)));
      for (const path of somePaths) {
        const expected = all.filter((pattern) => matches(pattern, path)).sort((a, b) => comparePatterns(b, a));
        found += expected.length;
        expect(tree.findAll(path).map(({ pattern }) => pattern)).toEqual(expected);
        expect(tree.find(path)?.pattern).toBe(expected[0]);
      }
    }),
    { ...propertySettings, numRuns: 500 },
  );
  // If nothing matched, the comparison would prove nothing.
  expect(found).toBeGreaterThan(200);
});

it.each([
  // The rule at a branch ranks lower than one of another branch, but a rule below it ranks higher.
  ['x/bb/c', '+/bb/+', ['+/+/c', '+/+/c/d']],
  // A prefix wins over a rule below a literal segment.
  ['x/b/y/z', '+/b*', ['+/b/+/*']],
  ['x/b/y', '+/b/*', ['+/b*']],
])('for the path %s, the tree finds %s rather than any of %j', (path, winner, others) => {
  for (const all of [
    [winner, ...others],
    [...others, winner],
  ]) {
    expect(new RuleTree(all.map((pattern) => new PatternRule(pattern))).find(path)?.pattern).toBe(winner);
  }
});

it.each<[string, boolean]>([
  ['a', false],
  ['a+', false],
  ['+a', false],
  ['a/+b/c', false],
  ['a*b', false],
  ['', false],
  ['*', true],
  ['a/b*', true],
  ['+', true],
  ['a/+', true],
  ['+/a', true],
  ['a+/+/+b', true],
])('%j has a wildcard: %s', (pattern, expected) => expect(hasWildcard(pattern)).toBe(expected));

// The greater pattern comes first.
it.each([
  ['a/b*', 'a/*'],
  ['a/+', 'a/*'],
  ['a/+/b', 'a/+/+'],
  ['+/a*', '+/+/b*'],
  ['+/!', '+/+'],
  ['+/bcd', '+/bc'],
  ['+/b', '+/a'],
  ['a/b/+', 'a/+/bcd'],
  ['+/a/b+', '+/a/+'],
])('%s is greater than %s', (greater, less) => {
  expect(comparePatterns(greater, less)).toBeGreaterThan(0);
  expect(comparePatterns(less, greater)).toBeLessThan(0);
  expect(comparePatterns(greater, greater)).toBe(0);
});
