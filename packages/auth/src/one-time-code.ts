import { createHmac, timingSafeEqual } from 'node:crypto';
import speakeasy from 'speakeasy';

/** The hash functions that codes can use. */
export const algorithms = ['SHA1', 'SHA256', 'SHA512'] as const;
/** One of the hash functions. */
export type Algorithm = (typeof algorithms)[number];

/** How codes are made from a key. */
export interface CodeScheme {
  readonly key: Buffer;
  readonly algorithm: Algorithm;
  readonly digits: 6 | 8;
  readonly periodSeconds: number;
}

/** The number of the period that contains a moment. */
export function counterAt(nowMs: number, periodSeconds: number): number {
  return Math.floor(nowMs / 1_000 / periodSeconds);
}

/** The library shifts a counter as 32 bits, which periods of one second outgrow in 2038. */
const COUNTED_BY_LIBRARY = 2 ** 31;

/** The code of a period (RFC 6238, on RFC 4226). */
export function codeFor({ key, algorithm, digits }: CodeScheme, counter: number): string {
  const options = { secret: key as never, counter, digits, algorithm: algorithm.toLowerCase() as 'sha1' };
  if (counter < COUNTED_BY_LIBRARY) return speakeasy.hotp(options);
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const digest = createHmac(algorithm.toLowerCase(), key).update(message).digest();
  return speakeasy.hotp({ ...options, digest } as speakeasy.HotpOptions);
}

/** The newest period within the window whose code this is; undefined if there is none. */
export function matchCounter(scheme: CodeScheme, code: string, nowMs: number, skew: number): number | undefined {
  const now = counterAt(nowMs, scheme.periodSeconds);
  const actual = Buffer.from(code);
  let found: number | undefined;
  for (let counter = Math.max(0, now - skew); counter <= now + skew; counter += 1) {
    const expected = Buffer.from(codeFor(scheme, counter));
    // All periods are tried, so that the time taken reveals nothing.
    if (expected.length === actual.length && timingSafeEqual(expected, actual)) found = counter;
  }
  return found;
}

/** Whether a text has exactly the form of a code: this many ASCII digits and nothing else. */
export function isCode(text: string, digits: number): boolean {
  return text.length === digits && /^[0-9]+$/.test(text);
}

/** The base32 of speakeasy, which comes without types. */
const { encode, decode }: { encode(bytes: Buffer): string; decode(text: string): number[] } = require('base32.js');

/** Base32 (RFC 4648) without padding, as authenticator apps want keys. */
export const base32 = (bytes: Uint8Array): string => encode(Buffer.from(bytes));

/** The bytes of a base32 text; padding and characters outside the alphabet are skipped. */
export const fromBase32 = (text: string): Buffer => Buffer.from(decode(text.toUpperCase().replace(/[^A-Z2-7]/g, '')));
