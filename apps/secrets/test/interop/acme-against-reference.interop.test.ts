import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AcmeClient, type AcmeReply, jwkOf, signed } from '../acme-client';
import { startOpenSsl } from '../openssl';
import { startSecrets } from '../start-secrets';
import { type ReferenceServer, Speaker, startReferenceServer } from './reference-server';

// ACME at this service and at a reference server, if KEYSTEAD_REFERENCE_SERVER names its program: directories, nonces,
// accounts, bindings and orders, except validations. Decision 0261 lists the intended differences.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const compared = program ? it : it.skip;
const prefixes = ['acme', 'roles/web/acme', 'issuer/default/acme', 'issuer/default/roles/web/acme'];

interface Side {
  readonly speaker: Speaker;
  readonly token: string;
  readonly base: string;
}

/** The steps on both servers; `say` records a value to compare. */
type Scene = (side: Side, prefix: string, say: (what: string, shown: unknown) => void) => Promise<void>;

const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;
/** Members that one of the two leaves out or orders differently. */
const unsaid = [
  'detail',
  'subproblems',
  'renewalInfo',
  'termsOfServiceAgreed',
  'orders',
  'key',
  'externalAccountBinding',
];

function shown(value: unknown, { base }: Side): unknown {
  if (Array.isArray(value))
    return value
      .map((one) => shown(one, { base } as Side))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name, one]) => !unsaid.includes(name) && one !== null && !(Array.isArray(one) && one.length === 0))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, one]) => [
          name,
          ['expires', 'token', 'created_on'].includes(name) ? typeof one : shown(one, { base } as Side),
        ]),
    );
  }
  return typeof value === 'string' ? value.replace(base, '«base»').replace(uuid, '«id»') : value;
}

/**
 * An answer without random parts and without the messages of refusals; the reference sends some refusals without a
 * nonce.
 */
const plain = (side: Side, { status, body, headers }: AcmeReply) =>
  !String(body?.type).startsWith('urn:')
    ? {
        status,
        media: headers.get('content-type')?.split(';')[0],
        nonce: headers.has('replay-nonce'),
        location: shown(headers.get('location') ?? '', side),
        body: shown(body, side),
      }
    : { refused: body.type.split(':').at(-1), media: headers.get('content-type') };

const bodies: readonly object[] = [
  {},
  { contact: ['mailto:a@example.com'] },
  { contact: ['tel:1'] },
  { contact: ['mailto:'] },
  { contact: 7 },
  { contact: [] },
  { termsOfServiceAgreed: true },
  { onlyReturnExisting: true },
  { status: 'deactivated' },
  { unknown: 1 },
];

const orders: readonly unknown[] = [
  [{ type: 'dns', value: 'a.example.com' }],
  [
    { type: 'dns', value: 'a.example.com' },
    { type: 'dns', value: 'b.example.com' },
  ],
  [{ type: 'dns', value: 'A.Example.com' }],
  [{ type: 'dns', value: '*.example.com' }],
  [{ type: 'dns', value: '*.*.example.com' }],
  [{ type: 'dns', value: 'evil.test' }],
  [{ type: 'dns', value: 'a..example.com' }],
  [{ type: 'dns', value: '' }],
  [{ type: 'dns', value: 'a b.example.com' }],
  [{ type: 'dns', value: '10.1.2.3' }],
  [{ type: 'ip', value: '10.1.2.3' }],
  [{ type: 'ip', value: '::1' }],
  [{ type: 'ip', value: 'a.example.com' }],
  [{ type: 'mail', value: 'a@example.com' }],
  [{ type: 'dns' }],
  [{ value: 'a.example.com' }],
  [7],
  [],
  7,
  undefined,
];

