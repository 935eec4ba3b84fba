import { describe, expect, it } from '@jest/globals';
import { masked } from './masked';

describe('what a policy prints', () => {
  it.each([
    ['as it is', 'it is s3cret', 's3cret', 'it is ***'],
    ['in JSON', JSON.stringify({ key: 'a"b\nc' }), 'a"b\nc', '{"key":"***"}'],
    ['as Rego marshals it', '{"key":"a\\u003cb"}', 'a<b', '{"key":"***"}'],
  ])('has no secret %s', (_how, text, secret, left) => {
    expect(masked(text, [secret, ''])).toBe(left);
  });

  it('has none of two secrets of which one begins the other', () => {
    expect(masked('abc abcdef', ['abc', 'abcdef'])).toBe('*** ***');
  });
});
