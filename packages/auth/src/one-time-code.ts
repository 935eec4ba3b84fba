import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
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

/** The code of a period (RFC 6238, on RFC 4226). */
export function codeFor({ key, algorithm, digits }: CodeScheme, counter: number): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  // The digest is computed here because the library limits counters to 32 bits. The key is a KeyObject because Node
  // takes 12 µs longer with bytes.
  const digest = createHmac(algorithm.toLowerCase(), createSecretKey(key)).update(message).digest();
  return speakeasy.hotp({ secret: '', counter, digits, digest } as speakeasy.HotpOptions);
}

/** The newest period within the window to which this code belongs; undefined if the code is wrong. */
export function matchCounter(scheme: CodeScheme, code: string, nowMs: number, skew: number): number | undefined {
  const now = counterAt(nowMs, scheme.periodSeconds);
  const actual = Buffer.from(code);
  let found: number | undefined;
  for (let counter = Math.max(0, now - skew); counter <= now + skew; counter += 1) {
    const expected = Buffer.from(codeFor(scheme, counter));
    // All periods are tried, so that the response time reveals nothing.
    if (expected.length === actual.length && timingSafeEqual(expected, actual)) found = counter;
  }
  return found;
}

/** Whether a string has exactly the form of a code: this many ASCII digits and nothing else. */
export function isCode(text: string, digits: number): boolean {
  return text.length === digits && /^[0-9]+$/.test(text);
}

/** The base32 library of speakeasy, which has no types. */
const { encode, decode }: { encode(bytes: Buffer): string; decode(text: string): number[] } = require('base32.js');

/** Base32 (RFC 4648) without padding, the format of keys for authenticator apps. */
export const base32 = (bytes: Uint8Array): string => encode(Buffer.from(bytes));

/** The bytes of a base32 string; padding and characters outside the alphabet are skipped. */
export const fromBase32 = (text: string): Buffer => Buffer.from(decode(text.toUpperCase().replace(/[^A-Z2-7]/g, '')));