const scenes: Readonly<Record<string, Scene>> = {
  async directories(side, prefix, say) {
    const answer = await fetch(`${side.base}/${prefix}/directory`);
    say('directory', [
      answer.status,
      answer.headers.get('content-type')?.split(';')[0],
      shown(await answer.json(), side),
    ]);
    for (const method of ['HEAD', 'GET']) {
      const nonce = await fetch(`${side.base}/${prefix}/new-nonce`, { method });
      const { headers } = nonce;
      say(`${method} new-nonce`, [nonce.status, headers.has('replay-nonce'), headers.get('cache-control')]);
    }
    for (const at of ['new-account', 'new-order', 'revoke-cert', 'order/x', 'nothing']) {
      say(`GET ${at}`, (await fetch(`${side.base}/${prefix}/${at}`)).status >= 400);
    }
  },
  async accounts(side, prefix, say) {
    for (const body of bodies) {
      const acme = await new AcmeClient(`${side.base}/${prefix}/directory`).start(null);
      const { newAccount } = acme.directory;
      const first = await acme.post(newAccount, body);
      say(`account ${JSON.stringify(body)}`, plain(side, first));
      if (first.status !== 201) continue;
      say(`again ${JSON.stringify(body)}`, plain(side, await acme.post(newAccount, { onlyReturnExisting: true })));
      acme.kid = first.headers.get('location')!;
      say(`read ${JSON.stringify(body)}`, plain(side, await acme.post(acme.kid)));
      say(
        `another contact ${JSON.stringify(body)}`,
        plain(side, await acme.post(acme.kid, { contact: ['mailto:b@example.com'] })),
      );
      say(`another state ${JSON.stringify(body)}`, plain(side, await acme.post(acme.kid, { status: 'revoked' })));
      say(`orders ${JSON.stringify(body)}`, plain(side, await acme.post(newAccount.replace('new-account', 'orders'))));
      say(`given up ${JSON.stringify(body)}`, plain(side, await acme.post(acme.kid, { status: 'deactivated' })));
      say(`order of one given up ${JSON.stringify(body)}`, plain(side, await acme.order('a.example.com')));
    }
  },
  async messages(side, prefix, say) {
    const acme = await new AcmeClient(`${side.base}/${prefix}/directory`).start({});
    const other = await new AcmeClient(`${side.base}/${prefix}/directory`).start({});
    const url = acme.kid!;
    const tried: readonly [string, Parameters<AcmeClient['post']>[2]][] = [
      ['no nonce', { header: { nonce: undefined } }],
      ['an invented nonce', { header: { nonce: 'AAAA' } }],
      ['another URL', { header: { url: acme.directory.newOrder } }],
      ['no URL', { header: { url: undefined } }],
      ['another account', { header: { kid: other.kid } }],
      ['no account', { header: { kid: `${url}x` } }],
      ['both', { header: { jwk: jwkOf(acme.key) } }],
      ['neither', { header: { kid: undefined } }],
      ['no algorithm', { header: { alg: 'none' }, signature: () => Buffer.alloc(0) }],
      ['a symmetric algorithm', { header: { alg: 'HS256' } }],
      ['an extension', { header: { crit: ['exp'], exp: 1 } }],
      ['no signature', { signature: () => Buffer.alloc(0) }],
    ];
    for (const [what, changed] of tried) say(what, plain(side, await acme.post(url, undefined, changed)));
    const nonce = await acme.nonce();
    const message = signed({ alg: 'ES256', nonce, url, kid: url }, undefined, acme.key);
    say('once', plain(side, await acme.send(url, message)));
    say('twice', plain(side, await acme.send(url, message)));
    for (const wrong of [{}, [], 'x', { protected: 'e30', payload: '', signature: '' }]) {
      say(`message ${JSON.stringify(wrong)}`, plain(side, await acme.send(url, wrong)));
    }
    say('of another', plain(side, await other.post(url)));
  },
  async orders(side, prefix, say) {
    const acme = await new AcmeClient(`${side.base}/${prefix}/directory`).start({});
    const other = await new AcmeClient(`${side.base}/${prefix}/directory`).start({});
    for (const identifiers of orders) {
      const made = await acme.post(acme.directory.newOrder, { identifiers });
      say(`order ${JSON.stringify(identifiers)}`, plain(side, made));
      if (made.status !== 201) continue;
      const at = made.headers.get('location')!;
      say(`read ${JSON.stringify(identifiers)}`, plain(side, await acme.post(at)));
      say(`read by another ${JSON.stringify(identifiers)}`, plain(side, await other.post(at)));
      for (const authorization of made.body.authorizations ?? []) {
        const read = await acme.post(authorization);
        say(`authorization ${JSON.stringify(identifiers)}`, plain(side, read));
        say(`authorization of another ${JSON.stringify(identifiers)}`, plain(side, await other.post(authorization)));
        for (const { url } of read.body.challenges)
          say(`challenge ${JSON.stringify(identifiers)}`, plain(side, await acme.post(url)));
      }
      say(`certificate ${JSON.stringify(identifiers)}`, plain(side, await acme.post(`${at}/cert`)));
      say(
        `finalize ${JSON.stringify(identifiers)}`,
        plain(side, await acme.post(made.body.finalize, { csr: csrOf() })),
      );
      say(
        `finalize without a request ${JSON.stringify(identifiers)}`,
        plain(side, await acme.post(made.body.finalize, {})),
      );
      const [first] = made.body.authorizations ?? [];
      if (!first) continue;
      say(`given up ${JSON.stringify(identifiers)}`, plain(side, await acme.post(first, { status: 'deactivated' })));
      say(`order of one given up ${JSON.stringify(identifiers)}`, plain(side, await acme.post(at)));
    }
    say('no order', plain(side, await acme.post(`${side.base}/${prefix}/order/x`)));
    say('no authorization', plain(side, await acme.post(`${side.base}/${prefix}/authorization/x`)));
    for (const body of [{}, { certificate: 'AAAA' }, { certificate: csrOf(), reason: 7 }]) {
      say(`revoke ${JSON.stringify(body).slice(0, 40)}`, plain(side, await acme.post(acme.directory.revokeCert, body)));
    }
  },
  async bindings(side, prefix, say) {
    const ask = (path: string, body?: object, method = 'POST') =>
      side.speaker.send({ method, path: `pki/${path}`, body, token: side.token });
    for (const eab_policy of ['new-account-required', 'always-required', 'not-required']) {
      await ask('config/acme', { eab_policy });
      const at = `${side.base}/${prefix}/directory`;
      const start = () => new AcmeClient(at).start(null);
      const bare = await start();
      say(`${eab_policy}: directory`, shown(bare.directory.meta, side));
      say(`${eab_policy}: none`, plain(side, await bare.post(bare.directory.newAccount, {})));
      const made = await ask(`${prefix}/new-eab`, {});
      const eab = made.body.data as { id: string; key: string };
      say(`${eab_policy}: key`, [
        made.status,
        shown({ ...eab, id: '«id»' }, side),
        Buffer.from(eab.key, 'base64url').length,
      ]);
      const attempts: readonly [string, (acme: AcmeClient, url: string) => unknown][] = [
        ['wrong key', (acme, url) => acme.binding({ ...eab, key: 'AAAA' }, url)],
        ['wrong id', (acme, url) => acme.binding({ ...eab, id: '11111111-1111-4111-8111-111111111111' }, url)],
        ['wrong URL', (acme) => acme.binding(eab, acme.directory.newOrder)],
        ['key of another account', (_acme, url) => bare.binding(eab, url)],
        ['no JWS', () => 7],
        ['right', (acme, url) => acme.binding(eab, url)],
        ['used', (acme, url) => acme.binding(eab, url)],
      ];
      for (const [what, binding] of attempts) {
        const acme = await start();
        const { newAccount: url } = acme.directory;
        const answer = await acme.post(url, { externalAccountBinding: binding(acme, url) });
        say(`${eab_policy}: ${what}`, plain(side, answer));
        if (answer.status !== 201) continue;
        acme.kid = answer.headers.get('location')!;
        say(`${eab_policy}: order`, plain(side, await acme.order('a.example.com')));
      }
      const spare = (await ask(`${prefix}/new-eab`, {})).body.data as { id: string };
      say(`${eab_policy}: list`, (await ask('eab?list=true', undefined, 'GET')).status);
      say(`${eab_policy}: deleted`, (await ask(`eab/${spare.id}`, undefined, 'DELETE')).status);
      say(`${eab_policy}: empty`, (await ask('eab?list=true', undefined, 'GET')).status);
    }
  },
  async settings(side, prefix, say) {
    const ask = (body: object) =>
      side.speaker.send({ method: 'POST', path: 'pki/config/acme', body, token: side.token });
    const back = {
      default_directory_policy: 'sign-verbatim',
      allowed_roles: ['*'],
      allowed_issuers: ['*'],
      enabled: true,
    };
    for (const body of [
      { default_directory_policy: 'forbid' },
      { default_directory_policy: 'role:web' },
      { default_directory_policy: 'role:absent' },
      { default_directory_policy: 'x' },
      { allowed_roles: ['other'] },
      { allowed_roles: ['web'] },
      { allowed_issuers: ['default'] },
      { allowed_issuers: ['absent'] },
      { enabled: false },
      { eab_policy: 'x' },
      { allow_role_ext_key_usage: true },
    ]) {
      const { status } = await ask(body);
      say(`config ${JSON.stringify(body)}`, status < 300);
      const answer = await fetch(`${side.base}/${prefix}/directory`);
      say(`config ${JSON.stringify(body)}: directory`, answer.status < 300);
      if (answer.status === 200) {
        const acme = await new AcmeClient(`${side.base}/${prefix}/directory`).start({});
        for (const name of ['a.example.com', 'evil.test'])
          say(`config ${JSON.stringify(body)}: order ${name}`, plain(side, await acme.order(name)));
      }
      await ask({ ...back, allow_role_ext_key_usage: false });
    }
  },
};

