import type { TransitRequest } from './generated-transit';

/** The answer of a server, without its random parts. */
export interface Told {
  readonly status: number;
  readonly errors?: readonly string[];
  readonly warnings: readonly string[];
  readonly data: unknown;
}

/** An intended difference. */
export interface Difference {
  readonly why: string;
  readonly fits: (ours: Told, theirs: Told, request: TransitRequest) => boolean;
  /** Set if the stored states differ afterwards although the answers are equal. */
  readonly parts?: true;
}

const text = ({ errors }: Told): string => errors?.[0] ?? '';
const both = (ours: RegExp, theirs: RegExp) => (one: Told, other: Told) =>
  one.status === other.status && ours.test(text(one)) && theirs.test(text(other));
const at = ({ path }: TransitRequest, start: RegExp): boolean => start.test(path);

/** Reasons to refuse one request. Of several errors any may be named. */
const mistakes = [
  /^(encryption key|signing key|signature verification key|specified base key|key) not found$/,
  /^key type [\w-]* does not support (signing|verification)$/,
  /^message (en|de)cryption not supported for key type/,
  /^(invalid hash algorithm|invalid marshaling type|unsupported algorithm|unsupported encoding format)/,
  /^(salt length|hash_algorithm=none requires|unsupported rsa signature algorithm)/,
  /^(provide one of|elements of batch_input must|some elements of batch_input|no batch_input elements|neither a 'signature')/,
  /^(failed to parse batch input|missing batch input|missing input|input missing|missing plaintext|missing ciphertext)/,
  /^(illegal base64 data|unable to get associated_data|failed to base64-decode|unable to decode input as base64|(error deriving key: )?missing 'context'|context should be set)/,
  /^(invalid (ciphertext|signature|HMAC|base64 signature value)|supplied signature is invalid|ciphertext or signature version)/,
  /^(requested version for|key version does not exist|cannot generate HMAC|refusing to use soft-deleted key)/,
  /^'(\[\d+\]\.)?associated_data' provided for non-AEAD/,
  /^(unknown key type|key type \w+ not supported|convergent encryption (requires|not supported)|key derivation and convergent)/,
  /^(invalid key.size|key_size is not valid|auto rotate period must|invalid bit length)/,
  /^(cannot set min|min (en|de)cryption version|minimum available version|missing min_available_version|no existing key named)/,
  /^(Field validation failed: )?error converting input/,
  /^(invalid export type|invalid format|private key material is not|(en|de)cryption not supported|signing not supported)/,
  /^(version for export|version does not exist|unknown (format|key format)|certificate chain not|selected key version)/,
  /^('bytes' (cannot|should)|unsupported entropy source|error parsing url-set byte count)/,
  /^(the import path cannot|no key found with name|the import_version endpoint|allow_rotation must|imported key \S+ does not)/,
  /^(invalid key name|'backup' must be supplied)/,
];

/** We refuse the whole request; in the reference all its items failed. */
const isRefused = (ours: Told, theirs: Told): boolean =>
  mistakes.some((known) => known.test(text(ours))) &&
  !/"valid":true|"plaintext":"[^"]/.test(JSON.stringify(theirs.data));

/** If a name exists on one side only, a page ends at another name. */
const isPage = (path: string): boolean => /limit=\d/.test(path);

const keysOf = ({ data }: Told): readonly string[] => {
  const keys = (data as { keys?: unknown } | null)?.keys;
  return Array.isArray(keys) ? (keys as string[]) : [];
};

const withoutMistakes = (data: unknown): string =>
  JSON.stringify(data, (name, value) =>
    name === 'error' && mistakes.some((known) => known.test(value)) ? 'a mistake' : value,
  );

