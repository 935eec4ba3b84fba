import { describe, expect, it } from '@jest/globals';
import { Globs } from './globs';

describe('a pattern', () => {
  it.each([
    ['a', 'a', true],
    ['a', 'ab', false],
    ['*', '', true],
    ['a*', 'ab', true],
    ['*b', 'ab', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*b*', 'abc', true],
    ['a*b*b', 'ab', false],
    ['a*b*b', 'abb', true],
    ['**', 'x', true],
    ['a*c*b', 'acdcb', true],
    ['a*cb*b', 'acb', false],
  ])('%s and the text %s: %s', (glob, text, fits) => {
    expect(new Globs().fits(glob, text)).toBe(fits);
  });

  // A search for such a part compares most characters of the text with each character of the part.
  it('has a limited search time', () => {
    const part = `${'a'.repeat(10_000)}b${'a'.repeat(10_000)}`;
    expect(() => new Globs().fits(`*${part}*`, 'a'.repeat(300_000))).toThrow(
      'too many or too long strings to compare with patterns',
    );
  });

  it('counts for all comparisons of a request', () => {
    const compare = new Globs();
    const all = () => {
      for (let i = 0; i < 400_000; i++) compare.fits('a*', 'b');
    };
    expect(all).toThrow('too many');
  });
});
