import { randomBytes } from 'node:crypto';
import { algorithms, base32 } from '@keystead/auth';
import type { z } from 'zod';
import { announced, bool, duration, int, notRedirectable, secretString, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import type { TotpKey } from './key';
import { readUrl } from './url';

/** Narrower than this a picture cannot be read; wider ones say nothing more. */
const edges = { least: 64, most: 1024 };
const mostKeyBytes = 1024;

/** What is said of a key when it is made. */
export const keyFields = recordFields({
  generate: [bool().describe('Make the key here, for an authenticator elsewhere; else it is given.'), false],
  exported: [bool().describe('Show the URL and the QR code of a key that is made here, once.'), true],
  key_size: [announced(int(), { minimum: 1, maximum: mostKeyBytes }).describe('Bytes of a key that is made here.'), 20],
  key: [notRedirectable(secretString()).describe('The given key, in base32.'), ''],
  url: [secretString().describe('Or all of it as the otpauth URL that authenticators read.'), ''],
  issuer: [string().describe('Who issued the key; needed for one that is made here.'), ''],
  account_name: [string().describe('Whose key it is; needed for one that is made here.'), ''],
  period: [duration().describe('How long a code is valid.'), 30],
  algorithm: [announced(string(), { enum: algorithms }).describe('The hash that codes are made with.'), 'SHA1'],
  digits: [announced(int(), { enum: [6, 8] }).describe('Digits of a code.'), 6],
  skew: [announced(int(), { enum: [0, 1] }).describe('Periods before and after now whose codes are valid, too.'), 1],
  qr_size: [
    announced(int(), { minimum: 0, maximum: edges.most }).describe('Edge of the QR code in pixels; 0: none.'),
    200,
  ],
});

type AskedKey = z.output<typeof keyFields.input>;

const isAlgorithm = (text: string): text is TotpKey['algorithm'] => (algorithms as readonly string[]).includes(text);

/** The key that is asked for. Throws `invalid` for what is missing or makes no sense. */
export function askedKey(sent: AskedKey): TotpKey {
  if (sent.generate && sent.key !== '') refuse('a key should not be passed if generate is true');
  if (sent.generate && sent.url !== '') refuse('a url should not be passed if generate is true');
  const asked = sent.url === '' ? sent : { ...sent, ...readUrl(sent.url) };
  const { digits, algorithm, period, skew, issuer, account_name } = asked;
  if (digits !== 6 && digits !== 8) refuse('the digits value can only be 6 or 8');
  if (!isAlgorithm(algorithm)) refuse('the algorithm value is not valid');
  if (period <= 0) refuse('the period value must be greater than zero');
  if (skew !== 0 && skew !== 1) refuse('the skew value must be 0 or 1');
  if (asked.qr_size < 0) refuse('the qr_size value must be greater than or equal to zero');
  if (asked.key_size <= 0) refuse('the key_size value must be greater than zero');
  for (const name of ['account_name', 'issuer'] as const) {
    if (asked.generate && asked[name] === '') refuse(`the ${name} value is required for generated keys`);
    if (/\p{Cc}/u.test(asked[name])) {
      refuse(`the ${name} value cannot contain control characters`);
    }
  }
  if (asked.qr_size > 0 && (asked.qr_size < edges.least || asked.qr_size > edges.most)) {
    refuse(`the qr_size value must be 0 or between ${edges.least} and ${edges.most}`);
  }
  if (asked.key_size > mostKeyBytes) refuse(`the key_size value must not be greater than ${mostKeyBytes}`);
  const key = asked.generate ? base32(randomBytes(asked.key_size)) : givenKey(asked.key);
  return { key, issuer, account_name, period, algorithm, digits, skew };
}

/** Base32 as it is kept. The numbers of characters left over are those that whole bytes end with. */
function givenKey(text: string): string {
  if (text === '') refuse('the key value is required');
  const key = text.toUpperCase().replace(/(?<!=)=+$/, '');
  const bad = /[^A-Z2-7]/.exec(key);
  const isPadded = text.length <= Math.ceil(key.length / 8) * 8;
  if (bad || key === '' || !isPadded || ![0, 2, 4, 5, 7].includes(key.length % 8)) {
    refuse(`invalid key value: illegal base32 data at input byte ${bad?.index ?? key.length}`);
  }
  return key;
}
