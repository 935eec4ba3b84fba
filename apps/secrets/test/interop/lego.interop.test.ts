import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer as createTlsServer, type Server } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { urlOf } from '@keystead/testing';
import { startAcme } from '../acme-world';

/** The result of a step of a session. */
interface Step {
  readonly step: string;
  readonly error?: string;
  readonly pem?: string;
  readonly now?: boolean;
  readonly status?: number;
}

const run = promisify(execFile);
const withGo = spawnSync('go', ['version']).status === 0 ? describe : describe.skip;

withGo('the ACME client lego', () => {
  const { secrets, dns, openssl, ports, base } = startAcme({ withHost: false });
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-lego-'));
  const program = path.join(folder, 'session');
  const names = createServer((req, res) => {
    let text = '';
    req.on('data', (piece) => {
      text += piece;
    });
    req.on('end', () => {
      const { name, value } = JSON.parse(text) as { name: string; value: string };
      const others = (dns.texts.get(name) ?? []).filter((one) => one !== value);
      dns.texts.set(name, req.url === '/present' ? [...others, value] : others);
      res.end();
    });
  });
  // The client connects to authorities by TLS only.
  let front: Server;
  let env: NodeJS.ProcessEnv;
  const address = () => `https://127.0.0.1:${(front.address() as AddressInfo).port}/v1/pki`;
  beforeAll(async () => {
    await new Promise<void>((resolve) => names.listen(0, '127.0.0.1', resolve));
    const key = openssl.run('genpkey', '-algorithm', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256');
    const cert = openssl.run(
      ...['req', '-x509', '-new', '-key', openssl.file(key), '-subj', '/CN=127.0.0.1', '-days', '1'],
      ...['-addext', 'subjectAltName=IP:127.0.0.1'],
    );
    const { port } = new URL(base());
    front = createTlsServer({ key, cert }, (socket) => {
      const behind = connect(Number(port), '127.0.0.1');
      socket.pipe(behind).pipe(socket);
      for (const end of [socket, behind]) end.on('error', () => end.destroy());
    });
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    env = { ...process.env, LEGO_CA_CERTIFICATES: openssl.file(cert) };
    await secrets.root.write('pki/config/cluster', { path: address() }).expect(200);
    await run('go', ['build', '-o', program, '.'], { cwd: path.join(__dirname, 'lego') });
    await secrets.root.write('pki/config/urls', { ocsp_servers: `${address()}/ocsp` }).expect(200);
  }, 900_000);
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await Promise.all([names, front].map((server) => new Promise((resolve) => server.close(resolve))));
  });
  const session = async (directory: string, ...steps: readonly string[]): Promise<Step[]> => {
    const { stdout } = await run(program, [`${address()}/${directory}/directory`, ...steps], { env });
    // The output also contains the library's log.
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line) as Step);
  };
  const verified = async (steps: readonly Step[]) => {
    const { body } = await secrets.anonymous.read('pki/cert/ca').expect(200);
    const root = openssl.file(body.data.certificate);
    const pems = steps.flatMap(({ pem }) => pem ?? []);
    for (const pem of pems) expect(openssl.run('verify', '-CAfile', root, openssl.file(pem))).toMatch(/OK/);
    return pems;
  };
  const said = (steps: readonly Step[]) => steps.map(({ pem, ...rest }) => (pem === undefined ? rest : rest.step));

  it('gets a certificate over http-01, renews it, asks for its status, and revokes it', async () => {
    const byHttp = `http=${ports.httpPort}`;
    const wanted = 'obtain=a.example.com,b.example.com';
    const steps = await session(
      ...(['acme', 'register', byHttp, wanted, 'due', 'ocsp', 'renew', 'due', 'ocsp', 'revoke'] as const),
      ...(['due', 'ocsp', 'revoke'] as const),
    );
    expect(said(steps)).toEqual([
      { step: 'register' },
      { step: 'http' },
      'obtain',
      // A new certificate is not due for renewal and is good in OCSP. A revoked certificate is due at once and is
      // revoked in OCSP.
      { step: 'due', now: false },
      { step: 'ocsp', status: 0 },
      'renew',
      { step: 'due', now: false },
      { step: 'ocsp', status: 0 },
      { step: 'revoke' },
      { step: 'due', now: true },
      { step: 'ocsp', status: 1 },
      { step: 'revoke', error: expect.stringContaining('alreadyRevoked') },
    ]);
    expect(new Set(await verified(steps)).size).toBe(2);
  }, 180_000);

  it('gets a wildcard certificate over dns-01 with an account bound by a key, and none without the key', async () => {
    await secrets.root.write('pki/config/acme', { eab_policy: 'always-required' }).expect(200);
    const { data: eab } = (await secrets.root.write('pki/roles/web/acme/new-eab').expect(200)).body;
    const byName = [`dns=${urlOf(names)},${dns.at()}`, 'obtain=*.example.com,c.example.com'];
    const [refused] = await session('roles/web/acme', 'register');
    expect(refused!.error).toContain('externalAccountRequired');
    const steps = await session('roles/web/acme', `register=${eab.id},${eab.key}`, ...byName);
    expect(said(steps)).toEqual([{ step: 'register' }, { step: 'dns' }, 'obtain']);
    const [pem] = await verified(steps);
    expect(openssl.certificate(pem!)).toContain('DNS:*.example.com, DNS:c.example.com');
  }, 180_000);
});
