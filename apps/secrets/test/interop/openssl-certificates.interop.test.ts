import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@keystead/testing';
import { startSecrets } from '../start-secrets';
import { type Shown, TlsListener } from '../tls-listener';

const installed = hasOpenssl();
if (!installed) process.stderr.write('skipped: no openssl here, so no certificates of its authority log in\n');
const withOpenssl = installed ? describe : describe.skip;

const database = `
[ca]
default_ca = here
[here]
dir = .
database = index.txt
new_certs_dir = .
default_md = sha256
policy = any
default_crl_days = 2
crlnumber = crlnumber
rand_serial = yes
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
organizationalUnitName = optional
[req]
distinguished_name = name
[name]
`;
const authority = 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash';
const client = 'basicConstraints=CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth';
const p256 = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

// Certificates, lists and OCSP answers made by OpenSSL, as people do who run an authority by hand.
withOpenssl('login with certificates of OpenSSL', () => {
  const secrets = startSecrets();
  const tls = new TlsListener();
  const home = mkdtempSync(path.join(tmpdir(), 'openssl-'));
  const file = (name: string) => path.join(home, name);
  const text = (name: string) => readFileSync(file(name), 'utf8');
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
  const made = (name: string, ...sent: string[]): Shown => ({
    pem: [name, ...sent].map((one) => text(`${one}.pem`)).join(''),
    keyPem: text(`${name}.key`),
  });
  const request = (name: string, subject: string, key: readonly string[]) =>
    openssl(
      'req',
      '-new',
      '-newkey',
      ...key,
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      subject,
      '-config',
      'ca.cnf',
    );
  /** A certificate with its key, issued by an authority of `openssl ca`. */
  const issue = (
    name: string,
    by: string,
    extensions = client,
    key: readonly string[] = p256,
    subject = `/CN=${name}`,
    ...more: string[]
  ) => {
    request(name, subject, key);
    writeFileSync(file('ext.cnf'), extensions);
    const validity = more.length > 0 ? more : ['-days', '2'];
    openssl(
      'ca',
      '-batch',
      '-notext',
      '-config',
      'ca.cnf',
      '-cert',
      `${by}.pem`,
      '-keyfile',
      `${by}.key`,
      '-in',
      `${name}.csr`,
      '-out',
      `${name}.pem`,
      '-extfile',
      'ext.cnf',
      ...validity,
    );
  };
  const selfSigned = (name: string, subject: string, extensions: string) => {
    request(name, subject, p256);
    writeFileSync(file('ext.cnf'), extensions);
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-signkey',
      `${name}.key`,
      '-days',
      '2',
      '-out',
      `${name}.pem`,
      '-extfile',
      'ext.cnf',
    );
  };
  const login = async (shown: Shown, name = 'all') => {
    const { status, body } = await tls.send('auth/cert/login', shown, { body: { name } });
    return [status, body.errors?.[0] ?? body.auth.metadata.common_name];
  };
  const noOne = 'invalid certificate or no client certificate supplied';
  const unmet = 'no chain matching all constraints could be found for this login certificate';
  const role = (name: string, fields: object) => secrets.root.write(`auth/cert/certs/${name}`, fields).expect(204);

  beforeAll(async () => {
    writeFileSync(file('ca.cnf'), database);
    writeFileSync(file('index.txt'), '');
    writeFileSync(file('crlnumber'), '01\n');
    selfSigned('root', '/CN=OpenSSL Root', authority);
    selfSigned('other', '/CN=Other Root', authority);
    issue('between', 'root', authority);
    request('rsa-root', '/CN=RSA Root', ['rsa:3072']);
    writeFileSync(file('ext.cnf'), authority);
    openssl(
      'x509',
      '-req',
      '-in',
      'rsa-root.csr',
      '-signkey',
      'rsa-root.key',
      '-sha384',
      '-days',
      '2',
      '-out',
      'rsa-root.pem',
      '-extfile',
      'ext.cnf',
    );
    await tls.start(secrets.service.app);
    await secrets.root.write('sys/auth/cert', { type: 'cert' }).expect(204);
    await role('all', { certificate: text('root.pem') + text('rsa-root.pem') });
  }, 120_000);
  afterAll(async () => {
    await tls.stop();
    rmSync(home, { recursive: true, force: true });
  });

  it('accepts certificates with EC, RSA and Ed25519 keys, with their intermediates', async () => {
    issue('ec', 'root');
    issue('rsa', 'rsa-root', client, ['rsa:2048']);
    issue('ed', 'root', client, ['ed25519']);
    issue('p384', 'between', client, ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384']);
    for (const name of ['ec', 'rsa', 'ed']) expect(await login(made(name))).toEqual([200, name]);
    expect(await login(made('p384', 'between'))).toEqual([200, 'p384']);
    expect(await login(made('p384'))).toEqual([400, noOne]);
  });

  it('accepts RSA-PSS with a secure hash', async () => {
    for (const hash of ['sha256', 'sha1']) {
      request('pss', '/CN=pss', ['rsa:2048']);
      writeFileSync(file('ext.cnf'), client);
      openssl(
        'x509',
        '-req',
        '-in',
        'pss.csr',
        '-CA',
        'rsa-root.pem',
        '-CAkey',
        'rsa-root.key',
        '-CAcreateserial',
        '-days',
        '2',
        '-out',
        'pss.pem',
        '-extfile',
        'ext.cnf',
        `-${hash}`,
        '-sigopt',
        'rsa_padding_mode:pss',
      );
      const [status] = await login(made('pss'));
      expect([hash, status]).toEqual([hash, hash === 'sha256' ? 200 : 400]);
    }
  });

  it('refuses certificates that are expired, for servers, self-signed, or of a replaced key', async () => {
    issue('over', 'root', client, p256, '/CN=over', '-startdate', '20200101000000Z', '-enddate', '20200201000000Z');
    expect((await login(made('over')))[1]).toContain('has expired');
    issue('server', 'root', client.replace('clientAuth', 'serverAuth'));
    expect((await login(made('server')))[1]).toContain('is not for client authentication');
    selfSigned('lone', '/CN=ec', client);
    expect(await login(made('lone'))).toEqual([400, noOne]);
    await role('lone', { certificate: text('lone.pem') });
    expect(await login(made('lone'), 'lone')).toEqual([200, 'ec']);
    selfSigned('twin', '/CN=ec', client);
    expect(await login(made('twin'), 'lone')).toEqual([400, noOne]);
  });

  it('accepts the chain of either authority if two have certified an intermediate', async () => {
    writeFileSync(file('ext.cnf'), authority);
    openssl(
      'x509',
      '-req',
      '-in',
      'between.csr',
      '-CA',
      'other.pem',
      '-CAkey',
      'other.key',
      '-CAcreateserial',
      '-days',
      '2',
      '-out',
      'cross.pem',
      '-extfile',
      'ext.cnf',
    );
    await role('cross', { certificate: text('other.pem') });
    issue('deep', 'between');
    expect(await login(made('deep', 'between', 'cross'), 'cross')).toEqual([200, 'deep']);
    expect(await login(made('deep', 'between'), 'cross')).toEqual([400, noOne]);
  });

  it('reads names and extensions as OpenSSL writes them', async () => {
    const names = 'subjectAltName=DNS:a.acme.example,email:a@acme.example,URI:spiffe://acme/a,DNS:*.shop.example';
    issue(
      'named',
      'root',
      `${client}\n${names}\n1.2.3.4=ASN1:UTF8String:team a\n1.2.3.5=ASN1:INTEGER:5`,
      p256,
      '/OU=ops/CN=named',
    );
    for (const [fields, fits] of [
      [{ allowed_dns_sans: 'a.acme.*' }, true],
      [{ allowed_dns_sans: 'b.shop.example' }, false],
      [{ allowed_email_sans: '*@acme.example' }, true],
      [{ allowed_uri_sans: 'spiffe://acme/*' }, true],
      [{ allowed_organizational_units: 'ops' }, true],
      [{ required_extensions: '1.2.3.4:team*,hex:1.2.3.5:020105' }, true],
      [{ required_extensions: '1.2.3.4:tea' }, false],
    ] as const) {
      await role('named', { certificate: text('root.pem'), ...fields });
      expect([fields, (await login(made('named'), 'named'))[0]]).toEqual([fields, fits ? 200 : 400]);
      await secrets.root.delete('auth/cert/certs/named').expect(204);
    }
    const nul = `${client}\nsubjectAltName=DER:30:0C:82:0A:${Buffer.from('a.acme\0xyz').toString('hex').match(/../g)!.join(':')}`;
    issue('nul', 'root', nul);
    expect((await login(made('nul')))[1]).toContain('control characters');
  });

  it('applies CRLs made by OpenSSL', async () => {
    issue('gone', 'root');
    expect(await login(made('gone'))).toEqual([200, 'gone']);
    openssl(
      'ca',
      '-config',
      'ca.cnf',
      '-cert',
      'root.pem',
      '-keyfile',
      'root.key',
      '-revoke',
      'gone.pem',
      '-crl_reason',
      'keyCompromise',
    );
    openssl('ca', '-config', 'ca.cnf', '-cert', 'root.pem', '-keyfile', 'root.key', '-gencrl', '-out', 'list.pem');
    await secrets.root.write('auth/cert/crls/openssl', { crl: text('list.pem') }).expect(204);
    expect(await login(made('gone'))).toEqual([400, unmet]);
    expect(await login(made('ec'))).toEqual([200, 'ec']);
    const serial = BigInt(`0x${openssl('x509', '-in', 'gone.pem', '-noout', '-serial').toString().trim().slice(7)}`);
    const { body } = await secrets.root.read('auth/cert/crls/openssl').expect(200);
    expect(Object.keys(body.data.serials)).toContain(serial.toString());
    await secrets.root.delete('auth/cert/crls/openssl').expect(204);
  });

  it('asks the responder of OpenSSL', async () => {
    const port = await freePort();
    const asking = `${client}\nauthorityInfoAccess=OCSP;URI:http://127.0.0.1:${port}/`;
    issue('asked', 'root', asking);
    issue('revoked', 'root', asking);
    openssl('ca', '-config', 'ca.cnf', '-cert', 'root.pem', '-keyfile', 'root.key', '-revoke', 'revoked.pem');
    issue('responder', 'root', 'extendedKeyUsage=OCSPSigning');
    await role('asked', { certificate: text('root.pem'), ocsp_enabled: true });
    const answering = async (...args: string[]): Promise<ChildProcess> => {
      const child = spawn(
        'openssl',
        ['ocsp', '-port', String(port), '-index', 'index.txt', '-CA', 'root.pem', '-nmin', '5', ...args],
        { cwd: home, stdio: 'ignore' },
      );
      for (let tries = 0; tries < 150; tries++) {
        await sleep(100);
        const [status] = await login(made('revoked'), 'asked');
        if (status !== 502) return child;
      }
      return child;
    };
    const end = (child: ChildProcess) =>
      new Promise((resolve) => {
        child.on('exit', resolve);
        child.kill();
      });
    expect((await login(made('asked'), 'asked'))[0]).toBe(502);
    const delegated = await answering('-rsigner', 'responder.pem', '-rkey', 'responder.key');
    expect(await login(made('revoked'), 'asked')).toEqual([400, unmet]);
    expect(await login(made('asked'), 'asked')).toEqual([200, 'asked']);
    await end(delegated);
    // Cached for as long as the answer says.
    expect(await login(made('asked'), 'asked')).toEqual([200, 'asked']);
    issue('later', 'root', asking);
    const foreign = await answering('-rsigner', 'other.pem', '-rkey', 'other.key');
    const [status, said] = await login(made('later'), 'asked');
    expect([status, said]).toEqual([502, expect.stringContaining('it is not signed by the issuer')]);
    await end(foreign);
  }, 60_000);
});

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
