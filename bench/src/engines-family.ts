import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runClients } from './child';
import { type Setting, scenariosOn } from './family';
import type { Load } from './load';
import type { Scenario } from './scenario';
import { initialised, startAudited } from './secrets-family';
import { ask, freePort, times } from './service';

const names = [
  'transit: encrypt 1 KB',
  'transit: decrypt 1 KB',
  'transit: encrypt 100 × 100 bytes',
  'transit: sign ed25519',
  'transit: verify ed25519',
  'pki: issue ec-p256',
  'pki: issue ec-p256, not kept',
  'pki: sign of a request, not kept',
  'pki: OCSP of a kept certificate',
  'ssh: sign ed25519',
  'totp: code',
  'totp: validate',
  'database: credentials of PostgreSQL',
  'pki: ACME orders by dns-01',
] as const;

/** The engines that sign and encrypt, with the file audit device on. */
export async function enginesFamily(setting: Setting): Promise<Scenario[]> {
  if (!names.some(setting.isSelected)) return [];
  const service = await startAudited(setting, 'engines');
  const headers = { 'X-Service-Token': await initialised(service.url), 'Content-Type': 'application/json' };
  const write = async <T>(at: string, body: object = {}): Promise<T> =>
    (await ask<{ data: T }>(`${service.url}/v1/${at}`, 'POST', headers, body))?.data;
  for (const type of ['transit', 'pki', 'ssh', 'totp', 'database']) await write(`sys/mounts/${type}`, { type });
  const text = (bytes: number) => Buffer.alloc(bytes, 'x').toString('base64');

  await write('transit/keys/bench');
  await write('transit/keys/signs', { type: 'ed25519' });
  const { ciphertext } = await write<{ ciphertext: string }>('transit/encrypt/bench', { plaintext: text(1024) });
  const { signature } = await write<{ signature: string }>('transit/sign/signs', { input: text(100) });

  const { certificate: issuer } = await write<{ certificate: string }>('pki/root/generate/internal', {
    common_name: 'Bench',
    key_type: 'ec',
  });
  const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
  await write('pki/roles/kept', role);
  await write('pki/roles/free', { ...role, no_store: true });
  const { certificate } = await write<{ certificate: string }>('pki/issue/kept', { common_name: 'a.example.com' });
  const { csr, ocsp } = requests(setting.folder, issuer, certificate);

  await write('ssh/config/ca', { key_type: 'ed25519' });
  await write('ssh/roles/users', { key_type: 'ca', allow_user_certificates: true, allowed_users: '*', ttl: '1h' });
  const public_key = sshLine();
  await write('totp/keys/bench', { generate: true, issuer: 'bench', account_name: 'bench' });

  if (setting.isSelected(names[12])) await connectDatabase(setting, write);
  const resolver = `127.0.0.1:${await freePort()}`;
  await write('pki/config/cluster', { path: `${service.url}/v1/pki` });
  await write('pki/config/acme', { enabled: true, dns_resolver: resolver });

  const scenario = scenariosOn(service, setting.generator);
  const codes = oneTimeCodes(service.url, headers);
  const post = (name: (typeof names)[number], at: string, body: object, more: Partial<Scenario> = {}) =>
    scenario(name, { method: 'POST', paths: [`/v1/${at}`], headers, body: JSON.stringify(body) }, more);
  const leaf = { common_name: 'a.example.com' };
  return [
    post(names[0], 'transit/encrypt/bench', { plaintext: text(1024) }),
    post(names[1], 'transit/decrypt/bench', { ciphertext }),
    post(names[2], 'transit/encrypt/bench', {
      batch_input: Array.from({ length: 100 }, () => ({ plaintext: text(100) })),
    }),
    post(names[3], 'transit/sign/signs', { input: text(100) }),
    post(names[4], 'transit/verify/signs', { input: text(100), signature }),
    post(names[5], 'pki/issue/kept', leaf, { ceiling: 'upsert' }),
    post(names[6], 'pki/issue/free', leaf),
    post(names[7], 'pki/sign/free', { ...leaf, csr }),
    scenario(names[8], { method: 'GET', paths: [`/v1/pki/ocsp/${encodeURIComponent(ocsp)}`] }),
    post(names[9], 'ssh/sign/users', { public_key, valid_principals: 'jane' }),
    scenario(names[10], { method: 'GET', paths: ['/v1/totp/code/bench'], headers }),
    {
      name: names[11],
      pid: service.pid,
      prepare: codes.make,
      run: (connections, seconds) => setting.generator.run(service.url, codes.load(), connections, seconds, 0),
    },
    scenario(names[12], { method: 'GET', paths: ['/v1/database/creds/bench'], headers }, { ceiling: 'user' }),
    {
      name: names[13],
      pid: service.pid,
      run: (connections, seconds) => {
        const directory = `${service.url}/v1/pki/roles/kept/acme/directory`;
        return runClients('acme-clients.ts', [directory, resolver, String(connections), String(seconds)], undefined);
      },
    },
  ];
}

type Write = <T>(at: string, body?: object) => Promise<T>;

async function connectDatabase({ postgres }: Setting, write: Write): Promise<void> {
  await write('database/config/bench', {
    plugin_name: 'postgresql-database-plugin',
    connection_url: postgres.url('ceilings'),
    allowed_roles: '*',
    max_open_connections: 32,
  });
  await write('database/roles/bench', {
    db_name: 'bench',
    creation_statements: `CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}' IN ROLE bench`,
    default_ttl: '1h',
  });
}

/** Makes loads of valid codes. A code is valid once, so there are more keys than a run has requests. */
function oneTimeCodes(url: string, headers: Record<string, string>) {
  let count = 0;
  let code = '';
  let paths: string[] = [];
  // All have one key, and a period that outlasts the run.
  const key = { key: 'JBSWY3DPEHPK3PXP', period: '87600h', issuer: 'bench', account_name: 'bench' };
  return {
    async make(connections: number, seconds: number): Promise<void> {
      const first = count;
      count += Math.min(2000 * connections, 8000) * Math.max(1, Math.ceil(seconds));
      await times(count - first, (n) => ask(`${url}/v1/totp/keys/k${first + n}`, 'POST', headers, key));
      paths = Array.from({ length: count - first }, (_, n) => `/v1/totp/code/k${first + n}`);
      ({ code } = (await ask<{ data: { code: string } }>(`${url}${paths[0]}`, 'GET', headers)).data);
    },
    load: (): Load => ({ method: 'POST', paths, headers, body: JSON.stringify({ code }) }),
  };
}

/** A request for a certificate, and one for the status of a certificate, by OpenSSL. */
function requests(folder: string, issuer: string, certificate: string): { csr: string; ocsp: string } {
  const at = (name: string) => path.join(folder, name);
  writeFileSync(at('issuer.pem'), issuer);
  writeFileSync(at('leaf.pem'), certificate);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' });
  openssl('ocsp', '-issuer', at('issuer.pem'), '-cert', at('leaf.pem'), '-no_nonce', '-reqout', at('request.der'));
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
  const csr = openssl('req', '-new', ...key, '-subj', '/CN=a.example.com');
  return { csr, ocsp: readFileSync(at('request.der')).toString('base64') };
}

/** The public half of a new key, as OpenSSH writes it. */
function sshLine(): string {
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const parts = [Buffer.from('ssh-ed25519'), Buffer.from(x!, 'base64url')];
  const blob = parts.map((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return Buffer.concat([length, part]);
  });
  return `ssh-ed25519 ${Buffer.concat(blob).toString('base64')}`;
}
