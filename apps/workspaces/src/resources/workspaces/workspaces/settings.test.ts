import { describe, expect, it } from '@jest/globals';
import { requireRegex } from './settings';

describe('an expression for version tags', () => {
  it.each(['^v\\d+\\.\\d{1,3}$', '[]]{1000}', '((a?){30}){33}', '\\p{Greek}{900}', '(?:^v1){,5}', 'a{2,}'])(
    'may be %s',
    (expression) => {
      expect(requireRegex(expression)).toBeUndefined();
    },
  );

  it.each(['(', '[', 'a{1001}', '(a{1000}){2}'])('must be valid: %s', (expression) => {
    expect(requireRegex(expression)).toBe('is not a valid regular expression');
  });

  // Each of them is short, and took from 100 ms to a few seconds to compile.
  it.each([
    ['a long group', `(${'a'.repeat(1000)}){1000}`],
    ['many parts', 'a{1000}'.repeat(146)],
    ['groups in groups', '((a?){30}){33}'.repeat(70)],
    ['classes', `(?i)${'\\pL{1000}'.repeat(100)}`],
    ['brackets within classes', '[^\\]{3}]{999}'.repeat(70)],
  ])('limits the repetition of %s', (_what, expression) => {
    expect(requireRegex(expression)).toBe('repeats too much (maximum is 5000 steps)');
  });
});
