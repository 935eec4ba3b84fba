import { describe, expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { generatePassword, parsePasswordPolicy } from './password-policy';

const rule = (charset: string, least?: number) =>
  `rule "charset" { charset = ${JSON.stringify(charset)}${least === undefined ? '' : ` min-chars = ${least}`} }`;

describe('a password policy', () => {
  it('is read in block notation and as JSON', () => {
    const expectedCounts = {
      length: 20,
      rules: [
        { charset: ['a', 'b'], least: 1 },
        { charset: ['0'], least: 0 },
      ],
    };
    expect(parsePasswordPolicy(`length = 20\n${rule('abba', 1)}\n${rule('0')}`)).toEqual(expectedCounts);
    const json = { length: 20, rule: [{ charset: { charset: 'ab', 'min-chars': 1 } }, { charset: { charset: '0' } }] };
    expect(parsePasswordPolicy(JSON.stringify(json))).toEqual(expectedCounts);
  });

  it.each([
    [rule('ab'), 'length must be between 4 and 100'],
    [`length = 3 ${rule('ab')}`, 'length must be between 4 and 100'],
    [`length = 101 ${rule('ab')}`, 'length must be between 4 and 100'],
    [`length = "x" ${rule('ab')}`, 'length must be a whole number'],
    [`length = 5 length = 6 ${rule('ab')}`, 'length occurs twice'],
    ['length = 20', 'no rule defines the allowed characters'],
    [`length = 20 ${rule('')}`, 'charset must contain characters'],
    [`length = 20 ${rule('a\tb')}`, 'cannot be printed'],
    [`length = 20 ${rule('ab', -1)}`, 'min-chars must not be negative'],
    [`length = 20 ${rule('ab', 15)} ${rule('01', 6)}`, 'the rules require 21 characters, but length is 20'],
    ['length = 20 rule "words" { }', 'unknown rule "words"'],
    ['length = 20 rule = 5', 'rule must be a block'],
    [`length = 20 width = 3 ${rule('ab')}`, 'invalid key "width"'],
    ['length = 20 rule "charset" { charset = "ab" most = 3 }', 'invalid key "most"'],
    ['length = ', 'Unknown token'],
    [`length = 20 ${rule('ab')} #${'x'.repeat(70_000)}`, 'longer than 65536 bytes'],
  ])('is refused: %s', (text, why) => {
    expect(() => parsePasswordPolicy(text)).toThrow(why);
  });

  it('is met by every generated password', () => {
    const charset = fc.string({ unit: fc.constantFrom(...'abcXYZ019 -é😀'), minLength: 1, maxLength: 12 });
    const rules = fc.array(fc.record({ charset, least: fc.integer({ min: 0, max: 8 }) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(rules, fc.integer({ min: 32, max: 100 }), (some, length) => {
        const text = `length = ${length}\n${some.map((one) => rule(one.charset, one.least)).join('\n')}`;
        const password = [...generatePassword(parsePasswordPolicy(text))];
        expect(password).toHaveLength(length);
        const all = new Set(some.flatMap((one) => [...one.charset]));
        expect(password.filter((one) => !all.has(one))).toEqual([]);
        for (const { charset: set, least } of some) {
          expect(password.filter((one) => set.includes(one)).length).toBeGreaterThanOrEqual(least);
        }
      }),
      propertySettings,
    );
  });

  it('generates a different password each time, with no fixed place for a rule', () => {
    const policy = parsePasswordPolicy(`length = 24 ${rule('abcdefghijklmnop')} ${rule('0123456789', 1)}`);
    const passwords = Array.from({ length: 200 }, () => generatePassword(policy));
    expect(new Set(passwords).size).toBe(200);
    expect(new Set(passwords.map((one) => one.search(/\d/))).size).toBeGreaterThan(3);
    expect(passwords.some((one) => !/^\d/.test(one))).toBe(true);
  });
});
