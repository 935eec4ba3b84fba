import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { parseKey } from 'sshpk';
import { bodyOf, bool, often, one } from './generated-bodies';
import type { ComparedRequest } from './request-comparison';

const lineOf = (pair: { publicKey: { export(options: object): unknown } }): string =>
  `${parseKey(String(pair.publicKey.export({ type: 'spki', format: 'pem' })), 'pem')
    .toString('ssh')
    .split(' ')
    .slice(0, 2)
    .join(' ')} jane@laptop`;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed25519 = generateKeyPairSync('ed25519');
const keys = [
  ed25519,
  ed25519,
  rsa,
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  generateKeyPairSync('ec', { namedCurve: 'P-521' }),
].map(lineOf);
const rsaPrivate = String(rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }));

const odd = one<unknown>(null, '', 7, true, [], {});
const key = often(
  one(...keys, keys[0]!.split(' ')[1]!),
  one<unknown>(null, '', 'x', 'ssh-ed25519 AAAA', 'ssh-ed25519 !!', 7, [], keys[2]!.slice(0, 120)),
);
const users = one('root', 'jane', 'root,jane', '*', '', ' jane , root,,', 'ubuntu');
const hosts = one('example.com', 'example.com,example.org', '*', '', 'Example.com');
const principals = often(
  one(
    'jane',
    'root',
    'jane,root,jane',
    'ubuntu',
    'example.com',
    'a.example.com',
    'a.b.example.org',
    ' jane ,',
    'A.Example.com',
  ),
  one<unknown>('', ',', null, 7, [], '*', 'xexample.com', '.example.com'),
);
const words = often(
  one('permit-pty', 'permit-pty,permit-X11-forwarding', '*', '', 'force-command', 'source-address,force-command'),
  odd,
);
const options = often(
  one<unknown>(
    { 'permit-pty': '' },
    { 'permit-pty': '', 'permit-X11-forwarding': '' },
    { 'force-command': '/bin/true' },
    { 'source-address': '10.0.0.0/8', 'force-command': 'date' },
    {},
  ),
  one<unknown>('x', [], 7, { a: 1 }, { a: true }),
);
const lifetime = often(one<unknown>(0, '1h', 600, '30m', 7200), one<unknown>(-5, 'x', '', null, '0', '9000h', true));
const lengths = often(
  one<unknown>(
    { rsa: 2048 },
    { rsa: [2048, 4096] },
    { ed25519: 0 },
    { ec: [256] },
    { ecdsa: 384, ed25519: [0] },
    { 'ecdsa-sha2-nistp256': 0 },
    { 'ssh-ed25519': 0 },
    {},
  ),
  one<unknown>({ rsa: 'x' }, 'x', { dsa: 1024 }, { rsa: [] }),
);
const roleName = often(one('a', 'a', 'b', 'b', 'c'), one('absent', 'x@y', '-x')) as fc.Arbitrary<string>;
const otpName = often(one('c', 'c', 'd'), one('a', 'absent')) as fc.Arbitrary<string>;
const ref = often(
  one('default', 'first', '«issuer_id:0»', '«issuer_id:1»', 'second'),
  one('', 'none', 'DEFAULT', 'a b'),
) as fc.Arbitrary<string>;
const network = often(
  one('10.0.0.0/8', '10.0.0.0/8,192.168.0.0/16', '0.0.0.0/0', 'fd00::/8', ''),
  one<unknown>('x', '10.0.0.1', '10.0.0.0/33', null, 7),
);
const address = often(
  one('10.1.2.3', '192.168.1.1', '11.0.0.1', 'fd00::1'),
  one<unknown>('', 'x', null, '10.0.0.300', '::ffff:10.0.0.1', 'FD00:0::1', '10.1', 7),
);

const ca = {
  key_type: [95, often(one('ca'), one<unknown>('CA', '', 'dynamic', 'x', null))],
  allow_user_certificates: [85, often(one(true), odd)],
  allow_host_certificates: [60, bool],
  allowed_users: [85, users],
  default_user: [50, one('jane', 'root', 'other', '')],
  allowed_domains: [60, hosts],
  allow_bare_domains: [50, bool],
  allow_subdomains: [50, bool],
  allow_user_key_ids: [40, bool],
  key_id_format: [20, one('{{role_name}}', '{{token_display_name}}-{{public_key_hash}}', 'fixed', '{{x}}')],
  allowed_critical_options: [40, words],
  allowed_extensions: [60, words],
  default_critical_options: [25, options],
  default_extensions: [40, options],
  allow_empty_principals: [20, bool],
  allowed_user_key_lengths: [20, lengths],
  algorithm_signer: [20, often(one('default', '', 'rsa-sha2-256', 'rsa-sha2-512'), one<unknown>('x', null))],
  ttl: [40, lifetime],
  max_ttl: [40, lifetime],
  not_before_duration: [20, lifetime],
  issuer_ref: [20, ref],
  unknown: [2, one(1)],
} as const;
const otp = {
  key_type: [100, one('otp')],
  default_user: [95, one('jane', 'root', '')],
  allowed_users: [60, users],
  cidr_list: [90, network],
  exclude_cidr_list: [30, network],
  port: [20, often(one(22, 2222, 0), one<unknown>('x', null, '22'))],
} as const;
const asked = {
  valid_principals: [75, principals],
  cert_type: [50, often(one('user', 'host'), one<unknown>('', 'x', null))],
  key_id: [20, one('mine', '')],
  ttl: [40, lifetime],
  critical_options: [25, options],
  extensions: [35, options],
} as const;

