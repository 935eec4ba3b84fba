import { expect, it } from '@jest/globals';
import { isTemplateWitnessed } from './template-witness';
import type { PathTemplate } from './types';

const free = { free: true } as const;

/** The candidate paths if none is accepted; fresh segments are shown as `?`. */
function witnesses(template: PathTemplate, pattern: string, listing = false, longestPattern = 3): string[] {
  const paths: string[] = [];
  const accepts = (path: string) => {
    paths.push(path.replaceAll('\u0001fresh', '?'));
    return false;
  };
  expect(isTemplateWitnessed(template, pattern, listing, longestPattern, accepts)).toBe(false);
  return paths;
}

it.each<[string, PathTemplate['segments'], string[]]>([
  ['sec/a', ['sec', free], ['sec/a']],
  ['sec/+', ['sec', free], ['sec/?']],
  ['+/+', ['sec', 'a'], ['sec/a']],
  ['+x/a', ['sec', 'a'], []],
  ['+x/a', [free, 'a'], ['+x/a']],
  ['sec/ab*', ['sec', free, 'x'], ['sec/ab?/x']],
  ['sec/ab*', ['sec', 'abc', free], ['sec/abc/?']],
  ['sec/ab*', ['sec', 'a'], []],
  ['sec/a', ['sec'], []],
  ['sec/*', ['sec'], []],
  ['sec', ['sec', 'a'], []],
  ['sec', ['sec', ''], []],
  ['se', ['sec'], []],
  ['secret/a', ['sec', 'a'], []],
  ['a*/b', [free, 'b'], ['a*/b']],
  ['a*/b', ['ab', 'b'], []],
  ['', [free], []],
  ['', [''], ['']],
  ['sec//x', ['sec', free, 'x'], []],
])('a path is searched for the pattern %s and the closed template %j', (pattern, segments, expected) => {
  expect(witnesses({ segments }, pattern)).toEqual(expected);
});

it.each<[string, PathTemplate['segments'], string[]]>([
  ['sec', ['sec', ''], ['sec/']],
  ['sec/+', ['sec', free, ''], ['sec/?/']],
  ['sec/', ['sec', ''], ['sec/']],
  ['sec', ['sec', free], []],
  ['sec', ['sec', '', 'x'], []],
  ['sec', ['sec'], ['sec']],
])('a path to list is searched for the pattern %s and the closed template %j', (pattern, segments, expected) => {
  expect(witnesses({ segments }, pattern, true)).toEqual(expected);
});

it.each<[string, PathTemplate['segments'], string[]]>([
  ['sec/a', ['sec'], ['sec/a']],
  ['sec/+/x', ['sec'], ['sec/?/x']],
  ['sec/', ['sec'], ['sec/']],
  ['sec', ['sec'], []],
  ['sec/a*', ['sec'], ['sec/a?', 'sec/a?/?', 'sec/a?/?/?']],
  ['*', ['sec'], ['sec/?', 'sec/?/?', 'sec/?/?/?']],
  ['sec/a/b*', ['sec'], ['sec/a/b?', 'sec/a/b?/?']],
  // Longer than any pattern, so one length is enough.
  ['*', ['a', free, 'c', 'd'], ['a/?/c/d/?']],
])('a path of each length is searched for the pattern %s and the open template %j', (pattern, segments, expected) => {
  expect(witnesses({ segments, open: true }, pattern)).toEqual(expected);
});

it('a path is searched in no more than 64 segments below a wildcard', () => {
  expect(
    witnesses({ segments: ['sec'], open: true }, '*', false, 1_000)
      .at(-1)
      ?.split('/'),
  ).toHaveLength(66);
});

it('the search for a path ends at the first accepted path', () => {
  const tried: string[] = [];
  const accepts = (path: string) => {
    tried.push(path);
    return tried.length === 2;
  };
  expect(isTemplateWitnessed({ segments: ['a'], open: true }, '*', false, 9, accepts)).toBe(true);
  expect(tried).toHaveLength(2);
  expect(isTemplateWitnessed({ segments: ['a'] }, 'a', false, 9, () => true)).toBe(true);
});
