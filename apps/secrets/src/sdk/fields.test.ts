import { describe, expect, it } from '@jest/globals';
import { parseExact } from '@keystead/envelope';
import { z } from 'zod';
import { shown } from './coerce';
import {
  bool,
  commaList,
  duration,
  header,
  int,
  keyValues,
  object,
  objectList,
  oneOf,
  secretHeader,
  secretString,
  signedDuration,
  string,
  stringList,
} from './fields';

const parse = (field: z.ZodType, value: unknown) => {
  const result = z.object({ f: field }).safeParse({ f: value });
  return result.success ? (result.data as { f: unknown }).f : `refused: ${result.error.issues[0]!.message}`;
};

const list = "got unconvertible type '[]interface {}', value: ";
const map = "got unconvertible type 'map[string]interface {}', value: ";
const noInt = (text: string, why = 'invalid syntax') =>
  `refused: cannot parse '' as int: strconv.ParseInt: parsing "${text}": ${why}`;
const noBool = (text: string) =>
  `refused: cannot parse '' as bool: strconv.ParseBool: parsing "${text}": invalid syntax`;
const elements = (...texts: string[]) =>
  `refused: ${texts.length} error(s) decoding:\n\n${texts.map((text) => `* ${text}`).join('\n')}`;

/** How each kind of field parses JSON; existing clients rely on it. */
const table: readonly [name: string, field: () => z.ZodType, cases: readonly [json: string, read: unknown][]][] = [
  [
    'a string',
    string,
    [
      ['"a"', 'a'],
      ['1.50', '1.50'],
      ['12345678901234567890', '12345678901234567890'],
      ['true', '1'],
      ['false', '0'],
      ['["a","b"]', `refused: '' expected type 'string', ${list}'[a b]'`],
      ['{"b":[1,null],"a":true}', `refused: '' expected type 'string', ${map}'map[a:true b:[1 <nil>]]'`],
    ],
  ],
  ...([header, secretHeader] as const).map((field): (typeof table)[number] => [
    `what a header carries (${field === header ? 'shown' : 'secret'})`,
    field,
    [
      ['"a\\tb \u00ff"', 'a\tb \u00ff'],
      ['7', '7'],
      ...['a\\n', 'a\\r\\nb', '\\u0000', '\\u007f', '\\u200b', '\\ud83d\\ude00'].map((text): [string, string] => [
        `"${text}"`,
        'refused: contains a line break or another character that is not allowed in headers',
      ]),
    ],
  ]),
  [
    'a whole number',
    int,
    [
      ['7', 7],
      ['"-7"', -7],
      ['"+5"', 5],
      ['"0x10"', 16],
      ['""', 0],
      ['true', 1],
      ['5.0', 5],
      ['1e3', 1000],
      ['1.5', noInt('1.5')],
      ['"1.5"', noInt('1.5')],
      ['" 12"', noInt(' 12')],
      ['"zz"', noInt('zz')],
      ['99999999999999999999', noInt('99999999999999999999', 'value out of range')],
      ['[]', `refused: '' expected type 'int', ${list}'[]'`],
      ['{"a":"b"}', `refused: '' expected type 'int', ${map}'map[a:b]'`],
    ],
  ],
  [
    'true or false',
    bool,
    [
      ['true', true],
      ['"true"', true],
      ['"t"', true],
      ['1', true],
      ['"0"', false],
      ['0', false],
      ['""', false],
      ['"yes"', noBool('yes')],
      ['"tRUE"', noBool('tRUE')],
      ['2', noBool('2')],
      ['[true]', `refused: '' expected type 'bool', ${list}'[true]'`],
    ],
  ],
  [
    'a lifetime',
    duration,
    [
      ['90', 90],
      ['"90"', 90],
      ['3600.0', 3600],
      ['"1h30m"', 5400],
      ['"1.5h"', 5400],
      ['"1d"', 86_400],
      ['"1500ms"', 1],
      ['""', 0],
      ['-5', "refused: cannot provide negative value '-5'"],
      ['"-1h"', "refused: cannot provide negative value '-3600'"],
      ['"zz"', 'refused: time: invalid duration "zz"'],
      ['"9999999999h"', 'refused: time: invalid duration "9999999999h"'],
      ['1.5', 'refused: time: missing unit in duration "1.5"'],
      ['"2w"', 'refused: time: unknown unit "w" in duration "2w"'],
      ['"1h "', 'refused: time: unknown unit "h " in duration "1h "'],
      ['true', 'refused: could not parse duration from input'],
      ['[1]', 'refused: could not parse duration from input'],
    ],
  ],
  ['a lifetime that may be negative', signedDuration, [['"-1h"', -3600]]],
  [
    'a list split at commas',
    commaList,
    [
      ['" a, b,,c "', ['a', 'b', 'c']],
      ['[" a ","","b,c"]', ['a', 'b,c']],
      ['[1,true]', ['1', '1']],
      ['7', ['7']],
      ['{}', []],
      ['["a",{"b":1}]', elements(`'[1]' expected type 'string', ${map}'map[b:1]'`)],
      ['{"a":"b"}', elements(`'[0]' expected type 'string', ${map}'map[a:b]'`)],
    ],
  ],
  [
    'a list that is never split',
    stringList,
    [
      ['"a,b"', ['a,b']],
      ['["a"," b "]', ['a', 'b']],
      ['""', []],
      [
        '[["a"],{}]',
        elements(`'[0]' expected type 'string', ${list}'[a]'`, `'[1]' expected type 'string', ${map}'map[]'`),
      ],
    ],
  ],
  [
    'pairs',
    keyValues,
    [
      ['{"a":"b","n":1,"none":null}', { a: 'b', n: '1', none: '' }],
      ['["a=b","c=d=e"]', { a: 'b', c: 'd=e' }],
      ['["a = b"]', { 'a ': ' b' }],
      ['[{"a":"b"},{"c":"d"}]', { a: 'b', c: 'd' }],
      ['"a=b,c=d"', { a: 'b,c=d' }],
      ['""', {}],
      ['["novalue"]', 'refused: invalid key pair "novalue"'],
      ['["=v"]', 'refused: invalid key pair "=v"'],
      ['{"a":["b"]}', elements(`'[0]' expected type 'string', ${map}'map[a:[b]]'`)],
    ],
  ],
  [
    'an object',
    object,
    [
      ['{"a":{"b":[1]}}', { a: { b: [1] } }],
      ['[{"a":1},{"b":2}]', { a: 1, b: 2 }],
      ['"zz"', "refused: '' expected a map, got 'string'"],
      ['true', "refused: '' expected a map, got 'bool'"],
      ['["a"]', "refused: '[0]' expected a map, got 'string'"],
    ],
  ],
  [
    'a list of objects',
    objectList,
    [
      ['[{"a":1}]', [{ a: 1 }]],
      ['{"a":1}', [{ a: 1 }]],
      ['{}', []],
      ['["a",{},2]', elements("'[0]' expected a map, got 'string'", "'[2]' expected a map, got 'string'")],
    ],
  ],
  [
    'a word from a list',
    () => oneOf(['x', 'y']),
    [
      ['"y"', 'y'],
      ['"z"', 'refused: must be one of x, y'],
    ],
  ],
];