/** The intended differences from the reference (decision 0255). */
export const differences: readonly Difference[] = [
  {
    why: 'a ciphertext is base64url by chance, on one side only',
    fits: (_ours, _theirs, request) =>
      at(request, /^verify\//) &&
      request.body?.marshaling_algorithm === 'jws' &&
      JSON.stringify(request.body).includes('"signature":"«ciphertext'),
  },
  {
    why: 'of several mistakes another one is named',
    fits: (ours, theirs) =>
      ours.status === 400 &&
      theirs.status === 400 &&
      [ours, theirs].every((told) => mistakes.some((known) => known.test(text(told)))),
  },
  {
    why: 'of several mistakes in an item of a batch another one is named',
    fits: (ours, theirs) =>
      ours.status === theirs.status && withoutMistakes(ours.data) === withoutMistakes(theirs.data),
  },
  {
    why: 'a field that is null is absent',
    fits: (_ours, _theirs, { body }) => body !== undefined && JSON.stringify(body).includes(':null'),
  },
  {
    why: 'unknown parameters are named also where nothing else is answered',
    fits: (ours, theirs) => ours.status === 200 && ours.data === null && theirs.status === 204,
  },
  {
    why: 'a signature that is read in the wrong form is base64 by chance',
    fits: (ours, theirs, { path, body }) =>
      path.startsWith('verify/') &&
      body?.marshaling_algorithm === 'jws' &&
      [ours, theirs].some((told) => text(told) === 'invalid base64 signature value') &&
      [ours, theirs].some((told) => JSON.stringify(told.data) === '{"valid":false}'),
  },
  {
    why: 'no key is derived from one for HMACs, also where it is imported',
    fits: (ours, theirs, request) =>
      at(request, /^keys\/[^/]+\/import$/) &&
      theirs.status === 204 &&
      /not supported for keys of type hmac$/.test(text(ours)),
  },
  {
    why: 'a version has one spelling',
    fits: (ours, _theirs, request) => text(ours) === 'invalid key version' && /\/v1(\?|$)/.test(request.path),
  },
  {
    why: 'a source that counts is not a parameter that is replaced',
    fits: (ours, theirs, request) => at(request, /^random/) && ours.status === theirs.status && ours.status === 200,
  },
  {
    why: 'the reference forgets to store a key that a batch made of which an item was refused',
    fits: (ours, theirs, request) =>
      at(request, /^keys\?list/) &&
      (isPage(request.path)
        ? keysOf(theirs).length > 0
        : keysOf(theirs).every((name) => keysOf(ours).includes(name) || /^-|-$|^absent$/.test(name))),
  },
  {
    why: 'a path that does not exist is 404',
    fits: (ours, theirs, request) =>
      text(ours) === 'unsupported path' &&
      theirs.status >= 400 &&
      (at(request, /^(datakey\/other|random\/x\/y)/) || /\/(-r\d+|r\d+-)(\/|$)/.test(request.path)),
  },
  {
    why: 'a key is restored under a name that it can be used by',
    fits: (ours, _theirs, request) => ours.status === 404 && at(request, /^restore\/(-r\d+|r\d+-)$/),
  },
  {
    why: 'a key that is absent cannot be taken out of use',
    fits: (ours, theirs, request) =>
      at(request, /^keys\/[^/]+\/soft-delete/) && ours.status === 404 && theirs.status === 204,
  },
  {
    why: 'a wrapped key that cannot be unwrapped, or does not fit, gets a text that tells little',
    fits: (ours, theirs, request) =>
      at(request, /^keys\/[^/]+\/import/) && ours.status === 400 && theirs.status === 400,
  },
  {
    why: 'a text that is not a backup gets one text',
    fits: (ours, theirs, request) => at(request, /^restore/) && ours.status === 400 && theirs.status === 400,
  },
  {
    why: 'a list that is empty is an item without fields',
    fits: (_ours, theirs) =>
      /^failed to parse batch input: .*got ("slice"|unconvertible type '\[\]interface \{\}')$/s.test(text(theirs)),
  },
  {
    why: 'what signing does not know is refused, also where the key has no use for it',
    fits: (ours) => /^(unsupported rsa signature algorithm|hash_algorithm=none requires)/.test(text(ours)),
  },
  {
    why: 'a batch of which all items failed is 400, also for associated data',
    fits: (ours, theirs) =>
      ours.status === 400 &&
      withoutMistakes(ours.data) === withoutMistakes(theirs.data) &&
      JSON.stringify(ours.data).includes('non-AEAD cipher suite'),
  },
  {
    why: 'a key that exists is answered with any other fields',
    fits: (ours, theirs, request) => at(request, /^keys\/[^/]+$/) && ours.status === 200 && theirs.status === 400,
  },
  {
    why: 'an HMAC of a batch that is not right is false, as a signature is',
    fits: (ours, theirs) =>
      ours.status === 200 && JSON.stringify(ours.data).replaceAll(',"valid":false', '') === JSON.stringify(theirs.data),
  },
  {
    why: 'the older name of hash_algorithm is heard',
    fits: (_ours, _theirs, { path, body }) => /^(sign|verify)\//.test(path) && body?.algorithm !== undefined,
  },
  {
    why: 'what one request cannot verify is refused before its items are looked at',
    fits: (ours, theirs, request) =>
      at(request, /^(verify|decrypt)/) && theirs.status === 200 && ours.status === 400 && isRefused(ours, theirs),
  },
  {
    why: 'items of a batch are objects',
    fits: (ours) => ours.status === 400 && /^failed to parse batch input/.test(text(ours)),
  },
  {
    why: 'a key out of use refuses a batch as a whole',
    fits: (ours, theirs) =>
      text(ours) === 'refusing to use soft-deleted key' &&
      JSON.stringify(theirs.data).includes('refusing to use soft-deleted key'),
  },
  {
    why: 'a signature and an HMAC are not verified at once',
    fits: (ours) => /^(provide one of|elements of batch_input must all)/.test(text(ours)),
  },
  {
    why: 'a source of random bytes that does not exist is refused',
    fits: (ours, _theirs, request) => at(request, /^random/) && /^unsupported entropy source/.test(text(ours)),
  },
  {
    why: 'a path may name a source without a length',
    fits: both(/^$/, /^error parsing url-set byte count/),
  },
];
