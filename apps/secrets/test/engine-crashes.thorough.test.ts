import { createHash, randomUUID, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { type Flow, flowsOf } from '@keystead/testing';
import { AcmeClient } from './acme-client';
import { startDnsAnswerer } from './dns-answerer';
import { until } from './fresh-storage';
import { Kills } from './kills';
import type { Answer, NodeProcess } from './nodes';
import { startOpenSsl } from './openssl';

// A node is killed before and after each commit while several callers issue and revoke certificates, rotate keys and
// encrypt. All its earlier answers must stay true: certificates are stored, revoked ones are not reported as good,
// ciphertexts can be decrypted. Normally three kills, in the long form the whole matrix.

const crowd = 6;
const many = <T>(make: (n: number) => Promise<T>) => Promise.all(Array.from({ length: crowd }, (_, n) => make(n)));
const good = (answers: readonly Answer[]) =>
  answers.filter(({ status }) => status === 200).map(({ body }) => body.data);

/** The address that ACME messages are signed for, on any node. */
const address = 'http://authority.example/v1/pki';

/** An ACME client of one node. */
class ClientOfNode extends AcmeClient {
  constructor(public node: NodeProcess) {
    super(`${address}/acme/directory`);
  }
  override async start(account: object | null = {}) {
    const { body } = await this.node.ask('GET', 'pki/acme/directory');
    this.directory = body;
    if (account) this.kid = (await this.post(body.newAccount, account)).headers.get('location')!;
    return this;
  }
  override nonce() {
    return super.nonce(this.here(this.directory.newNonce));
  }
  override send(url: string, message: unknown) {
    return super.send(this.here(url), message);
  }
  private here(url: string): string {
    return url.replace(address, `${this.node.url}/v1/pki`);
  }
}

describe('a node killed while it issues, revokes, rotates and encrypts', () => {
  const kills = new Kills(/^commit:/);
  const dns = startDnsAnswerer();
  const openssl = startOpenSsl();
  /** Answers since the last check. */
  const issued: { serial_number: string; certificate: string; ca_chain: string[] }[] = [];
  const revoked: string[] = [];
  const ciphertexts: { key: string; ciphertext: string }[] = [];
  const orders: { acme: ClientOfNode; url: string; finalize: string; csr: string }[] = [];

  beforeAll(async () => {
    await kills.start();
    await kills.write('sys/mounts/transit', { type: 'transit' });
    await kills.write('transit/keys/kept');
    await kills.write('sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
    await kills.write('pki/root/generate/internal', { common_name: 'Root', key_type: 'ec', ttl: '87600h' });
    await kills.write('pki/roles/web', { allow_any_name: true, key_type: 'ec', ttl: '24h' });
    await kills.write('pki/config/cluster', { path: address });
    await kills.write('pki/config/acme', { enabled: true, dns_resolver: dns.at() });
  }, 240_000);
  afterAll(() => kills.end());

  const asking = (node: NodeProcess, path: string, body: object = {}) => node.ask('POST', path, kills.root, body);
  const issue = async (node: NodeProcess) =>
    issued.push(...good(await many((n) => asking(node, 'pki/issue/web', { common_name: `${n}.example.com` }))));
  const encrypt = async (node: NodeProcess, key: string) => {
    const answers = await many(() => asking(node, `transit/encrypt/${key}`, { plaintext: 'aGVsbG8=' }));
    ciphertexts.push(...good(answers).map(({ ciphertext }) => ({ key, ciphertext })));
  };

  /** An order with a validated name, and its certificate request. */
  async function readyOrder() {
    const acme = await new ClientOfNode(kills.living).start();
    const name = `${randomUUID()}.example.com`;
    const { body, headers } = await acme.order(name);
    await proveByName(acme, name, body.authorizations[0]);
    const { csr } = openssl.request({ subject: '/', extensions: `subjectAltName=DNS:${name}` });
    const order = { acme, url: headers.get('location')!, finalize: body.finalize, csr: base64Of(csr) };
    orders.push(order);
    return order;
  }
  async function proveByName(acme: ClientOfNode, name: string, url: string) {
    const challenge = await showByName(acme, name, url);
    await acme.post(challenge.url, {});
    await acme.until(url, 'valid');
  }
  async function showByName(acme: ClientOfNode, name: string, url: string): Promise<{ url: string }> {
    const { challenges } = (await acme.post(url)).body;
    const challenge = challenges.find(({ type }: { type: string }) => type === 'dns-01');
    const digest = createHash('sha256').update(acme.answerTo(challenge.token)).digest('base64url');
    dns.texts.set(`_acme-challenge.${name}`, [digest]);
    return challenge;
  }

  const flows: readonly Flow<NodeProcess>[] = [
    { name: 'issue', prepare: async () => issue, sample: 'commit:after' },
    {
      name: 'revoke',
      async prepare() {
        const before = issued.length;
        await issue(kills.living);
        const serials = issued.slice(before).map(({ serial_number }) => serial_number);
        return (node) =>
          Promise.all(
            serials.map(async (serial_number) => {
              const { status } = await asking(node, 'pki/revoke', { serial_number });
              if (status === 200) revoked.push(serial_number);
            }),
          );
      },
      sample: 'commit:after',
    },
    {
      name: 'new root while others issue',
      prepare: async () => (node) =>
        Promise.all([issue(node), asking(node, 'pki/root/rotate/internal', { common_name: 'Root', key_type: 'ec' })]),
    },
    {
      name: 'new lists while others revoke',
      async prepare() {
        const before = issued.length;
        await issue(kills.living);
        const serials = issued.slice(before).map(({ serial_number }) => serial_number);
        return (node) =>
          Promise.all([
            node.ask('GET', 'pki/crl/rotate', kills.root),
            ...serials.map(async (serial_number) => {
              const { status } = await asking(node, 'pki/revoke', { serial_number });
              if (status === 200) revoked.push(serial_number);
            }),
          ]);
      },
    },
    {
      name: 'new versions while others encrypt',
      prepare: async () => (node) =>
        Promise.all([
          encrypt(node, 'kept'),
          ...[1, 2, 3].map(() => asking(node, 'transit/keys/kept/rotate')),
          encrypt(node, 'kept'),
        ]),
      sample: 'commit:after',
    },
    {
      name: 'keys made by encrypting',
      async prepare() {
        const key = randomUUID();
        return (node) => encrypt(node, key);
      },
    },
    {
      name: 'restore',
      async prepare() {
        const key = randomUUID();
        await kills.write(`transit/keys/${key}`, { exportable: true, allow_plaintext_backup: true });
        await encrypt(kills.living, key);
        const { backup } = (await kills.read(`transit/backup/${key}`)).body.data;
        return async (node) => {
          await asking(node, `transit/restore/${key}`, { backup, force: true });
          await encrypt(node, key);
        };
      },
    },
    {
      name: 'order',
      prepare: async () => {
        const acme = await new ClientOfNode(kills.living).start();
        return async (node) => {
          acme.node = node;
          await acme.order('a.example.com').catch(() => undefined);
          acme.node = kills.living;
        };
      },
    },
    {
      name: 'challenge',
      async prepare() {
        const acme = await new ClientOfNode(kills.living).start();
        const name = `${randomUUID()}.example.com`;
        const { body } = await acme.order(name);
        const [url] = body.authorizations;
        const challenge = await showByName(acme, name, url);
        return async (node) => {
          acme.node = node;
          await acme.post(challenge.url, {}).catch(() => undefined);
          acme.node = kills.living;
          // If the node died before it stored the request to validate, the client asks again.
          await acme.post(challenge.url, {});
          await kills.living.goAhead(60_000);
          await acme.until(url, 'valid');
          await kills.living.goAhead(0);
        };
      },
    },
    {
      name: 'finalize',
      async prepare() {
        const { acme, finalize, csr } = await readyOrder();
        return async (node) => {
          acme.node = node;
          await acme.post(finalize, { csr }).catch(() => undefined);
          acme.node = kills.living;
        };
      },
    },
  ];

  /** Answers that the surviving node contradicts. */
  async function look(): Promise<object> {
    const lost: string[] = [];
    for (const { serial_number, certificate } of issued) {
      const kept = await kills.read(`pki/cert/${serial_number}`);
      if (kept.body?.data?.certificate.trim() !== certificate.trim()) lost.push(`certificate ${serial_number}`);
    }
    const unfinished = await finishOrders();
    // The surviving node finishes the work of the other.
    let inLists = new Set<string>();
    await until(async () => {
      const found = await listed();
      inLists = found ?? inLists;
      return found !== undefined && found.size >= (await serialsOf('certs/revoked')).length;
    }, 60_000);
    for (const serial of revoked) {
      if (!inLists.has(serial)) lost.push(`revocation of ${serial}`);
      if ((await kills.read(`pki/cert/${serial}`)).body.data.revocation_time === 0) lost.push(`record of ${serial}`);
      if (!(await statusOf(serial)).includes('revoked')) lost.push(`status of ${serial}`);
    }
    for (const { key, ciphertext } of ciphertexts) {
      const { body } = await asking(kills.living, `transit/decrypt/${key}`, { ciphertext });
      if (body.data?.plaintext !== 'aGVsbG8=') lost.push(`ciphertext of ${key}: ${JSON.stringify(body)}`);
    }
    const serials = issued.map(({ serial_number }) => serial_number);
    const twice = serials.length - new Set(serials).size;
    for (const list of [issued, revoked, ciphertexts, orders]) list.length = 0;
    return { lost, twice, unfinished };
  }

  /** Orders are finalized again: then each has one certificate, no matter where the node died. */
  async function finishOrders(): Promise<string[]> {
    const wrong: string[] = [];
    for (const { acme, url, finalize, csr } of orders) {
      const before = await acme.post(url);
      const done = before.body.status === 'ready' ? await acme.post(finalize, { csr }) : before;
      const { text } = await acme.post(done.body.certificate ?? url);
      const again = await acme.post(finalize, { csr });
      if (done.body.status !== 'valid' || !text.startsWith('-----BEGIN') || again.status !== 403) {
        wrong.push(`${url}: ${JSON.stringify(before.body)} ${text} ${again.text}`);
        continue;
      }
      const names = (await kills.read('pki/certs/detailed?list=true')).body.data.key_info;
      const name = new X509Certificate(text).subjectAltName!.replace('DNS:', '');
      const same = Object.values(names as Record<string, { dns_names?: string[] }>).filter(({ dns_names }) =>
        dns_names?.includes(name),
      );
      if (same.length !== 1) wrong.push(`${name} has ${same.length} certificates`);
    }
    return wrong;
  }

  const serialsOf = async (path: string): Promise<string[]> =>
    (await kills.living.ask('LIST', `pki/${path}`, kills.root)).body.data?.keys ?? [];

  /** The serial numbers in the lists of all authorities; undefined while one has none. */
  async function listed(): Promise<Set<string> | undefined> {
    const found = new Set<string>();
    for (const id of await serialsOf('issuers')) {
      const answer = await kills.read(`pki/issuer/${id}/crl`);
      // The list of a new authority does not exist yet.
      if (answer.status === 204) return undefined;
      const { crl } = answer.body.data;
      const text = openssl.run('crl', '-in', openssl.file(crl), '-noout', '-text');
      for (const [, hex] of text.matchAll(/Serial Number: (\w+)/g)) found.add(colons(hex!));
    }
    return found;
  }

  async function statusOf(serial: string): Promise<string> {
    const { certificate, ca_chain } = issued.find(({ serial_number }) => serial_number === serial)!;
    const [issuer, asked] = [openssl.file(ca_chain[0]!), openssl.file('')];
    openssl.run('ocsp', '-issuer', issuer, '-cert', openssl.file(certificate), '-reqout', asked);
    const request = readFileSync(asked).toString('base64');
    const answer = await fetch(`${kills.living.url}/v1/pki/ocsp/${encodeURIComponent(request)}`);
    const answered = openssl.file(Buffer.from(await answer.arrayBuffer()));
    return openssl.run('ocsp', '-respin', answered, '-CAfile', issuer, '-resp_text', '-noverify');
  }

  it.each(flowsOf(flows))(
    'during $name loses nothing that was answered',
    (flow) => kills.withstands(flow, { lost: [], twice: 0, unfinished: [] }, look),
    3_600_000,
  );
});

const base64Of = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64url');
const colons = (hex: string) => hex.toLowerCase().replace(/..(?=.)/g, '$&:');
