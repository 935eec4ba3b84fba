import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { afterAll, beforeAll } from '@jest/globals';
import { freePort, urlOf } from '@keystead/testing';
import type { Config } from '../src/config';
import { AcmeClient } from './acme-client';
import { startDnsAnswerer } from './dns-answerer';
import { startOpenSsl } from './openssl';
import { type Secrets, startSecrets, testConfig } from './start-secrets';

/** A service with an ACME authority, a DNS server, and a host for all names, unless a client has its own. */
export function startAcme({ withHost = true } = {}) {
  const dns = startDnsAnswerer();
  const openssl = startOpenSsl();
  const files = new Map<string, string | ((answer: import('node:http').ServerResponse) => void)>();
  const visits: string[] = [];
  const host = createServer((req, res) => {
    visits.push(`${req.headers.host} ${req.url}`);
    const file = files.get(req.url!);
    if (typeof file === 'function') file(res);
    else res.writeHead(file === undefined ? 404 : 200).end(file);
  });
  const ports = { httpPort: 0, tlsPort: 0 };
  const config: { -readonly [K in keyof Config]?: Config[K] } = {};
  beforeAll(async () => {
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    const httpPort = withHost ? Number(new URL(urlOf(host)).port) : await freePort();
    Object.assign(ports, { httpPort, tlsPort: await freePort() });
    config.outside = {
      ...testConfig('postgres://u:p@127.0.0.1/none').outside,
      acme: { networks: ['127.0.0.0/8'], ...ports },
    };
  });
  const secrets: Secrets = startSecrets({ config });
  const base = () => `${urlOf(secrets.server)}/v1/pki`;
  beforeAll(async () => {
    await secrets.root.write('sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
    const root = { common_name: 'Root', key_type: 'ec', ttl: '87600h' };
    await secrets.root.write('pki/root/generate/internal', root).expect(200);
    await secrets.root.write('pki/config/cluster', { path: base() }).expect(200);
    await secrets.root
      .write('pki/roles/web', { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'any', ttl: '24h' })
      .expect(200);
    await secrets.root.write('pki/config/acme', { enabled: true, dns_resolver: dns.at() }).expect(200);
  });
  afterAll(() => {
    host.closeAllConnections();
    return new Promise((resolve) => host.close(resolve));
  });
  const at = (prefix: string) => new AcmeClient(`${base()}/${prefix}/directory`, undefined, secrets.saw);
  const client = (prefix = 'acme', account: object = {}) => at(prefix).start(account);
  /** A client without an account. */
  const unregistered = (prefix: string) => at(prefix).start(null);

  /** A host that serves the certificate of a TLS-ALPN challenge. */
  const showByTls = async (name: string, keyAuthorization: string): Promise<TlsServer> => {
    const digest = createHash('sha256').update(keyAuthorization).digest('hex');
    const config = openssl.file(
      `[req]\ndistinguished_name=dn\n[dn]\n[ext]\nsubjectAltName=${name}\n1.3.6.1.5.5.7.1.31=critical,DER:0420${digest}\n`,
    );
    const key = openssl.run('genpkey', '-algorithm', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256');
    const cert = openssl.run(
      ...['req', '-x509', '-new', '-key', openssl.file(key), '-subj', '/CN=x', '-days', '1'],
      ...['-config', config, '-extensions', 'ext'],
    );
    const server = createTlsServer({ key, cert, ALPNProtocols: ['acme-tls/1'] }, (socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(ports.tlsPort, '127.0.0.1', resolve));
    return server;
  };

  /** Proves all names of an order by http-01. */
  const prove = async (acme: AcmeClient, order: { readonly authorizations: readonly string[] }) => {
    for (const url of order.authorizations) {
      const { body } = await acme.post(url);
      const challenge = body.challenges.find(({ type }: { type: string }) => type === 'http-01');
      files.set(`/.well-known/acme-challenge/${challenge.token}`, acme.answerTo(challenge.token));
      await acme.post(challenge.url, {});
      await acme.until(url, 'valid', 'invalid');
    }
  };

  /** A certificate request for these names, in base64url. */
  const csrFor = (names: readonly string[], subject = '/', extensions = '', key?: readonly string[]): string => {
    const alternatives = names.map((name) => `${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`).join(',');
    const lines = [...(names.length > 0 ? [`subjectAltName=${alternatives}`] : []), extensions].join('\n');
    const { csr } = openssl.request({ subject, extensions: lines, key });
    return Buffer.from(csr.replace(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64url');
  };

  /** Creates an order, proves its names and finalizes it. */
  const obtain = async (acme: AcmeClient, ...names: readonly string[]) => {
    const order = await acme.order(...names);
    await prove(acme, order.body);
    const done = await acme.post(order.body.finalize, { csr: csrFor(names) });
    return { order, done, pem: (await acme.post(done.body.certificate)).text };
  };

  return { secrets, dns, openssl, files, visits, ports, base, client, unregistered, showByTls, prove, csrFor, obtain };
}
