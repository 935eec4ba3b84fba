import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { propertySettings } from '../../testing/src/index';
import { decimalValue, ExactNumber, jsonText, mayBeInexact, parseExact, plainNumbers } from './json-text';

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
    'needs no special handling for %j',
    (text) => {
      expect(mayBeInexact(text)).toBe(false);
      expect(jsonText(parseExact(text))).toBe(text);
    },
  );

  it('does not change parts of a string that look like a number', () => {
    const json = String.raw`{"a 1.0":["2.50 \" 3.0","\\",1.10,"5.0\\\" 6.0"],"-0":"4.0","7.0":-0}`;
    expect(jsonText(parseExact(json))).toBe(json);
  });

  it('never loses a digit, in any context', () => {
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

  it('has the same decimal value for two spellings exactly if they mean the same number', () => {
    /** Both numbers as whole ones over the same power of ten. */
    const areEqual = (one: string, other: string) => {
      const scaled = (digits: string) => {
        const [mantissa = '', exponent = '0'] = digits.toLowerCase().split('e');
        const [whole = '', fraction = ''] = mantissa.split('.');
        return BigInt(whole + fraction) * 10n ** BigInt(60 + Number(exponent) - fraction.length);
      };
      return scaled(one) === scaled(other);
    };
    const digits = fc.stringMatching(/^-?(0|[1-9][0-2]{0,2})(\.[0-1]{1,3})?([eE][+-]?0{0,2}[0-3])?$/);
    fc.assert(
      fc.property(digits, digits, (one, other) => {
        expect(decimalValue(one) === decimalValue(other)).toBe(areEqual(one, other));
      }),
      { numRuns: 5_000 },
    );
    expect(decimalValue('-1.0')).not.toBe(decimalValue('1'));
    expect(decimalValue(`5e${'0'.repeat(40)}`)).toBe(decimalValue('5'));
    expect(decimalValue('10e999999999999998')).toBe(decimalValue('1e999999999999999'));
    expect(decimalValue('1e1000000000000000')).toBe('1e1000000000000000');
  });

  it.each([
    ['exponent', '', '9'.repeat(5_000_000)],
    ['mantissa', '9'.repeat(5_000_000), '7'],
  ])('reads the decimal value of a number with millions of digits in its %s', (_where, mantissa, exponent) => {
    expect(decimalValue(`1${mantissa}e${exponent}`)).toBe(`1${mantissa}e${exponent}`);
  });

  it('writes numbers that a double can hold as such, and all others as digits', () => {
    const read = parseExact('[2.5, 2.50, -0, 0, 1e5, 12345678901234567890, "2.50", null, true]');
    const exact = (digits: string) => new ExactNumber(digits);
    expect(read).toEqual([
      ...[2.5, exact('2.50'), exact('-0'), 0, exact('1e5'), exact('12345678901234567890'), '2.50', null, true],
    ]);
    expect(String((read as unknown[])[1])).toBe('2.50');
    expect(jsonText(undefined)).toBe('null');
    expect(jsonText({ a: [exact('1.0'), { b: null }], c: 'x' })).toBe('{"a":[1.0,{"b":null}],"c":"x"}');
  });

  it('is parsed to plain numbers if requested, with keys of any name', () => {
    const json = '{"a":1.10,"__proto__":{"b":[1e2,null,"1.0"]},"c":12345678901234567890}';
    const plain = plainNumbers(parseExact(json));
    expect(JSON.stringify(plain)).toBe(JSON.stringify(JSON.parse(json)));
    const [member] = Object.values(Object.getOwnPropertyDescriptors(plain));
    expect(member).toEqual({ value: 1.1, enumerable: true, configurable: true, writable: true });
  });

  it('is rejected exactly when the native parser rejects it, and otherwise means the same', () => {
    const scraps = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"\\""',
      '"1.0',
      '1.0',
      '-0',
      '1e9',
      '01.5',
      '1.',
      '.5',
      '-',
      '1.0.0',
    ];
    const soup = fc.array(fc.constantFrom(...scraps, ' ', '\n', '\t', '\r', '12345678901234567890'), { maxLength: 8 });
    const numbers = fc.constantFrom('1.0', '-0', '1e9', '1.0.0', '01', '1.', '"', '"\\"');
    const near = fc
      .tuple(numbers, fc.constantFrom('', ' ', '\t', '\n', '\r', ' x'), fc.constantFrom(':', ',', ']', '}', ''))
      .map(([number, space, sign]) => [
        ['{', number, space, sign, '1.0}'],
        ['[', number, space, sign, '2.50]'],
      ]);
    const texts = fc
      .oneof(
        soup.map((parts) => [parts]),
        near,
      )
      .map((all) => all.map((parts) => parts.join('')));
    const outcome = (read: () => unknown) => {
      try {
        return JSON.stringify(read());
      } catch (error) {
        return (error as Error).name;
      }
    };
    fc.assert(
      fc.property(texts, (all) => {
        for (const text of all) {
          expect(outcome(() => plainNumbers(parseExact(text)))).toBe(outcome(() => JSON.parse(text)));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