const without = (text: string, member: RegExp) => text.replace(member, '');

/** Intended differences. */
const meant: readonly ((what: string, here: string, there: string) => boolean)[] = [
  // Client errors are not answered as server errors, and have the type of RFC 8555.
  (_what, here, there) =>
    here.includes('"refused"') && /"refused":"(serverInternal|malformed|unauthorized)"|"errors":/.test(there),
  // Only email addresses are accepted as contacts, and accounts show them.
  (what, here) => /"contact":/.test(what) && /"(unsupported|invalid)Contact"/.test(here),
  (what, here, there) =>
    /^(read|given up) /.test(what) &&
    [here, there].map((one) => without(one, /"contact":\[[^\]]*\],/)).every((one, _at, all) => one === all[0]),
  // Unknown states and empty orders are refused; an account can read only itself.
  (what, here) => /^another state|^order \[\]/.test(what) && here.includes('"malformed"'),
  (what, here) => what === 'of another' && here.includes('"unauthorized"'),
  // Host names ignore case.
  (what, here) => what.includes('A.Example.com') && here.includes('"a.example.com"'),
  // A pending authorization shows when it expires; a deactivated one still shows its challenges.
  (what, here, there) =>
    /^authorization /.test(what) && without(here, /"expires":"string",/) === without(there, /,"wildcard":false/),
  // IP addresses can also be validated by TLS (RFC 8738).
  (what, here) => /^(authorization|challenge) .*"ip"/.test(what) && here.includes('"tls-alpn-01"'),
  (what, here, there) =>
    /given up /.test(what) && [here, there].every((one) => /"status":"(deactivated|invalid)"/.test(one)),
  (what, here, there) => /: deleted$/.test(what) && here === '204' && there === '200',
];

