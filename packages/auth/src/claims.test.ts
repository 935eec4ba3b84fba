import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import {
  checkTimes,
  claimAt,
  isAllowedRedirect,
  isPlainAddress,
  isScalar,
  readBasic,
  textsOf,
  usualLeeways,
} from './index';

describe('the times of a token', () => {
  const nowMs = 1_000_000_000;
  const now = nowMs / 1000;
  const leeways = { skew: 10, expiration: 100, notBefore: 200 };
  const problem = (claims: object) => {
    try {
      checkTimes(claims as never, leeways, nowMs);
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(Refusal);
      expect(error).toMatchObject({ kind: 'invalid' });
      return (error as Error).message;
    }
  };
  const expired = 'invalid expiration time (exp) claim: token is expired';
  const early = 'invalid not before (nbf) claim: token not yet valid';
  const future = 'invalid issued at (iat) claim: token issued in the future';

  it.each<[string, object, string | undefined]>([
    ['an expiry in the future', { exp: now + 1 }, undefined],
    ['an expiry within the tolerance', { exp: now - 9 }, undefined],
    ['an expiry beyond the tolerance', { exp: now - 10 }, expired],
    ['an expiry so far ahead that the assumed start is in the future', { exp: now + 211 }, early],
    ['the latest expiry that is allowed', { exp: now + 210 }, undefined],
    ['an issue time within its leeway', { iat: now - 109 }, undefined],
    ['an issue time beyond its leeway', { iat: now - 110 }, expired],
    ['a start beyond its leeway', { nbf: now - 110 }, expired],
    ['an early issue time and a late start', { iat: now - 1000, nbf: now - 20 }, undefined],
    ['an early start and a late issue time', { iat: now - 20, nbf: now - 1000 }, undefined],
    ['a start within the tolerance', { nbf: now + 10, exp: now + 900 }, undefined],
    ['a start beyond the tolerance', { nbf: now + 11, exp: now + 900 }, early],
    [
      'an issue time in the future without a start',
      { iat: now + 11, exp: now + 900 },
      'invalid issued at (iat) claim: token issued in the future',
    ],
    ['an issue time after its start', { iat: now + 11, nbf: now, exp: now + 900 }, future],
    ['an issue time within the tolerance', { iat: now + 10, nbf: now, exp: now + 900 }, undefined],
    ['no time', {}, 'no issued at (iat), not before (nbf), or expiration time (exp) claims in token'],
    [
      'times that are 0 or null',
      { iat: 0, nbf: null, exp: undefined },
      'no issued at (iat), not before (nbf), or expiration time (exp) claims in token',
    ],
    ['an expiry that is a string', { exp: String(now + 1) }, 'invalid exp claim: it is not a time'],
    ['a negative start', { nbf: -1, exp: now + 1 }, 'invalid nbf claim: it is not a time'],
    ['an infinite issue time', { iat: Number.POSITIVE_INFINITY, exp: now }, 'invalid iat claim: it is not a time'],
  ])('with %s', (_what, claims, expected) => expect(problem(claims)).toBe(expected));

  it('have leeways that suit issuers with accurate clocks', () => {
    expect(usualLeeways).toEqual({ skew: 60, expiration: 150, notBefore: 150 });
  });
});

describe('a claim', () => {
  const claims = {
    plain: 1,
    'a/b': 2,
    deep: { list: ['x', { y: 'z' }], 'c~d': 3, none: null },
    '/odd': 4,
    text: 'word',
  };

  it.each<[string, unknown]>([
    ['plain', 1],
    ['a/b', 2],
    ['/a~1b', 2],
    ['/deep/c~0d', 3],
    ['/deep/list/0', 'x'],
    ['/deep/list/1/y', 'z'],
    ['/deep/none', undefined],
    ['/deep/none/more', undefined],
    ['/deep/list/9', undefined],
    ['/text/length', undefined],
    ['/plain/0', undefined],
    ['toString', undefined],
    ['/deep/constructor', undefined],
    ['deep/list', undefined],
  ])('is found by %j', (name, expected) => expect(claimAt(claims, name)).toBe(expected));

  it.each<[unknown, string[] | undefined]>([
    ['a', ['a']],
    [7, ['7']],
    [false, ['false']],
    [
      ['a', 7, true],
      ['a', '7', 'true'],
    ],
    [[], []],
    [['a', {}], undefined],
    [['a', ['b']], undefined],
    [{}, undefined],
    [null, undefined],
    [undefined, undefined],
  ])('%j is parsed to the strings %j', (value, expected) => expect(textsOf(value)).toEqual(expected));

  it.each([Number.NaN, Number.POSITIVE_INFINITY, null, undefined, {}, []])('%p is not a scalar', (value) =>
    expect(isScalar(value)).toBe(false),
  );
});

describe('a redirect address', () => {
  const allowed = ['https://app.test/cb', 'http://localhost/cb', 'http://127.0.0.1:8250/cb', 'http://[::1]/cb', 'x y'];

  it.each<[string, boolean]>([
    ['https://app.test/cb', true],
    ['https://app.test:8443/cb', false],
    ['https://app.test/cb/', false],
    ['https://app.test/cb?a=1', false],
    ['http://app.test/cb', false],
    ['http://localhost:4000/cb', true],
    ['http://localhost:4000/other', false],
    ['https://localhost:4000/cb', false],
    ['http://127.0.0.1:9/cb', true],
    ['http://127.0.0.2:9/cb', false],
    ['http://[::1]:9/cb', true],
    ['http://localhost:4000/cb#x', false],
    ['http://me@localhost/cb', false],
    ['http://localhost\\@evil.test/cb', false],
    ['x y', false],
  ])('%j is allowed: %p', (address, expected) => expect(isAllowedRedirect(address, allowed)).toBe(expected));

  it('may use any port only on the user’s own machine', () => {
    expect(isAllowedRedirect('http://app.test:81/cb', ['http://app.test/cb'])).toBe(false);
  });

  it.each<[string, boolean]>([
    ['https://app.test/', true],
    ['custom:/cb', true],
    ['cb', false],
    ['https://app.test/#', false],
    ['https://app.test/a b', false],
    ['https://app.test/a\\b', false],
    ['https://app.test/\u0001', false],
    ['https://user@app.test/', false],
    ['https://:password@app.test/', false],
  ])('%j is accepted by all parsers alike: %p', (text, expected) => expect(isPlainAddress(text)).toBe(expected));
});

describe('name and password of a client', () => {
  const header = (text: string, scheme = 'Basic') => `${scheme} ${Buffer.from(text).toString('base64')}`;

  it.each<[string | undefined, object | undefined]>([
    [header('me:secret'), { name: 'me', password: 'secret' }],
    [header('me:secret', 'bAsIc'), { name: 'me', password: 'secret' }],
    [header('a%3Ab+c:p%25w:d'), { name: 'a:b c', password: 'p%w:d' }],
    [header(':'), { name: '', password: '' }],
    [`Basic  ${Buffer.from('me:x').toString('base64')} `, { name: 'me', password: 'x' }],
    [header('me'), undefined],
    [header('me:%zz'), undefined],
    [header('me:secret', 'Bearer'), undefined],
    [header('me:secret', 'xBasic'), undefined],
    ['Basic', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('are read from %j', (header, expected) => expect(readBasic(header)).toEqual(expected));
});
