import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { bool, commaList, duration, int, keyValues, oneOf, secretString, string, stringList } from './fields';

const parse = (field: z.ZodType, value: unknown) => {
  const result = z.object({ f: field }).safeParse({ f: value });
  return result.success ? (result.data as { f: unknown }).f : `refused: ${result.error.issues[0]!.message}`;
};

describe('wire fields', () => {
  it.each([
    ['text', string(), 'a', 'a'],
    ['a number as text', string(), 1.5, '1.5'],
    ['a list as text', string(), ['a'], "refused: '' expected type 'string', got unconvertible type 'list'"],
    ['a whole number', int(), 7, 7],
    ['a number in text', int(), '-7', -7],
    [
      'text as a number',
      int(),
      'zz',
      `refused: cannot parse '' as int: strconv.ParseInt: parsing "zz": invalid syntax`,
    ],
    ['a number beyond all', int(), 1e300, 'refused: value out of range'],
    ['true in text', bool(), 'true', true],
    ['one', bool(), 1, true],
    ['zero', bool(), '0', false],
    ['maybe', bool(), 'maybe', `refused: cannot parse '' as bool: strconv.ParseBool: parsing "maybe": invalid syntax`],
    ['seconds', duration(), 90, 90],
    ['seconds in text', duration(), '90', 90],
    ['hours and minutes', duration(), '1h30m', 5400],
    ['a day', duration(), '1d', 86_400],
    ['part of a second', duration(), '1500ms', 1],
    ['a negative time', duration(), -5, "refused: cannot provide negative value '-5'"],
    ['no time at all', duration(), 'zz', 'refused: time: invalid duration "zz"'],
    ['a time that overflows', duration(), '9999999999h', 'refused: time: invalid duration "9999999999h"'],
    ['text with commas', commaList(), ' a, b,,c ', ['a', 'b', 'c']],
    ['a list with blanks', commaList(), [' a ', '', 'b'], ['a', 'b']],
    ['text that is one element', stringList(), 'a,b', ['a,b']],
    ['an object of pairs', keyValues(), { a: 'b', n: 1 }, { a: 'b', n: '1' }],
    ['a list of pairs', keyValues(), ['a=b', 'c=d=e'], { a: 'b', c: 'd=e' }],
    ['one pair', keyValues(), 'a=b,c=d', { a: 'b,c=d' }],
    ['no pair', keyValues(), ['novalue'], 'refused: invalid key pair "novalue"'],
    ['a word of a list', oneOf(['x', 'y']), 'y', 'y'],
    ['another word', oneOf(['x', 'y']), 'z', 'refused: must be one of x, y'],
  ])('%s', (_what, field, given, read) => {
    expect(parse(field, given)).toEqual(read);
  });

  it('keeps a key named __proto__ as a key', () => {
    const pairs = parse(keyValues(), JSON.parse('{"__proto__":"x"}')) as object;
    expect(Object.getOwnPropertyNames(pairs)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(pairs)).toBe(Object.prototype);
  });

  it('marks what must not stand in a refusal', () => {
    const issue = z.object({ f: secretString() }).safeParse({ f: { a: 1 } }).error!.issues[0] as unknown as {
      params: object;
    };
    expect(issue.params).toMatchObject({ hidden: true });
  });
});