describe('wire fields', () => {
  describe.each(table)('%s', (_name, field, cases) => {
    it.each(cases)('from %s', (json, read) => {
      expect(parse(field(), parseExact(json))).toEqual(read);
    });
  });

  it('keeps a key named __proto__ as a key', () => {
    const pairs = parse(keyValues(), JSON.parse('{"__proto__":"x"}')) as object;
    expect(Object.getOwnPropertyNames(pairs)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(pairs)).toBe(Object.prototype);
  });

  it('marks values that must not appear in a refusal', () => {
    const issue = z.object({ f: secretString() }).safeParse({ f: { a: 'hush' } }).error!.issues[0] as unknown as {
      message: string;
      params: object;
    };
    expect(issue.params).toMatchObject({ hidden: true });
    expect(issue.message).toBe("'' expected type 'string', got unconvertible type 'map[string]interface {}'");
  });
});

describe('a field of several elements', () => {
  const many = Array.from({ length: 10_001 }, (_, n) => `k${n}=v`);
  it.each<[string, () => z.ZodType, unknown]>([
    ['list', commaList, many],
    ['text with commas', commaList, many.join(',')],
    ['list of strings', stringList, many],
    ['list of pairs', keyValues, many],
    ['map', keyValues, Object.fromEntries(many.map((pair) => pair.split('=')))],
    ['list of maps', keyValues, [Object.fromEntries(many.slice(1).map((pair) => pair.split('='))), { more: 'v' }]],
    ['list of objects', objectList, many.map(() => ({}))],
  ])('takes ten thousand: %s', (_kind, field, value) => {
    expect(parse(field(), value)).toBe('refused: more than 10000 elements');
  });

  it('accepts ten thousand elements and no more', () => {
    expect(parse(commaList(), many.slice(1).join(','))).toHaveLength(10_000);
    expect(parse(stringList(), many.slice(1))).toHaveLength(10_000);
  });
});

describe('a value in a refusal', () => {
  it('is printed only up to the shown length', () => {
    expect(shown([1, 'a', [true, null], { b: { c: 2 }, a: [] }])).toBe('[1 a [true <nil>] map[a:[] b:map[c:2]]]');
    expect(shown('x'.repeat(200))).toBe('x'.repeat(200));
    expect(shown('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`);
    expect(shown(['x'.repeat(150), 'y'.repeat(150)])).toBe(`[${'x'.repeat(150)} ${'y'.repeat(48)}…`);
  });

  it('is read only up to that length', () => {
    let looks = 0;
    const item = {
      get a() {
        looks++;
        return 'x';
      },
    };
    expect(shown(Array.from({ length: 5000 }, () => item))).toMatch(/^(\[map\[a:x\] (map\[a:x\] )*).*…$/);
    expect(looks).toBeLessThan(30);
  });
});
