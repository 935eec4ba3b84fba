import fc from 'fast-check';
import { bodyOf, bool, duration, number, oddText, often, one } from './generated-bodies';

/**
 * A request to a transit mount. Strings `«kind:n:mutation»` are replaced by a value from an earlier answer of the same
 * server.
 */
export interface TransitRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Key material that is wrapped separately for each server. */
export interface WrappedKey {
  readonly wrap: string;
  readonly hash: string;
}

export const isWrappedKey = (value: unknown): value is WrappedKey =>
  typeof value === 'object' && value !== null && 'wrap' in value;

/** The kinds of values that are kept from earlier answers. */
export const kinds = ['ciphertext', 'signature', 'hmac', 'backup'] as const;

const base64 = (text: string) => Buffer.from(text).toString('base64');
/** Plaintexts that are encrypted; any other decrypted text is random. */
export const plaintexts = ['YQ==', base64('hello'), base64('a longer text of some bytes'), ''];
const plain = often(one(...plaintexts), oddText);
const context = often(one(base64('context'), base64('another')), oddText);
const aad = often(one(base64('order 66'), base64('order 67')), oddText);
const mutations = [
  '',
  '',
  '',
  '',
  '',
  '',
  'cut',
  'flip',
  'v0',
  'v2',
  'v9',
  'vx',
  'bare',
  'prefix',
  'url',
  'empty',
  'space',
];
const earlier = (kind: (typeof kinds)[number]) =>
  fc
    .tuple(one(kind, kind, kind, kind, ...kinds), fc.nat(9), one(...mutations))
    .map(([of, n, mutation]) => `«${of}:${n}:${mutation}»`);
const ciphertext = often(earlier('ciphertext'), oddText);
const version = number(0, 0, 1, 2, 3);
const reference = often(one('r1', 'r2'), one<unknown>(null, 7, ''));

const cheapTypes = [
  'aes128-gcm96',
  'aes256-gcm96',
  'chacha20-poly1305',
  'xchacha20-poly1305',
  'ed25519',
  'ecdsa-p256',
  'ecdsa-p384',
  'ecdsa-p521',
  'hmac',
];
const type = fc.oneof(
  { weight: 30, arbitrary: one(...cheapTypes) },
  { weight: 2, arbitrary: one('rsa-2048') },
  { weight: 1, arbitrary: one<unknown>('', 'aes', 'AES256-GCM96', 'aes128-cmac', null, 7, 'managed_key') },
);
const hashName = often(
  one('sha1', 'sha2-224', 'sha2-256', 'sha2-384', 'sha2-512', 'sha3-224', 'sha3-256', 'sha3-384', 'sha3-512', 'none'),
  one<unknown>('md5', '', 'SHA2-256', null, 7, 'sha256'),
);

/** The reference panics with `none`, and its lock on the key stays. */
const macName = hashName.filter((name) => name !== 'none');

const batchOf = (item: fc.Arbitrary<unknown>) =>
  often(fc.array(item, { minLength: 1, maxLength: 4 }), one<unknown>([], null, 'x', 7, {}, ['x'], [7], [null], [[]]));

/** A request with single fields, or a batch of them. */
const orBatch = (
  item: Readonly<Record<string, readonly [number, fc.Arbitrary<unknown>]>>,
  around: Readonly<Record<string, readonly [number, fc.Arbitrary<unknown>]>> = {},
) =>
  fc.oneof(
    { weight: 3, arbitrary: bodyOf({ ...item, ...around }) },
    {
      weight: 1,
      arbitrary: bodyOf({
        ...around,
        batch_input: [100, batchOf(bodyOf({ ...item, reference: [30, reference] }))],
      }),
    },
  );

const partial = one<unknown>(207, 200, 299, 400, 0, 99, 600, 'x', '207', null);
const key = (run: string) =>
  often(
    one(...['a', 'b', 'c', 'd'].map((end) => `${run}-${end}`)),
    one(`${run}-z`, `-${run}`, `${run}-`, `${run}.b`),
  ) as fc.Arbitrary<string>;
const unit = (value: unknown) => encodeURIComponent(String(value));

