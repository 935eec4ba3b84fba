import fc from 'fast-check';
import { bodyOf, bool, number, often, one } from './generated-bodies';
import { type ComparedRequest, describeComparison } from './request-comparison';
import type { Difference, Told } from './transit-differences';

// Every path of totp against a reference server, if KEYSTEAD_REFERENCE_SERVER names its program. Decision 0020 lists
// the intended differences.

const name = often(one('a', 'b', 'c'), one('absent', '-x', 'x@y.z', 'a/b', 'ü')) as fc.Arbitrary<string>;
const period = often(
  one<unknown>(3600, '1h', 7200, 86_400),
  one<unknown>(0, -5, '', 'x', null, '0', 1.5, '90m', true, []),
);
const secret = one('JBSWY3DPEHPK3PXP', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 'jbswy3dpehpk3pxp', 'MFRGG===', 'MFRGG');
const key = often(secret, one<unknown>(null, '', '1', 'A', 'ABC', '!!', 'JBSWY 3DP', 7, [], 'MF=GG===', 'MFRGG===='));
const text = often(one('Acme', 'jane@example.com', 'Acme Co'), one<unknown>(null, '', 7, true, [], 'a:b', 'a&b', 'ü'));
const algorithm = often(one('SHA1', 'SHA256', 'SHA512'), one<unknown>('sha1', 'MD5', '', null, 7));
const url = fc
  .record({
    label: one('Acme:jane', 'jane', 'Acme%20Co:jane', ':jane', 'Acme:'),
    query: fc.subarray([
      'secret=JBSWY3DPEHPK3PXP',
      'secret=JBSWY3DPEHPK3PXP',
      'issuer=Other',
      'period=3600',
      'digits=8',
      'algorithm=SHA256',
      'period=x',
      'digits=7',
      'algorithm=MD5',
    ]),
  })
  .map(({ label, query }) => `otpauth://totp/${label}?${query.join('&')}`);

const write = (path: fc.Arbitrary<string>, body: fc.Arbitrary<Record<string, unknown>>) =>
  fc.record({ method: one('POST' as const), path, body });
const ask = (method: 'GET' | 'DELETE', path: fc.Arbitrary<string>) => fc.record({ method: one(method), path });
const below = (folder: string) => name.map((text) => `${folder}/${encodeURIComponent(text)}`);

const shared = {
  algorithm: [40, algorithm],
  digits: [30, number(6, 8)],
  period: [60, period],
  skew: [20, number(0, 1)],
} as const;
const request: fc.Arbitrary<ComparedRequest> = fc.oneof(
  {
    weight: 5,
    arbitrary: write(
      below('keys'),
      bodyOf({
        ...shared,
        generate: [95, often(one(true), one<unknown>('x', null, 'true', 1))],
        issuer: [95, text],
        account_name: [95, text],
        exported: [20, bool],
        key_size: [20, number(20, 32, 1)],
        qr_size: [40, number(0, 200)],
        key: [4, key],
        url: [4, url],
      }),
    ),
  },
  {
    weight: 4,
    arbitrary: write(
      below('keys'),
      bodyOf({ ...shared, key: [95, key], issuer: [40, text], account_name: [40, text], unknown: [3, one(1)] }),
    ),
  },
  { weight: 3, arbitrary: write(below('keys'), bodyOf({ url: [98, url], period: [30, period], key: [5, key] })) },
  { weight: 5, arbitrary: ask('GET', below('keys')) },
  { weight: 6, arbitrary: ask('GET', below('code')) },
  {
    weight: 12,
    arbitrary: write(
      below('code'),
      bodyOf({
        code: [
          96,
          often(
            fc.nat(5).map((n) => `«code:${n}»`),
            one<unknown>('', null, '000000', ' 12345', '1234567', 'abcdef', 7),
          ),
        ],
      }),
    ),
  },
  { weight: 1, arbitrary: ask('DELETE', below('keys')) },
  {
    weight: 2,
    arbitrary: ask('GET', one('keys?list=true', 'keys?list=true&limit=1', 'keys?list=true&after=a', 'code')),
  },
);

/** An answer without keys, codes and times. */
function plain(told: Told): Told {
  if (typeof told.data !== 'object' || told.data === null) return told;
  const shown = Object.entries(told.data as Record<string, unknown>).map(([field, value]) => {
    if (field === 'url') {
      return [field, decodeURIComponent(String(value).replace(/secret=[A-Z2-7]+/, (one) => `secret=«${one.length}»`))];
    }
    if (field === 'code') return [field, String(value).replace(/\d/g, '0')];
    if (field === 'expire_time' || field === 'generated') return [field, typeof value];
    return [field, field === 'barcode' ? String(value).slice(0, 12) : value];
  });
  return { ...told, data: Object.fromEntries(shown.sort()) };
}

const both = (ours: Told, theirs: Told, one: RegExp, other = one) =>
  ours.status === theirs.status && one.test(ours.errors?.[0] ?? '') && other.test(theirs.errors?.[0] ?? '');
const differences: readonly Difference[] = [
  { why: 'a field that is null is absent', fits: (_o, _t, { body }) => JSON.stringify(body ?? {}).includes(':null') },
  {
    why: 'unknown parameters are named also where nothing else is answered',
    fits: (ours, theirs) => ours.status === 200 && theirs.status === 204 && /unrecognized/.test(ours.warnings[0] ?? ''),
  },
  {
    why: 'only a right code is used up, and a deleted key has none that are',
    fits: (ours, theirs, { path }) =>
      path.startsWith('code/') && ours.status === 200 && /already used/.test(theirs.errors?.[0] ?? ''),
  },
  {
    why: 'a QR code has a size that can be read',
    fits: (ours, theirs) => /^the qr_size value must be 0 or/.test(ours.errors?.[0] ?? '') && theirs.status < 500,
  },
  {
    why: 'of several fields that cannot be converted another one is named',
    fits: (ours, theirs) => both(ours, theirs, /^error converting input for field/),
  },
  {
    why: 'which character of base32 is wrong',
    fits: (ours, theirs) => both(ours, theirs, /^invalid key value: illegal base32 data at input byte \d+$/),
  },
];

describeComparison({
  type: 'totp',
  requests: 400,
  longRequests: 10_000,
  perRun: 40,
  runOf: (seed, index, numRuns) => fc.sample(request, { numRuns, seed: seed + index }),
  kept: ['code'],
  plain,
  differences,
  often: {
    oneIn: 100,
    of: ['POST keys 2xx', 'GET code 2xx', 'POST code 2xx', 'POST code 4xx', 'GET keys 2xx'],
  },
});
