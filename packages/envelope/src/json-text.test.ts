import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { propertySettings } from '../../testing/src/index';
import { jsonText, mayBeInexact, parseExact } from './json-text';

fc.configureGlobal(propertySettings);

describe('JSON text', () => {
  it.each([
    '1.0',
    '{"a":1.10}',
    '{"a": -0}',
    '[1e5]',
    '{"a":[1,2 , 12345678901234567890]}',
    '{"a":\n0.1}',
    '{"a":-1.5E-3}',
    '1234567890123456',
  ])('keeps the digits of %j', (text) => {
    expect(mayBeInexact(text)).toBe(true);
    expect(jsonText(parseExact(text))).toBe(text.replace(/\s/g, ''));
  });

  it.each(['{"a":"10.0.0.1"}', '{"a":"1e5"}', '{"hash":"0123456789012345678901"}', '{"a":12}', '{"a":-1,"b":[0,7]}'])(
    'needs no care for %j',
    (text) => {
      expect(mayBeInexact(text)).toBe(false);
      expect(jsonText(parseExact(text))).toBe(text);
    },
  );

  it('never loses a digit, whatever surrounds the number', () => {
    const space = fc.constantFrom('', ' ', '\n\t');
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,9})?([eE][+-]?\d{1,2})?$/);
    const text = fc.stringMatching(/^[a-z0-9.:,[\]-]{0,12}$/);
    fc.assert(
      fc.property(digits, digits, text, space, space, (one, two, name, before, after) => {
        const json = `{"x${name}":${before}${one}${after},"y":[true,${before}${two}]}`;
        expect(jsonText(parseExact(json))).toBe(`{"x${name}":${one},"y":[true,${two}]}`);
      }),
    );
  });
});