/** One request for the keys of a run. */
function requestOf(run: string): fc.Arbitrary<TransitRequest> {
  const name = key(run);
  const at = (start: string, end = '') => name.map((text) => `${start}/${text}${end}`);
  const write = (path: fc.Arbitrary<string>, body: fc.Arbitrary<Record<string, unknown>>) =>
    fc.record({ method: one('POST' as const), path, body });
  const ask = (method: 'GET' | 'DELETE' | 'POST', path: fc.Arbitrary<string>) =>
    fc.record({ method: one(method), path });
  const endOf = (value: fc.Arbitrary<unknown>) =>
    fc.oneof(
      one(''),
      value.map((text) => `/${unit(text)}`),
    );
  const ended = (start: string, value: fc.Arbitrary<unknown>) =>
    fc.tuple(at(start), endOf(value)).map(([path, end]) => path + end);
  const keyFields = {
    type: [70, type],
    derived: [30, bool],
    convergent_encryption: [15, bool],
    exportable: [50, bool],
    allow_plaintext_backup: [50, bool],
    auto_rotate_period: [15, duration],
    key_size: [12, number(0, 32, 64, 512, 31, 513)],
    unknown_field: [3, one(1)],
  } as const;
  const scheme = {
    hash_algorithm: [40, hashName],
    algorithm: [10, hashName],
    prehashed: [15, bool],
    signature_algorithm: [20, often(one('pss', 'pkcs1v15'), one<unknown>('x', '', null, 7))],
    marshaling_algorithm: [25, often(one('asn1', 'jws'), one<unknown>('x', '', null, 7))],
    salt_length: [
      15,
      often(one('auto', 'hash', '32'), one<unknown>('0', '-1', '-3', '9999', 'x', '', null, 7, 'AUTO')),
    ],
  } as const;
  const signed = { input: [92, plain], context: [25, context] } as const;
  const aesKey = fc.record({
    wrap: one('aes32', 'aes32', 'aes16', 'aes20', 'ed25519', 'ecdsa-p256'),
    hash: one('SHA256', 'SHA256', 'SHA1', 'SHA512'),
  });
  const weighted: readonly (readonly [number, fc.Arbitrary<TransitRequest>])[] = [
    [14, write(at('keys'), bodyOf(keyFields))],
    [6, ask('GET', at('keys'))],
    [2, ask('GET', at('keys', `?context=${encodeURIComponent(base64('context'))}`))],
    [
      2,
      ask(
        'GET',
        one(
          'keys?list=true',
          'keys?list=true&limit=2',
          `keys?list=true&after=${run}-a`,
          'keys?list=true&limit=-1',
          'keys?list=true&limit=x',
        ),
      ),
    ],
    [3, ask('DELETE', at('keys'))],
    [
      8,
      write(
        at('keys', '/config'),
        bodyOf({
          min_decryption_version: [35, number(0, 1, 2, 3)],
          min_encryption_version: [35, number(0, 1, 2, 3)],
          deletion_allowed: [30, bool],
          exportable: [15, bool],
          allow_plaintext_backup: [15, bool],
          auto_rotate_period: [15, duration],
        }),
      ),
    ],
    [8, write(at('keys', '/rotate'), bodyOf({}))],
    [4, write(at('keys', '/trim'), bodyOf({ min_available_version: [90, number(0, 1, 2, 3)] }))],
    [2, ask('DELETE', at('keys', '/soft-delete'))],
    [4, ask('POST', at('keys', '/soft-delete-restore'))],
    [
      16,
      write(
        at('encrypt'),
        orBatch(
          { plaintext: [93, plain], context: [25, context], associated_data: [15, aad], key_version: [20, version] },
          { partial_failure_response_code: [10, partial], type: [10, type], convergent_encryption: [5, bool] },
        ),
      ),
    ],
    [
      14,
      write(
        at('decrypt'),
        orBatch(
          { ciphertext: [95, ciphertext], context: [25, context], associated_data: [12, aad] },
          { partial_failure_response_code: [10, partial] },
        ),
      ),
    ],
    [
      6,
      write(
        at('rewrap'),
        orBatch({
          ciphertext: [95, ciphertext],
          context: [25, context],
          key_version: [20, version],
        }),
      ),
    ],
    [
      6,
      write(
        fc.tuple(one('plaintext', 'wrapped', 'wrapped', 'other'), name).map((parts) => `datakey/${parts.join('/')}`),
        bodyOf({
          bits: [40, number(128, 256, 512, 100)],
          context: [25, context],
          associated_data: [12, aad],
          key_version: [20, version],
        }),
      ),
    ],
    [14, write(ended('sign', hashName), orBatch(signed, { ...scheme, key_version: [20, version] }))],
    [
      14,
      write(
        ended('verify', hashName),
        orBatch(
          {
            ...signed,
            signature: [80, often(earlier('signature'), oddText)],
            hmac: [15, often(earlier('hmac'), oddText)],
          },
          scheme,
        ),
      ),
    ],
    [
      8,
      write(
        ended('hmac', macName),
        orBatch({ input: [95, plain] }, { algorithm: [40, macName], key_version: [20, version] }),
      ),
    ],
    [
      4,
      write(
        endOf(hashName).map((end) => `hash${end}`),
        bodyOf({
          input: [95, plain],
          algorithm: [40, hashName],
          format: [40, often(one('hex', 'base64'), one<unknown>('x', '', null, 7))],
        }),
      ),
    ],
    [
      4,
      write(
        one(
          'random',
          'random/16',
          'random/platform',
          'random/all/7',
          'random/moon',
          'random/moon/7',
          'random/0',
          'random/x/y',
          'random/200000',
        ),
        bodyOf({
          bytes: [40, number(1, 32, 131_072, 131_073, 0)],
          format: [40, often(one('hex', 'base64'), one<unknown>('x', '', null))],
          source: [15, one('platform', 'all', 'seal', 'x')],
        }),
      ),
    ],
    [
      10,
      ask(
        'GET',
        fc
          .tuple(
            one('encryption-key', 'signing-key', 'hmac-key', 'public-key', 'certificate-chain', 'other-key'),
            name,
            one('', '', '/1', '/2', '/latest', '/9', '/x', '/0', '/v1', '/-1'),
            one('', '', '', '?format=raw', '?format=der', '?format=pem', '?format=x'),
          )
          .map(([kind, text, end, format]) => `export/${kind}/${text}${end}${format}`),
      ),
    ],
    [5, ask('GET', at('backup'))],
    [
      5,
      write(
        fc.oneof(at('restore'), one('restore')),
        bodyOf({ backup: [95, often(earlier('backup'), oddText)], force: [50, bool] }),
      ),
    ],
    [
      6,
      write(
        fc.oneof(at('keys', '/import'), at('keys', '/import'), at('keys', '/import_version')),
        bodyOf({
          ciphertext: [90, aesKey],
          public_key: [10, one<unknown>('x', '', null, '«public»')],
          type: [60, one('aes128-gcm96', 'aes256-gcm96', 'aes256-gcm96', 'ed25519', 'ecdsa-p256', 'hmac', 'x')],
          allow_rotation: [40, bool],
          derived: [15, bool],
          exportable: [30, bool],
          allow_plaintext_backup: [30, bool],
          auto_rotate_period: [8, duration],
          version: [15, number(1, 2)],
        }),
      ),
    ],
    [1, ask('GET', one('wrapping_key', 'config/keys', 'cache-config'))],
    [1, write(one('config/keys'), bodyOf({ disable_upsert: [90, bool] }))],
    [1, write(one('cache-config'), bodyOf({ size: [90, number(0, 10, 20, 9)] }))],
  ];
  return fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Exportable keys, with output of each, so that later requests find existing keys. */
function beginning(run: string): fc.Arbitrary<TransitRequest[]> {
  const kept = { exportable: true, allow_plaintext_backup: true };
  const each = ['a', 'b', 'c', 'd'].map((end) =>
    fc.tuple(one(...cheapTypes), fc.nat(3)).map(([type, drawn]): TransitRequest[] => {
      const name = `${run}-${end}`;
      const derived = drawn === 0 && /gcm|poly/.test(type);
      const body = { ...kept, type, derived, ...(type === 'hmac' && { key_size: 32 }) };
      const text = { plaintext: plaintexts[1], input: plaintexts[1], ...(derived && { context: base64('context') }) };
      return [
        { method: 'POST', path: `keys/${name}`, body },
        ...['encrypt', 'sign', 'hmac'].map((use) => ({ method: 'POST' as const, path: `${use}/${name}`, body: text })),
        { method: 'GET', path: `backup/${name}` },
      ];
    }),
  );
  return fc.tuple(...each).map((all) => all.flat());
}

/** Runs of `requests` requests each, after some to prepare; they depend only on the seed. */
export function generateRuns(seed: number, count: number, requests: number): TransitRequest[][] {
  return Array.from({ length: count }, (_, index) => [
    ...fc.sample(beginning(`r${index}`), { numRuns: 1, seed: seed + index }).flat(),
    ...fc.sample(requestOf(`r${index}`), { numRuns: requests, seed: seed + index }),
  ]);
}
