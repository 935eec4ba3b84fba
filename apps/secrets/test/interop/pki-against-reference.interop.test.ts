import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startOpenSsl } from '../openssl';
import { startSecrets } from '../start-secrets';
import { type Answer, type ReferenceServer, Speaker, startReferenceServer } from './reference-server';

// The same roles and certificate requests at this service and at a reference server, if KEYSTEAD_REFERENCE_SERVER names
// its program: both refuse the same requests with the same text, and their certificates are equal.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const compared = program ? it : it.skip;

const roles: Readonly<Record<string, object>> = {
  any: { allow_any_name: true },
  unenforced: { allow_any_name: true, enforce_hostnames: false },
  below: { allowed_domains: 'example.com', allow_subdomains: true },
  bare: { allowed_domains: 'example.com', allow_bare_domains: true },
  globs: { allowed_domains: '*.example.com,x*y.test', allow_glob_domains: true },
  'no-wildcards': { allow_any_name: true, allow_wildcard_certificates: false },
  'no-localhost': { allow_localhost: false },
  networks: { allow_any_name: true, allowed_ip_sans_cidr: '10.0.0.0/8' },
  'no-addresses': { allow_any_name: true, allow_ip_sans: false },
  uris: { allow_any_name: true, allowed_uri_sans: 'spiffe://a/*' },
  others: { allow_any_name: true, allowed_other_sans: '1.2.3.4;UTF8:*' },
  'any-cn': { cn_validations: 'disabled' },
  'mail-cn': { allow_any_name: true, cn_validations: 'email' },
  'no-cn': { require_cn: false },
  subject: { allow_any_name: true, country: 'DE', organization: 'Ex', ou: 'a,b', locality: 'l', province: 'p' },
  usages: { allow_any_name: true, key_usage: 'DataEncipherment', ext_key_usage: 'OCSPSigning', server_flag: false },
  constraints: { allow_any_name: true, basic_constraints_valid_for_non_ca: true, policy_identifiers: '1.2.3' },
  short: { allow_any_name: true, max_ttl: '1h' },
  'no-not-after': { allow_any_name: true, not_after_bound: 'forbid', not_before_bound: 'forbid' },
  serials: { allow_any_name: true, allowed_serial_numbers: 'A*' },
};

const requests: readonly object[] = [
  {},
  ...['a.example.com', 'example.com', 'a.b.example.com', 'aexample.com', '*.example.com', 'a*.example.com'].map(
    (common_name) => ({ common_name }),
  ),
  ...[
    '*.*.com',
    'x1y.test',
    'localhost',
    'a.localhost',
    'a b',
    'me@example.com',
    'me@evil.test',
    'a@b@example.com',
  ].map((common_name) => ({ common_name })),
  ...['-a.test', 'a..test', 'a_b.test', 'bücher.test', '10.1.2.3', 'a.test.'].map((common_name) => ({ common_name })),
  { common_name: 'a.test', alt_names: 'b.test,me@b.test,*.c.test' },
  { common_name: 'a.test', alt_names: 'b.test', exclude_cn_from_sans: true },
  { common_name: 'a.test', ip_sans: '10.1.2.3,::1' },
  { common_name: 'a.test', ip_sans: '10.1.2.3' },
  { common_name: 'a.test', ip_sans: '10.1.2' },
  { common_name: 'a.test', uri_sans: 'spiffe://a/b' },
  { common_name: 'a.test', uri_sans: 'spiffe://c' },
  { common_name: 'a.test', other_sans: '1.2.3.4;UTF8:x' },
  { common_name: 'a.test', other_sans: '1.2.3.5;UTF8:x' },
  { common_name: 'a.test', other_sans: '1.2.3.4:x' },
  { common_name: 'a.test', serial_number: 'A1' },
  { common_name: 'a.test', serial_number: 'B1' },
  { common_name: 'a.test', ttl: '1h', not_after: '2035-01-01T00:00:00Z' },
  { common_name: 'a.test', not_after: '2035-01-01T00:00:00Z' },
  { common_name: 'a.test', not_before: '2020-01-01T00:00:00Z' },
  { common_name: 'a.test', format: 'x' },
];

/** Intended differences: decision 0260. */
const meant = (role: string, { common_name: name = '' }: { common_name?: string }): boolean =>
  // An IP address as a name must be allowed as an address.
  name === '10.1.2.3' && ['no-addresses'].includes(role);

describe('certificates of a reference server', () => {
  const secrets = startSecrets();
  const { certificate: described } = startOpenSsl();
  let reference: ReferenceServer;
  let both: readonly (readonly [Speaker, string])[] = [];

  const ask = (path: string, body: object) =>
    Promise.all(both.map(([speaker, token]) => speaker.send({ method: 'POST', path: `pki/${path}`, body, token })));

  beforeAll(async () => {
    if (!program) return;
    reference = await startReferenceServer(program);
    both = [
      [new Speaker((secrets.server.address() as AddressInfo).port), secrets.rootToken],
      [reference.speaker, reference.rootToken],
    ];
    for (const [speaker, token] of both) {
      const config = { max_lease_ttl: '87600h' };
      await speaker.must({ method: 'POST', path: 'sys/mounts/pki', body: { type: 'pki', config }, token });
    }
    await ask('root/generate/internal', { common_name: 'Root', ttl: '80000h', key_type: 'ec' });
  }, 60_000);
  afterAll(() => reference?.stop());

  /** A certificate without its random parts and times. */
  const said = (pem: string): string =>
    described(pem)
      .replace(/Serial Number:\s+[0-9a-f:]+/, '')
      .replace(/Not (Before|After ?): .*/g, '')
      .replace(/^\s+([0-9a-f]{2}:)+[0-9a-f]{0,2}:?$/gm, '')
      .replace(/([0-9A-F]{2}:){15,}[0-9A-F]{2}/g, '')
      .replace(/\s+/g, ' ');

  compared.each(Object.entries(roles))('the role %s gets the same answer for every request', async (name, role) => {
    const [ours, theirs] = (await ask(`roles/${name}`, { ...role, key_type: 'ec' })) as [Answer, Answer];
    expect(ours.status).toBe(theirs.status);
    const { allow_token_displayname: _gone, ...shown } = theirs.body.data as Record<string, unknown>;
    expect(ours.body.data).toEqual(shown);
    const differences: string[] = [];
    for (const request of requests) {
      if (meant(name, request)) continue;
      const [here, there] = (await ask(`issue/${name}`, {
        ttl: 'ttl' in request || 'not_after' in request ? undefined : '30m',
        ...request,
      })) as [Answer, Answer];
      const text = ({ status, body }: Answer) =>
        status === 200
          ? said((body.data as { certificate: string }).certificate)
          : `${status} ${String(body.errors)}`.replace(/idna: .*/, 'idna');
      if (text(here) !== text(there))
        differences.push(`${JSON.stringify(request)}\n  here:  ${text(here)}\n  there: ${text(there)}`);
    }
    expect(differences).toEqual([]);
  });
});
