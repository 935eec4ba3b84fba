import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  type Algorithm,
  base32,
  type CodeScheme,
  codeFor,
  counterAt,
  fromBase32,
  isCode,
  matchCounter,
} from './one-time-code';

// RFC 6238, appendix B: keys of 20, 32 and 64 bytes, eight digits, thirty seconds.
const seed = '1234567890';
const keys: Record<Algorithm, Buffer> = {
  SHA1: Buffer.from(seed.repeat(2)),
  SHA256: Buffer.from(seed.repeat(4).slice(0, 32)),
  SHA512: Buffer.from(seed.repeat(7).slice(0, 64)),
};
const scheme = (algorithm: Algorithm, digits: 6 | 8 = 8): CodeScheme => ({
  key: keys[algorithm],
  algorithm,
  digits,
  periodSeconds: 30,
});

describe('one-time codes', () => {
  it.each<[number, string, string, string]>([
    [59, '94287082', '46119246', '90693936'],
    [1111111109, '07081804', '68084774', '25091201'],
    [1111111111, '14050471', '67062674', '99943326'],
    [1234567890, '89005924', '91819424', '93441116'],
    [2000000000, '69279037', '90698825', '38618901'],
    [20000000000, '65353130', '77737706', '47863826'],
  ])('at second %i are those of RFC 6238', (second, sha1, sha256, sha512) => {
    const counter = counterAt(second * 1_000, 30);
    expect(codeFor(scheme('SHA1'), counter)).toBe(sha1);
    expect(codeFor(scheme('SHA256'), counter)).toBe(sha256);
    expect(codeFor(scheme('SHA512'), counter)).toBe(sha512);
    expect(codeFor(scheme('SHA1', 6), counter)).toBe(sha1.slice(2));
  });

  it('work beyond the time when seconds no longer fit 32 bits', () => {
    const key = Buffer.from(seed.repeat(2));
    const other = (counter: number) => {
      const message = Buffer.alloc(8);
      message.writeBigUInt64BE(BigInt(counter));
      const digest = createHmac('sha1', key).update(message).digest();
      const at = digest.at(-1)! & 15;
      return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
    };
    for (const counter of [0, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1, 2 ** 32, 2 ** 40]) {
      expect(codeFor({ key, algorithm: 'SHA1', digits: 6, periodSeconds: 1 }, counter)).toBe(other(counter));
    }
  });

  it('match within the window only', () => {
    const atMs = 1_111_111_111_000;
    const now = counterAt(atMs, 30);
    for (const [offset, skew, expected] of [
      [0, 0, now],
      [-1, 0, undefined],
      [-1, 1, now - 1],
      [1, 1, now + 1],
      [2, 1, undefined],
      [-2, 1, undefined],
    ] as const) {
      expect(matchCounter(scheme('SHA1'), codeFor(scheme('SHA1'), now + offset), atMs, skew)).toBe(expected);
    }
  });

  it('match no period before the first, and the newest of several with the same code', () => {
    const key = scheme('SHA1', 6);
    expect(matchCounter(key, codeFor(key, 0), 0, 3)).toBe(0);
    expect(matchCounter(key, codeFor(key, 0).slice(1), 0, 3)).toBeUndefined();
    expect(matchCounter(key, '', 0, 3)).toBeUndefined();
    const codes = new Map<string, number>();
    let [again, at] = [-1, 0];
    for (; again < 0; at++) {
      again = codes.get(codeFor(key, at)) ?? -1;
      codes.set(codeFor(key, at), at);
    }
    const newest = at - 1;
    expect(matchCounter(key, codeFor(key, again), newest * 30_000, newest - again)).toBe(newest);
  });

  it.each([
    ['123456', true],
    ['12345', false],
    ['1234567', false],
    [' 12345', false],
    ['12345\n', false],
    ['１２３４５６', false],
    ['+12345', false],
    ['12e456', false],
  ])('%j has the form of a code: %s', (text, expected) => expect(isCode(text, 6)).toBe(expected));

  it.each([
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ])('encode keys in base32 by RFC 4648: %j', (text, expected) => expect(base32(Buffer.from(text))).toBe(expected));

  it('encode keys in base32 and decode them, in any case and with any padding', () => {
    for (let length = 0; length < 70; length++) {
      const key = Buffer.from(Array.from({ length }, (_, i) => (i * 89 + length) % 256));
      const text = base32(key);
      expect(fromBase32(text)).toEqual(key);
      expect(fromBase32(`${text.toLowerCase()}${'='.repeat(6)}`)).toEqual(key);
    }
    expect(base32(Buffer.from('foobar'))).toBe('MZXW6YTBOI');
  });
});
