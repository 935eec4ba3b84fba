import { describe, expect, it } from '@jest/globals';
import { masked } from './masked';

describe('the output of a policy', () => {
  it.each([
    ['unchanged', 'it is s3cret', 's3cret', 'it is ***'],
    ['in JSON', JSON.stringify({ key: 'a"b\nc' }), 'a"b\nc', '{"key":"***"}'],
    ['as Rego marshals it', '{"key":"a\\u003cb"}', 'a<b', '{"key":"***"}'],
  ])('contains no secret %s', (_how, text, secret, left) => {
    expect(masked(text, [secret, ''])).toBe(left);
  });

  it('contains neither of two secrets if one is the beginning of the other', () => {
    expect(masked('abc abcdef', ['abc', 'abcdef'])).toBe('*** ***');
  });
});
