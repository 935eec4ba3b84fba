import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CertID, OCSPRequest, Request, TBSRequest } from '@peculiar/asn1-ocsp';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier, Certificate } from '@peculiar/asn1-x509';
import fc from 'fast-check';
import { bodyOf, bool, duration, often, one } from './generated-bodies';
import type { ComparedRequest } from './request-comparison';

const folder = mkdtempSync(path.join(tmpdir(), 'keystead-requests-'));
function openssl(input: string, ...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', input, stdio: 'pipe' });
}
const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
let made = 0;

/** A request for a certificate with these lines of extensions. */
function csr(subject: string, extensions: string, key: readonly string[] = ecKey): string {
  const at = path.join(folder, String(made++));
  writeFileSync(at, `[req]\ndistinguished_name=dn\n[dn]\n[ext]\n${extensions}\n`);
  const more = extensions === '' ? [] : ['-reqexts', 'ext'];
  return openssl('', 'req', '-new', ...key, '-nodes', '-keyout', '/dev/null', '-subj', subject, '-config', at, ...more);
}
const rsaKey = openssl('', 'genpkey', '-algorithm', 'rsa', '-pkeyopt', 'rsa_keygen_bits:2048');
const keyFile = path.join(folder, 'key');
writeFileSync(keyFile, openssl(rsaKey, 'rsa', '-traditional'));
const requests = [
  csr('/CN=a.example.com', ''),
  csr('/CN=a.example.com', 'subjectAltName=DNS:a.example.com,DNS:b.example.com'),
  csr('/CN=a.example.com/O=Ex/OU=x', 'subjectAltName=DNS:a.example.com,IP:10.1.2.3,email:me@example.com'),
  csr('/CN=evil.test', 'subjectAltName=DNS:evil.test,URI:spiffe://a/b'),
  csr('/C=DE/O=Ex/CN=Sub CA', 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign'),
  csr('/CN=a.example.com', 'keyUsage=digitalSignature\nextendedKeyUsage=codeSigning\nsubjectAltName=DNS:a.example.com'),
  csr('/CN=a.example.com', 'subjectAltName=DNS:a.example.com', ['-key', keyFile]),
  csr('/O=No name', ''),
];
/** Authorities of others, with their keys and without. */
const foreign = [1, 2].map((n) => {
  const at = path.join(folder, `foreign-${n}`);
  const subject = ['-subj', `/CN=Foreign ${n}`, '-days', '20'];
  const certificate = openssl('', 'req', '-x509', '-new', ...ecKey, '-nodes', '-keyout', at, ...subject);
  return { certificate, key: openssl('', 'ec', '-in', at) };
});
const leaf = openssl(
  '',
  ...['req', '-x509', '-new', ...ecKey, '-nodes', '-keyout', '/dev/null', '-subj', '/CN=leaf', '-days', '5'],
  ...['-addext', 'basicConstraints=critical,CA:FALSE'],
);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const odd = one<unknown>(null, '', 7, true, [], {});
const requestFor = often(one(...requests), one<unknown>('', 'x', null, 7, requests[0]!.slice(0, 200), leaf));
const names = often(
  one('a.example.com', 'b.example.com', 'example.com', '*.example.com', 'evil.test', 'A.example.com', 'localhost'),
  one<unknown>('', null, 'a b', 'me@example.com', 7, [], '10.1.2.3'),
);
const manyNames = often(
  one('a.example.com', 'a.example.com,b.example.com', 'me@example.com', '', 'evil.test', '*.example.com'),
  one<unknown>(',', null, 7, ['a.example.com'], 'a b'),
);
const addresses = often(one('10.1.2.3', '::1', '10.1.2.3,10.1.2.4', ''), one<unknown>('x', null, '10.1.2', 7));
const lifetime = often(one<unknown>('1h', 3600, '30m', '', 0, '2h'), one<unknown>('x', -5, null, '90000h', [], true));
/** Before the first authority ends, whenever the requests are sent. */
const soon = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`;
const moment = often(one(soon, ''), one<unknown>('x', '2020-01-01T00:00:00Z', null, 7));
const reference = often(
  one('default', 'default', 'first', '«issuer_id:0»', '«issuer_id:1»', 'second'),
  one('none', 'DEFAULT', 'a b'),
) as fc.Arbitrary<string>;
const keyRef = often(one('default', 'key', '«key_id:0»', '«key_id:1»'), one('none', 'a b')) as fc.Arbitrary<string>;
const role = often(one('a', 'a', 'b', 'b', 'c'), one('absent', '-x')) as fc.Arbitrary<string>;
const kind = often(one('internal', 'internal', 'exported'), one('existing', 'kms', 'x')) as fc.Arbitrary<string>;
const addressesOfLists = often(
  one<unknown>('http://a.test/ca', 'http://a.test/ca,http://b.test/ca', [], ['http://a.test/x'], ''),
  one<unknown>('x', 'ftp://a', null, '{{cluster_path}}/x', '{{issuer_id}}', 7),
);
const usage = often(
  one('read-only,issuing-certificates', 'crl-signing,issuing-certificates,ocsp-signing,read-only', 'read-only', ''),
  one<unknown>('x', null, ['crl-signing'], 'CRL-Signing'),
);
const serial = often(
  one('«serial_number:0»', '«serial_number:1»', '«serial_number:2»', '«serial_number:3»'),
  one<unknown>('', 'x', null, '11:22:33', 7),
);
const quantity = often(one(0, -1, 1, 2), one<unknown>('x', null, '1', 1.5));
const issuerName = often(one('first', 'second', 'third', ''), one<unknown>('default', 'a b', null, 7));
const text = (...usual: string[]) => often(one(...usual), odd);
const subject = {
  ou: [15, text('x', 'x,y')],
  organization: [15, text('Ex', '')],
  country: [10, text('DE')],
  serial_number: [8, text('1', '')],
} as const;
const alternatives = {
  alt_names: [40, manyNames],
  ip_sans: [20, addresses],
  uri_sans: [10, text('spiffe://a/b', '')],
  other_sans: [6, text('1.2.3.4;UTF8:x', '1.2.3.4;utf-8:x', 'x')],
} as const;
const times = { ttl: [70, lifetime], not_after: [10, moment], not_before: [6, moment] } as const;
const form = often(one('pem', 'der', 'pem_bundle'), one<unknown>('x', '', null));
const forms = { format: [20, form], private_key_format: [10, often(one('der', 'pkcs8'), odd)] } as const;
const ecOnly = {
  key_type: [100, one('ec', 'ec', 'ec', 'ed25519')],
  key_bits: [12, one<unknown>(0, 256, 384, 1, 'x')],
} as const;
const authority = {
  common_name: [95, often(one('Root', 'root.example.com', 'Other'), odd)],
  ...subject,
  ...alternatives,
  ...times,
  ...forms,
  ...ecOnly,
  max_path_length: [25, quantity],
  permitted_dns_domains: [15, text('example.com', '')],
  exclude_cn_from_sans: [20, bool],
  issuer_name: [20, issuerName],
  key_name: [15, often(one('key', 'other', ''), one<unknown>('default', null))],
} as const;
const leafFields = {
  common_name: [85, names],
  ...alternatives,
  ...times,
  ...forms,
  exclude_cn_from_sans: [15, bool],
  remove_roots_from_chain: [10, bool],
  serial_number: [6, text('1', '')],
  user_ids: [6, text('x', '')],
} as const;
const usages = {
  key_usage: [25, often(one('DigitalSignature', 'DigitalSignature,KeyAgreement', ''), one<unknown>(null, [], 7))],
  ext_key_usage: [20, often(one('ServerAuth', 'ServerAuth,ClientAuth', ''), one<unknown>(null, [], 7))],
  ext_key_usage_oids: [8, text('1.2.3.4', '')],
} as const;
const roleFields = {
  allowed_domains: [70, often(one('example.com', 'example.com,test', '*.example.com', ''), odd)],
  allow_any_name: [40, bool],
  allow_bare_domains: [30, bool],
  allow_subdomains: [60, bool],
  allow_glob_domains: [15, bool],
  allow_localhost: [15, bool],
  allow_wildcard_certificates: [15, bool],
  allow_ip_sans: [25, bool],
  allowed_ip_sans_cidr: [12, text('10.0.0.0/8', '', 'x')],
  allowed_uri_sans: [25, text('spiffe://a/*', '*', '')],
  allowed_other_sans: [15, text('1.2.3.4;UTF8:*', '*', '')],
  allowed_serial_numbers: [10, text('*', '1')],
  allowed_user_ids: [8, text('*', 'x')],
  enforce_hostnames: [20, bool],
  cn_validations: [12, text('disabled', 'email,hostname', 'email', 'x', 'disabled,email')],
  require_cn: [20, bool],
  use_csr_common_name: [25, bool],
  use_csr_sans: [25, bool],
  basic_constraints_valid_for_non_ca: [10, bool],
  server_flag: [15, bool],
  client_flag: [15, bool],
  code_signing_flag: [10, bool],
  email_protection_flag: [10, bool],
  ...usages,
  policy_identifiers: [8, text('1.2.3', '')],
  key_type: [100, often(one('ec', 'ec', 'any', 'ed25519', 'rsa'), one<unknown>('x', null))],
  key_bits: [8, one<unknown>(0, 256, 384, 7, 'x')],
  signature_bits: [8, one<unknown>(0, 256, 384, 7)],
  ttl: [40, lifetime],
  max_ttl: [30, lifetime],
  not_before_duration: [12, lifetime],
  no_store: [10, bool],
  issuer_ref: [20, often(one('default', 'first', '«issuer_id:0»'), one<unknown>('none', '', null))],
  ...subject,
} as const;
const issuerFields = {
  issuer_name: [40, issuerName],
  usage: [40, usage],
  leaf_not_after_behavior: [40, often(one('err', 'truncate', 'permit'), one<unknown>('x', '', null))],
  manual_chain: [15, often(one<unknown>('self', 'default', '«issuer_id:0»', ''), one<unknown>('none', null))],
  revocation_signature_algorithm: [
    12,
    often(one('', 'ECDSAWithSHA256', 'ECDSAWithSHA384'), one<unknown>('SHA256WithRSA', 'x', null)),
  ],
  issuing_certificates: [25, addressesOfLists],
  crl_distribution_points: [25, addressesOfLists],
  ocsp_servers: [25, addressesOfLists],
  enable_aia_url_templating: [10, bool],
} as const;
const tidyFields = {
  tidy_cert_store: [50, bool],
  tidy_revoked_certs: [40, bool],
  tidy_invalid_certs: [20, bool],
  tidy_revoked_cert_issuer_associations: [20, bool],
  tidy_expired_issuers: [20, bool],
  tidy_move_legacy_ca_bundle: [10, bool],
  tidy_acme: [10, bool],
  safety_buffer: [30, duration],
  revoked_safety_buffer: [15, duration],
  issuer_safety_buffer: [20, duration],
  acme_account_safety_buffer: [10, duration],
  pause_duration: [10, often(one('0s', '1ms', ''), one<unknown>('x', '-1s', null))],
  page_size: [10, quantity],
} as const;

const write = (at: fc.Arbitrary<string>, body: fc.Arbitrary<Record<string, unknown>>) =>
  fc.record({ method: one('POST' as const), path: at, body });
const ask = (method: 'GET' | 'DELETE', at: fc.Arbitrary<string>) => fc.record({ method: one(method), path: at });
const change = (at: fc.Arbitrary<string>, body: fc.Arbitrary<Record<string, unknown>>) =>
  fc.record({ method: one('PATCH' as const), path: at, body });
const plain = (value: string) =>
  encodeURIComponent(value)
    .replace(/%C2%AB/g, '«')
    .replace(/%C2%BB/g, '»')
    .replace(/%3A/g, ':');
const at = (start: string, name: fc.Arbitrary<string>, end = '') =>
  name.map((value) => `${start}/${plain(value)}${end}`);
const byIssuer = (below: string, name: fc.Arbitrary<string>) =>
  fc.tuple(reference, name).map(([ref, value]) => `issuer/${plain(ref)}/${below}/${plain(value)}`);
const bundle = often(
  one<unknown>(
    ...foreign.flatMap(({ certificate, key }) => [certificate, `${key}${certificate}`, `${certificate}${key}`]),
    foreign[0]!.key,
    leaf,
    '«certificate:0»',
  ),
  one<unknown>('', 'x', null, 7, '/etc/ssl/cert.pem'),
);

/** Directories of ACME. */
const directory = fc.oneof(
  one('acme'),
  at('roles', role, '/acme'),
  at('issuer', reference, '/acme'),
  byIssuer('roles', role).map((path) => `${path}/acme`),
);
const acmeFields = {
  enabled: [60, bool],
  allowed_issuers: [
    20,
    often(one<unknown>('*', 'first', ['first'], 'default'), one<unknown>('none', '', null, '*,first')),
  ],
  allowed_roles: [30, often(one<unknown>('*', 'a', ['a', 'b']), one<unknown>('absent', '', null, '*,a'))],
  allow_role_ext_key_usage: [15, bool],
  default_directory_policy: [
    30,
    often(one('sign-verbatim', 'forbid', 'role:a'), one<unknown>('x', '', 'role:', 'role:absent')),
  ],
  dns_resolver: [15, often(one('1.1.1.1:53', ''), one<unknown>('x', 'localhost:53', '1.1.1.1', 7))],
  eab_policy: [30, often(one('not-required', 'always-required', 'new-account-required'), one<unknown>('x', '', null))],
} as const;
const listFields = {
  crl_number: [90, often(one(1, 2, 7), one<unknown>(-1, 'x', null, 0))],
  delta_crl_base_number: [20, often(one(-1, 1), one<unknown>(-2, 'x'))],
  next_update: [40, often(one('72h', '1h'), one<unknown>('x', '', '-1h', '0s'))],
  format: [30, one('pem', 'der', 'x', '')],
} as const;
const revokedEntry = { serial_number: '11:22:33', revocation_time: '2020-01-01T00:00:00Z' };

const weighted: readonly (readonly [number, fc.Arbitrary<ComparedRequest>])[] = [
  [8, write(at('roles', role), bodyOf(roleFields))],
  [3, ask('GET', at('roles', role))],
  [1, ask('DELETE', at('roles', role))],
  [1, ask('GET', one('roles?list=true', 'roles?list=true&limit=1', 'roles?list=true&after=a'))],
  [12, write(at('issue', role), bodyOf({ ...leafFields, ...ecOnly }))],
  [4, write(byIssuer('issue', role), bodyOf({ ...leafFields, ...ecOnly }))],
  [12, write(at('sign', role), bodyOf({ csr: [98, requestFor], ...leafFields }))],
  [3, write(byIssuer('sign', role), bodyOf({ csr: [98, requestFor], ...leafFields }))],
  [
    8,
    write(
      one('sign-verbatim', 'sign-verbatim/a', 'sign-verbatim/absent'),
      bodyOf({
        csr: [98, requestFor],
        ...times,
        ...usages,
        format: [15, form],
        basic_constraints_valid_for_non_ca: [10, bool],
      }),
    ),
  ],
  [3, write(at('issuer', reference, '/sign-verbatim'), bodyOf({ csr: [98, requestFor], ...times, ...usages }))],
  [
    8,
    write(one('root/sign-intermediate'), bodyOf({ csr: [98, requestFor], ...authority, use_csr_values: [25, bool] })),
  ],
  [
    4,
    write(
      at('issuer', reference, '/sign-intermediate'),
      bodyOf({ csr: [98, requestFor], ...authority, use_csr_values: [25, bool] }),
    ),
  ],
  [1, write(one('root/sign-self-issued'), bodyOf({ certificate: [95, bundle] }))],
  [2, write(at('root/generate', kind), bodyOf({ ...authority, key_ref: [20, keyRef] }))],
  [1, write(at('root/rotate', kind), bodyOf(authority))],
  [
    2,
    write(
      at('intermediate/generate', kind),
      bodyOf({ ...authority, key_ref: [20, keyRef], add_basic_constraints: [20, bool] }),
    ),
  ],
  [1, write(one('root/replace'), bodyOf({ default: [80, reference] }))],
  [3, write(one('issuers/import/cert', 'issuers/import/bundle', 'config/ca'), bodyOf({ pem_bundle: [95, bundle] }))],
  [1, write(one('intermediate/set-signed'), bodyOf({ certificate: [95, bundle] }))],
  [3, ask('GET', at('issuer', reference))],
  [3, ask('GET', at('issuer', reference, '/json'))],
  [5, write(at('issuer', reference), bodyOf(issuerFields))],
  [0.3, ask('DELETE', at('issuer', reference))],
  [0.5, write(at('issuer', reference, '/revoke'), bodyOf({}))],
  [2, ask('GET', one('issuers?list=true', 'keys?list=true', 'config/issuers', 'config/keys'))],
  [1, write(one('config/issuers'), bodyOf({ default: [85, reference], default_follows_latest_issuer: [25, bool] }))],
  [1, write(one('config/keys'), bodyOf({ default: [95, keyRef] }))],
  [1, write(at('keys/generate', kind), bodyOf({ key_name: [40, one('key', 'other', '')], ...ecOnly }))],
  [
    1,
    write(
      one('keys/import'),
      bodyOf({
        pem_bundle: [95, one<unknown>(foreign[0]!.key, leaf, 'x', '', null)],
        key_name: [40, one('key', 'third')],
      }),
    ),
  ],
  [2, ask('GET', at('key', keyRef))],
  [1, write(at('key', keyRef), bodyOf({ key_name: [90, one<unknown>('key', 'other', '', 'default', 'a b', null)] }))],
  [0.3, ask('DELETE', at('key', keyRef))],
  [
    6,
    write(
      one('revoke'),
      bodyOf({ serial_number: [85, serial], certificate: [10, one('«certificate:0»', '«certificate:1»', 'x', '')] }),
    ),
  ],
  [
    2,
    write(
      one('revoke-with-key'),
      bodyOf({
        serial_number: [90, serial],
        private_key: [80, one<unknown>('«private_key:0»', '«private_key:1»', 'x', '', null)],
      }),
    ),
  ],
  [
    6,
    ask(
      'GET',
      fc.oneof(
        at('cert', one('«serial_number:0»', '«serial_number:1»', 'x', '11:22')),
        one('cert/ca', 'cert/ca_chain', 'ca_chain', 'cert/crl', 'cert/delta-crl'),
        one('ca', 'ca/pem', 'cert/ca/raw', 'cert/ca/raw/pem', 'crl', 'crl/pem', 'crl/delta', 'crl/delta/pem'),
        fc
          .tuple(one('«serial_number:0»', '«serial_number:1»', '11:22'), one('/raw', '/raw/pem'))
          .map(([name, end]) => `cert/${name}${end}`),
        fc
          .tuple(reference, one('pem', 'der', 'crl', 'crl/pem', 'crl/der', 'crl/delta', 'crl/delta/pem'))
          .map(([ref, what]) => `issuer/${plain(ref)}/${what}`),
      ),
    ),
  ],
  [1, ask('GET', one('certs?list=true', 'certs/revoked?list=true'))],
  [
    2,
    write(
      one('config/urls'),
      bodyOf({
        issuing_certificates: [50, addressesOfLists],
        crl_distribution_points: [50, addressesOfLists],
        delta_crl_distribution_points: [20, addressesOfLists],
        ocsp_servers: [50, addressesOfLists],
        enable_templating: [20, bool],
      }),
    ),
  ],
  [1, ask('GET', one('config/urls', 'config/crl', 'config/cluster', 'config/auto-tidy', 'tidy-status'))],
  [
    2,
    write(
      one('config/crl'),
      bodyOf({
        expiry: [40, often(one('72h', '24h'), one<unknown>('x', '', null, '-1h', 7))],
        disable: [20, bool],
        ocsp_disable: [15, bool],
        ocsp_expiry: [25, often(one('12h', '1h', '0s'), one<unknown>('x', null, '-1h'))],
        auto_rebuild: [25, bool],
        auto_rebuild_grace_period: [20, often(one('12h', '1h'), one<unknown>('x', '200h', null))],
        enable_delta: [20, bool],
        delta_rebuild_interval: [20, often(one('15m', '1h'), one<unknown>('x', '200h', null))],
        allow_expired_cert_revocation: [15, bool],
      }),
    ),
  ],
  [
    1,
    write(
      one('config/cluster'),
      bodyOf({
        path: [60, often(one('http://a.test/v1/pki', ''), one<unknown>('x', 'ftp://x', null))],
        aia_path: [50, often(one('http://a.test/v1/pki', ''), one<unknown>('x', null))],
      }),
    ),
  ],
  [
    2,
    write(
      one('config/auto-tidy'),
      bodyOf({
        ...tidyFields,
        enabled: [50, bool],
        interval_duration: [30, duration],
        maintain_stored_certificate_counts: [15, bool],
        publish_stored_certificate_count_metrics: [15, bool],
      }),
    ),
  ],
  [1, ask('GET', one('crl/rotate', 'crl/rotate-delta'))],
  [
    2,
    change(at('issuer', reference), bodyOf({ ...issuerFields, delta_crl_distribution_points: [10, addressesOfLists] })),
  ],
  [2, change(at('roles', role), bodyOf({ ...roleFields, key_type: [30, roleFields.key_type[1]] }))],
  [
    3,
    ask(
      'GET',
      fc.nat(4).map((n) => `ocsp/«ocsp:${n}»`),
    ),
  ],
  [0.5, ask('GET', one('ocsp/MA==', 'ocsp/eA=='))],
  [1, write(one('tidy'), bodyOf(tidyFields))],
  [0.5, write(one('tidy-cancel'), bodyOf({}))],
  [
    2,
    write(
      at('issuer', reference, '/sign-revocation-list'),
      bodyOf({
        ...listFields,
        revoked_certs: [60, often(one<unknown>([], [{ serial_number: '11:22' }], [revokedEntry]), odd)],
        extensions: [20, often(one<unknown>([], [{ id: '1.2.3.4', critical: 'false', value: 'BQA=' }]), odd)],
      }),
    ),
  ],
  [
    1,
    write(at('issuer', reference, '/resign-crls'), bodyOf({ ...listFields, crls: [80, one<unknown>([], 'x', leaf)] })),
  ],
  [1, write(one('intermediate/cross-sign'), bodyOf({ ...authority, key_type: [5, one('ec')], key_ref: [80, keyRef] }))],
  [1, write(at('issuers/generate/root', kind), bodyOf(authority))],
  [1, write(at('issuers/generate/intermediate', kind), bodyOf(authority))],
  [1, write(at('issuer', reference, '/sign-self-issued'), bodyOf({ certificate: [95, bundle] }))],
  [3, write(one('config/acme'), bodyOf(acmeFields))],
  [2, ask('GET', one('config/acme', 'eab?list=true', 'eab?list=true&limit=1'))],
  [
    2,
    write(
      directory.map((folder) => `${folder}/new-eab`),
      bodyOf({}),
    ),
  ],
  [
    2,
    ask(
      'GET',
      directory.map((folder) => `${folder}/directory`),
    ),
  ],
  [1, ask('DELETE', at('eab', one('«id:0»', '«id:1»', '6f1a55a4-6c3c-4a51-8d6b-000000000000')))],
  [0.2, ask('DELETE', one('root'))],
];

const request = fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight: Math.ceil(weight * 5), arbitrary })));

/** An OCSP request for a serial number of an authority. */
export function ocspQuestion(authorityPem: string, serial: string): string {
  const tbs = AsnConvert.parse(new X509Certificate(authorityPem).raw, Certificate).tbsCertificate;
  const sha1 = (bytes: ArrayBuffer) => new OctetString(createHash('sha1').update(Buffer.from(bytes)).digest());
  const reqCert = new CertID({
    hashAlgorithm: new AlgorithmIdentifier({ algorithm: '1.3.14.3.2.26', parameters: null }),
    issuerNameHash: sha1(AsnConvert.serialize(tbs.subject)),
    issuerKeyHash: sha1(tbs.subjectPublicKeyInfo.subjectPublicKey),
    serialNumber: new Uint8Array(Buffer.from(serial.replaceAll(':', ''), 'hex')).buffer,
  });
  const request = new OCSPRequest({ tbsRequest: new TBSRequest({ requestList: [new Request({ reqCert })] }) });
  return Buffer.from(AsnConvert.serialize(request)).toString('base64');
}

/** An authority and roles, so that later requests find existing ones. */
const beginning: readonly ComparedRequest[] = [
  {
    method: 'POST',
    path: 'root/generate/internal',
    body: { common_name: 'Root', key_type: 'ec', issuer_name: 'first', key_name: 'key', ttl: '700h' },
  },
  { method: 'POST', path: 'roles/a', body: { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'ec' } },
  {
    method: 'POST',
    path: 'roles/b',
    body: { allow_any_name: true, key_type: 'any', allowed_uri_sans: '*', allowed_other_sans: '*' },
  },
  { method: 'POST', path: 'issue/a', body: { common_name: 'a.example.com', ttl: '1h' } },
  { method: 'POST', path: 'issue/a', body: { common_name: 'b.example.com', ttl: '1h' } },
];

/** The nth run, which depends only on the seed, except for its keys. */
export const runOf = (seed: number, index: number, requests: number): ComparedRequest[] => [
  ...beginning,
  ...fc.sample(request, { numRuns: requests, seed: seed + index }),
];
