import { describe, expect, it } from '@jest/globals';
import { type VersionWrite, versionProblems } from './version-history';

const write = (version: number | null | undefined, began: number, ended: number, cas?: number): VersionWrite => ({
  value: `v${version}`,
  version,
  began,
  ended,
  cas,
});
const final = (current: number, values: [number, string][] = []) => ({ current, values: new Map(values) });

describe('a history of versions', () => {
  it('is reported without problems if it is possible', () => {
    const history = [write(1, 0, 5), write(3, 1, 9, 2), write(2, 2, 8), write(null, 6, 7, 1), write(undefined, 3, 12)];
    expect(versionProblems(history, final(4, [[3, 'v3']]))).toEqual([]);
  });

  it.each<[string, VersionWrite[], ReturnType<typeof final>, string]>([
    ['assigns a version twice', [write(1, 0, 1), write(1, 0, 1)], final(1), 'version 1 was given twice'],
    ['loses a version', [write(1, 0, 1), write(2, 0, 1)], final(1), 'version 2 was acknowledged and is not there'],
    ['skips a version', [write(1, 0, 1), write(3, 0, 1)], final(3), 'no write made the versions 2'],
    ['returns a wrong value', [write(1, 0, 1)], final(1, [[1, 'x']]), 'version 1 has the value of another write'],
    [
      'goes back in time',
      [write(2, 0, 1), write(1, 2, 3)],
      final(2),
      'version 2 was written before its predecessor was begun',
    ],
    ['accepts a write that it must refuse', [write(1, 0, 1), write(2, 0, 1, 0)], final(2), 'version 2 was to follow 0'],
    [
      'refuses a write that it must accept',
      [write(1, 0, 1), write(null, 2, 3, 1), write(2, 4, 5)],
      final(2),
      'a write that followed 1 was refused while 1 was current',
    ],
  ])('that %s is detected', (_what, history, end, problem) => {
    expect(versionProblems(history, end)).toEqual([problem]);
  });
});
