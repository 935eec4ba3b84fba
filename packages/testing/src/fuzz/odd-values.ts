import type { Random } from './random';

/** JSON that no JavaScript value represents: `1e999`, a duplicate key, ten thousand brackets. */
export class Verbatim {
  constructor(readonly text: string) {}
}

/** The JSON of a value that may hold `Verbatim`. */
export function jsonOf(value: unknown): string {
  if (value instanceof Verbatim) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
    return `{${pairs.map(([key, item]) => `${JSON.stringify(key)}:${jsonOf(item)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** A few short names, so that different requests find and change the same objects. */
export const names: readonly string[] = [
  ...['a', 'b', 'c', 'fuzz-1', 'fuzz-2', 'fuzz-3', 'fuzz_4', 'Upper', 'with.dots', 'default', 'root', '0', 'null'],
  ...['l'.repeat(64), 'new', 'list', 'self'],
];

/** Strings that break parsers, tables, paths and terminals. */
export const oddTexts: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '*',
  '+',
  '%',
  '%2e%2e',
  '%00',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff x',
  '\ufeff',
  '\u202e',
  '\u00e9',
  'e\u0301',
  'ß',
  '\u0130',
  '\u212a',
  '💥',
  '田中',
  "'; --",
  '"',
  '\\',
  '\r\nX-Injected: 1',
  '\n',
  '\t',
  `$${'{7*7}'}`,
  '{{identity.entity.id}}',
  '{{',
  '<b>',
  '__proto__',
  'constructor',
  'toString',
  'true',
  'NaN',
  '-1',
  '0',
  '1e9',
  '999999999999999999999',
  '0x10',
  '1h',
  '-1h',
  '1000000h',
  '9223372036854775807',
  '2038-01-19T03:14:08Z',
  '0000-00-00',
  '10000-01-01T00:00:00Z',
  'a/b',
  '/a',
  'a//b',
  'a/',
  'a/../b',
  'a;b',
  'a?b=c',
  'a#b',
  'a,b,,c',
  '127.0.0.1/33',
  '::1',
  '-----BEGIN PUBLIC KEY-----',
  'eyJhbGciOiJub25lIn0.e30.',
  '(a+)+$',
  '[',
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(5000),
  '\u0301'.repeat(300),
];

const oddNumbers: readonly unknown[] = [
  ...[0, -0, 1, -1, 2, 255, 256, 65_536, 2_147_483_647, 2_147_483_648, -2_147_483_649, 4_294_967_296],
  ...[9_007_199_254_740_991, 1.5, -0.1, 1e-9, 1e21, 1.7e308],
  ...[
    '9007199254740993',
    '1e999',
    '-1e999',
    '1e-999',
    '-0',
    '123456789012345678901234567890',
    '0.1000000000000000055511151231257827',
  ]
    .concat(`1${'0'.repeat(400)}`)
    .map((text) => new Verbatim(text)),
];

const nested = (depth: number, open: string, close: string, inside = '') =>
  new Verbatim(open.repeat(depth) + inside + close.repeat(depth));

const oddThings: readonly unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [''],
  [{}],
  [1, 'a', null],
  { '': '' },
  { a: { b: { c: {} } } },
  new Verbatim('{"a":1,"a":2}'),
  new Verbatim('{"__proto__":{"a":1},"constructor":{"prototype":{}}}'),
  nested(40, '[', ']'),
  nested(200, '{"a":', '}', '1'),
  Array.from({ length: 300 }, (_none, i) => i),
];

/** Any odd JSON value. */
export function oddValue(random: Random): unknown {
  const kind = random.below(10);
  if (kind < 5) return random.pick(oddTexts);
  if (kind < 7) return random.pick(oddNumbers);
  return random.pick(oddThings);
}

/** A whole body: a strange document, or something that is not a document. */
export function oddBody(random: Random): string | Buffer {
  const make = random.pick(bodies);
  return typeof make === 'function' ? make(random) : make;
}

const bodies: readonly (string | ((random: Random) => string | Buffer))[] = [
  ...['', 'null', '[]', '""', '0', 'true', '{', '}', '{"a"', '{"a":}', '{"a":1,}', "{'a':1}", 'NaN', '{"a":1}{"b":2}'],
  ...['a=1&b=2', 'a=%zz', '\ufeff{}', '// x\n{}', '{"data":null}', '{"data":[]}', '{"data":{}}', '{"data":{"type":1}}'],
  ...[
    '{"data":{"type":"x","attributes":[]}}',
    '{"data":{"attributes":{"name":{}}}}',
    '{"a":"\\u12"}',
    '{"a":"\\ud800"}',
  ],
  '{"a":"\u0001"}',
  `${'['.repeat(3000)}${']'.repeat(3000)}`,
  '['.repeat(20_000),
  '{"a":'.repeat(5000),
  `{"a":${'9'.repeat(5000)}}`,
  `{${Array.from({ length: 400 }, (_none, i) => `"k${i}":${i}`).join(',')}}`,
  (random) => `{"a":"${'y'.repeat(1 << (10 + random.below(8)))}"}`,
  (random) => Buffer.from(Array.from({ length: 1 + random.below(200) }, () => random.below(256))),
  () => Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0xc0, 0x80, 0x22, 0x7d]),
  () => Buffer.from('{"a":1}', 'utf16le'),
  () => Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3, 0]),
];
