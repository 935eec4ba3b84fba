import fc from 'fast-check';

/** One of these values. */
export const one = <T>(...values: T[]) => fc.constantFrom(...values);
/** The usual values, and now and then an odd one. */
export const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd });

/** Values for fields that hold text. */
export const oddText = one<unknown>(
  null,
  7,
  true,
  [],
  {},
  ['YQ=='],
  { a: 1 },
  '',
  '!',
  'YQ',
  'Y Q==',
  'YQ==YQ==',
  'ü',
  1.5,
  -1,
);
const oddNumber = one<unknown>(null, 'x', '', '1', '2', -1, 1.5, 99, true, [], {}, '0x1', ' 1');
const oddBool = one<unknown>(null, 'x', '', 'true', 'false', 't', 1, 0, '1', [], {});

/** These numbers. */
export const number = (...usual: number[]) => often(one(...usual), oddNumber);
/** True or false. */
export const bool = often(fc.boolean(), oddBool);
/** Lifetimes. */
export const duration = often(
  one<unknown>(0, '1h', 3600, '24h', '90m', '1d'),
  one<unknown>('59m', 30, -5, 'x', '', null, '0', true),
);

/** Each field, and in what percentage of the requests it is sent. */
export function bodyOf(fields: Readonly<Record<string, readonly [percent: number, value: fc.Arbitrary<unknown>]>>) {
  const all = Object.entries(fields).map(([name, [percent, value]]) =>
    fc.tuple(fc.nat(99), value).map(([drawn, sent]) => (drawn < percent ? [[name, sent]] : [])),
  );
  return fc.tuple(...all).map((each) => Object.fromEntries(each.flat()) as Record<string, unknown>);
}
