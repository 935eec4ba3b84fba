import { randomBytes } from 'node:crypto';
import { algorithms, base32 } from '@keystead/auth';
import type { z } from 'zod';
import { announced, bool, duration, int, notRedirectable, secretString, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import type { TotpKey } from './key';
import { readUrl } from './url';

/**
 * Bounds of the width of a QR code in pixels: a smaller QR code cannot be scanned, and a larger one has no advantage.
 */
const edges = { least: 64, most: 1024 };
const mostKeyBytes = 1024;

/** The fields of a new key. */
export const keyFields = recordFields({
  generate: [
    bool().describe(
      'Generate the key in the service, for an authenticator app. Otherwise the request must contain the key.',
    ),
    false,
  ],
  exported: [bool().describe('Return the URL and the QR code of a generated key once.'), true],
  key_size: [
    announced(int(), { minimum: 1, maximum: mostKeyBytes }).describe('Length of a generated key in bytes.'),
    20,
  ],
  key: [notRedirectable(secretString()).describe('The key, in base32.'), ''],
  url: [secretString().describe('The key and its settings as an otpauth URL. It replaces the other fields.'), ''],
  issuer: [string().describe('Name of the issuer; required for a generated key.'), ''],
  account_name: [string().describe('Account name; required for a generated key.'), ''],
  period: [duration().describe('How long a code is valid.'), 30],
  algorithm: [announced(string(), { enum: algorithms }).describe('The hash algorithm of codes.'), 'SHA1'],
  digits: [announced(int(), { enum: [6, 8] }).describe('Number of digits of a code.'), 6],
  skew: [
    announced(int(), { enum: [0, 1] }).describe(
      'Number of periods before and after the current one whose codes are also accepted.',
    ),
    1,
  ],
  qr_size: [
    announced(int(), { minimum: 0, maximum: edges.most }).describe('Width of the QR code in pixels. 0: no QR code.'),
    200,
  ],
});

type KeyRequest = z.output<typeof keyFields.input>;

const isAlgorithm = (text: string): text is TotpKey['algorithm'] => (algorithms as readonly string[]).includes(text);

/** The key that a request describes. Throws `invalid` for missing or contradictory fields. */
export function requestedKey(sent: KeyRequest): TotpKey {
  if (sent.generate && sent.key !== '') refuse('a key should not be passed if generate is true');
  if (sent.generate && sent.url !== '') refuse('a url should not be passed if generate is true');
  const request = sent.url === '' ? sent : { ...sent, ...readUrl(sent.url) };
  const { digits, algorithm, period, skew, issuer, account_name } = request;
  if (digits !== 6 && digits !== 8) refuse('the digits value can only be 6 or 8');
  if (!isAlgorithm(algorithm)) refuse('the algorithm value is not valid');
  if (period <= 0) refuse('the period value must be greater than zero');
  if (skew !== 0 && skew !== 1) refuse('the skew value must be 0 or 1');
  if (request.qr_size < 0) refuse('the qr_size value must be greater than or equal to zero');
  if (request.key_size <= 0) refuse('the key_size value must be greater than zero');
  for (const name of ['account_name', 'issuer'] as const) {
    if (request.generate && request[name] === '') refuse(`the ${name} value is required for generated keys`);
    if (/\p{Cc}/u.test(request[name])) {
      refuse(`the ${name} value cannot contain control characters`);
    }
  }
  if (request.qr_size > 0 && (request.qr_size < edges.least || request.qr_size > edges.most)) {
    refuse(`the qr_size value must be 0 or between ${edges.least} and ${edges.most}`);
  }
  if (request.key_size > mostKeyBytes) refuse(`the key_size value must not be greater than ${mostKeyBytes}`);
  const key = request.generate ? base32(randomBytes(request.key_size)) : normalizedKey(request.key);
  return { key, issuer, account_name, period, algorithm, digits, skew };
}

/** Normalizes base32. Only some lengths modulo 8 are whole bytes. */
function normalizedKey(text: string): string {
  if (text === '') refuse('the key value is required');
  const key = text.toUpperCase().replace(/(?<!=)=+$/, '');
  const bad = /[^A-Z2-7]/.exec(key);
  const isPadded = text.length <= Math.ceil(key.length / 8) * 8;
  if (bad || key === '' || !isPadded || ![0, 2, 4, 5, 7].includes(key.length % 8)) {
    refuse(`invalid key value: illegal base32 data at input byte ${bad?.index ?? key.length}`);
  }
  return key;
}