const write = (path: fc.Arbitrary<string>, body: fc.Arbitrary<Record<string, unknown>>) =>
  fc.record({ method: one('POST' as const), path, body });
const ask = (method: 'GET' | 'DELETE', path: fc.Arbitrary<string>) => fc.record({ method: one(method), path });
const at = (start: string, name: fc.Arbitrary<string> = roleName) =>
  name.map((text) =>
    `${start}/${encodeURIComponent(text)}`
      .replace(/%C2%AB/g, '«')
      .replace(/%C2%BB/g, '»')
      .replace(/%3A/g, ':'),
  );
const newIssuer = bodyOf({
  generate_signing_key: [50, often(one(true), one<unknown>(false, 'x', null))],
  key_type: [
    95,
    often(
      one('ed25519', 'ssh-ed25519', 'ec', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'),
      one<unknown>('dsa', '', null),
    ),
  ],
  key_bits: [15, often(one(0, 256, 384, 521), one<unknown>(1024, 'x'))],
  public_key: [6, one(keys[2], 'x', '')],
  private_key: [6, one(rsaPrivate, 'x', '')],
  set_default: [20, bool],
});

const weighted: readonly (readonly [number, fc.Arbitrary<ComparedRequest>])[] = [
  [10, write(at('roles'), bodyOf(ca))],
  [5, write(at('roles', otpName), bodyOf(otp))],
  [4, ask('GET', at('roles'))],
  [1, ask('DELETE', at('roles'))],
  [2, ask('GET', one('roles?list=true', 'roles?list=true&limit=1', 'roles?list=true&after=a'))],
  [22, write(at('sign'), bodyOf({ ...asked, public_key: [97, key] }))],
  [
    4,
    write(
      at('issue'),
      bodyOf({
        ...asked,
        key_type: [97, often(one('ed25519', 'ec'), one<unknown>('x', null))],
        key_bits: [20, one<unknown>(0, 256, 384, 'x')],
      }),
    ),
  ],
  [
    10,
    write(
      at('creds', otpName),
      bodyOf({ ip: [97, address], username: [50, often(one('jane', 'root', 'ubuntu'), odd)] }),
    ),
  ],
  [
    6,
    write(
      one('verify'),
      bodyOf({
        otp: [98, often(one('«key:0»', '«key:1»', '«key:2»'), one<unknown>('x', '', null, 'verify-echo-request'))],
      }),
    ),
  ],
  [3, write(one('lookup'), bodyOf({ ip: [97, address] }))],
  [
    2,
    write(
      one('config/zeroaddress'),
      bodyOf({ roles: [95, often(one<unknown>('a', ['a', 'b'], 'c,a'), one<unknown>('absent', '', null, []))] }),
    ),
  ],
  [2, ask('GET', one('config/zeroaddress'))],
  [1, ask('DELETE', one('config/zeroaddress'))],
  [2, write(one('config/ca'), newIssuer)],
  [1, ask('GET', one('config/ca', 'public_key', 'config/issuers'))],
  [2, write(one('issuers/import', 'issuers/import/second', 'issuers/import/default'), newIssuer)],
  [1, ask('GET', one('issuers?list=true'))],
  [
    2,
    ask(
      'GET',
      fc.oneof(
        at('issuer', ref),
        at('issuer', ref).map((path) => `${path}/public_key`),
      ),
    ),
  ],
  [
    1,
    write(
      at('issuer', ref),
      bodyOf({ issuer_name: [90, often(one('first', 'second', 'other'), one<unknown>('', 'default', 'a b', null))] }),
    ),
  ],
  [1, write(one('config/issuers'), bodyOf({ default: [95, ref] }))],
  [0.3, ask('DELETE', at('issuer', ref))],
];

const request = fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight: Math.ceil(weight * 3), arbitrary })));

/** Roles and an issuer, so that later requests find existing ones. */
const beginning: readonly ComparedRequest[] = [
  { method: 'POST', path: 'config/ca', body: { key_type: 'ed25519' } },
  { method: 'POST', path: 'issuer/default', body: { issuer_name: 'first' } },
  {
    method: 'POST',
    path: 'roles/a',
    body: {
      key_type: 'ca',
      allow_user_certificates: true,
      allowed_users: 'jane,root',
      default_user: 'jane',
      allowed_extensions: '*',
    },
  },
  {
    method: 'POST',
    path: 'roles/b',
    body: { key_type: 'ca', allow_host_certificates: true, allowed_domains: 'example.com', allow_subdomains: true },
  },
  { method: 'POST', path: 'roles/c', body: { key_type: 'otp', default_user: 'jane', cidr_list: '10.0.0.0/8' } },
];

/** The nth run, which depends only on the seed, except for its keys. */
export const runOf = (seed: number, index: number, requests: number): ComparedRequest[] => [
  ...beginning,
  ...fc.sample(request, { numRuns: requests, seed: seed + index }),
];