let csrOf: () => string = () => '';

describe('ACME of a reference server', () => {
  const secrets = startSecrets();
  const openssl = startOpenSsl();
  let reference: ReferenceServer;
  let sides: readonly Side[] = [];

  beforeAll(async () => {
    if (!program) return;
    reference = await startReferenceServer(program);
    const { port } = secrets.server.address() as AddressInfo;
    sides = [
      { speaker: new Speaker(port), token: secrets.rootToken, base: `http://127.0.0.1:${port}/v1/pki` },
      { speaker: reference.speaker, token: reference.rootToken, base: `${reference.address}/v1/pki` },
    ];
    const { csr } = openssl.request({ subject: '/', extensions: 'subjectAltName=DNS:a.example.com' });
    csrOf = () => Buffer.from(csr.replace(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64url');
    const role = { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'any', ttl: '24h' };
    const headers = { allowed_response_headers: ['Last-Modified', 'Location', 'Replay-Nonce', 'Link'] };
    for (const { speaker, token, base } of sides) {
      const must = (path: string, body: object) => speaker.must({ method: 'POST', path, body, token });
      await must('sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
      await must('sys/mounts/pki/tune', headers);
      await must('pki/root/generate/internal', { common_name: 'Root', ttl: '80000h', key_type: 'ec' });
      await must('pki/config/cluster', { path: base });
      for (const name of ['web', 'other']) await must(`pki/roles/${name}`, role);
      await must('pki/config/acme', { enabled: true });
    }
  }, 60_000);
  afterAll(() => reference?.stop());

  compared.each(Object.keys(scenes).flatMap((scene) => prefixes.map((prefix) => [scene, prefix] as const)))(
    '%s in the directory %s get the same answers',
    async (scene, prefix) => {
      const [ours, theirs] = (await Promise.all(
        sides.map(async (side) => {
          const said = new Map<string, string>();
          await scenes[scene]!(side, prefix, (what, one) => said.set(what, JSON.stringify(one)));
          return said;
        }),
      )) as [Map<string, string>, Map<string, string>];
      const differences = [...ours].flatMap(([what, here]) => {
        const there = theirs.get(what);
        if (there === undefined || there === here || meant.some((fits) => fits(what, here, there))) return [];
        return [`${what}\n  here:  ${here}\n  there: ${there}`];
      });
      process.stdout.write(`${ours.size} answers\n`);
      expect(differences).toEqual([]);
    },
    120_000,
  );
});
