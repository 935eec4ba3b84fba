import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { outsideCall } from '@keystead/outside';
import { ensureDatabase } from '@keystead/postgres';
import { testCertificate } from '../../packages/testing/src/certificate';
import { quantile } from './figures';
import { type Ground, onGround, runProgram } from './program';
import { ask, freePort, startServiceProcess } from './service';

const rounds = 4;
const seconds = 3;
const connections = 16;
/** Each caller is somebody else: guesses at one password wait for each other here, and do not at the reference. */
const people = Array.from({ length: connections }, (_, n) => `person-${n}`);
const base = 'dc=acme,dc=example';
const audience = 'keystead';

/** A server under test: its address, who may do everything, and how it calls the header of a token. */
interface Server {
  readonly name: string;
  readonly url: string;
  readonly token: string;
}

/**
 * Logins a second by signed token, by the callback of OIDC, by LDAP and by Kubernetes, of this service and of a reference
 * server beside it (`KEYSTEAD_REFERENCE_SERVER`), in turns, with the same counterparts: an issuer of this program, an OpenLDAP,
 * and an API server (`KEYSTEAD_KUBE_APISERVER`, with `etcd` on the PATH). Both keep what they know in the same PostgreSQL, on
 * disk, and write an audit file. What is not installed is left out.
 */
async function main(ground: Ground): Promise<void> {
  const issuer = await startIssuer();
  ground.atEnd(() => issuer.close());
  const directory = await startDirectory(ground);
  const cluster = await startCluster(ground);
  const servers = [await startOwn(ground), ...(await startReference(ground))];
  for (const server of servers) await configure(server, issuer.url, directory, cluster);
  const ways: [string, LogIn][] = [
    ['jwt', (server, agent) => post(server, agent, 'auth/jwt/login', { role: 'r', jwt: issuer.token() }).then(entered)],
    [
      'oidc: address and callback',
      async (server, agent) => {
        const asked = { role: 'r', redirect_uri: 'http://localhost:8250/oidc/callback' };
        const { data } = (await post(server, agent, 'auth/oidc/oidc/auth_url', asked)) as {
          data: { auth_url: string };
        };
        const sent = new URL(data.auth_url).searchParams;
        const back = new URLSearchParams({ state: sent.get('state')!, code: sent.get('nonce')! });
        entered(await call(server, agent, 'GET', `auth/oidc/oidc/callback?${back}`));
      },
    ],
  ];
  if (directory)
    ways.push([
      'ldap',
      (server, agent, caller) =>
        post(server, agent, `auth/ldap/login/${people[caller]!}`, { password: 'right' }).then(entered),
    ]);
  if (cluster)
    ways.push([
      'kubernetes',
      (server, agent) => post(server, agent, 'auth/kubernetes/login', { role: 'r', jwt: cluster.pod }).then(entered),
    ]);
  const lines = [
    `${rounds} rounds of ${seconds} s, ${connections} connections; logins/s (p50, p99 ms), medians of rounds`,
    '',
    `| way | ${servers.map(({ name }) => name).join(' | ')} | ratio |`,
    `|---|${'---|'.repeat(servers.length + 1)}`,
  ];
  for (const [name, login] of ways) {
    const seen: { rate: number; p50: number; p99: number }[][] = servers.map(() => []);
    for (const server of servers) await load(server, login, 1);
    for (let round = 0; round < rounds; round++) {
      for (const [n, server] of servers.entries()) seen[n]!.push(await load(server, login, seconds));
    }
    const rates = seen.map((all) => median(all.map(({ rate }) => rate)));
    const cells = seen.map(
      (all, n) =>
        `${rates[n]!.toFixed(0)} (${median(all.map(({ p50 }) => p50)).toFixed(1)}, ${median(all.map(({ p99 }) => p99)).toFixed(1)})`,
    );
    const ratio = servers.length > 1 ? median(seen[0]!.map(({ rate }, n) => rate / seen[1]![n]!.rate)).toFixed(2) : '';
    lines.push(`| ${name} | ${cells.join(' | ')} | ${ratio} |`);
    process.stdout.write(`${lines.at(-1)}\n`);
  }
  process.stdout.write(`\n${lines.join('\n')}\n`);
}

const median = (list: readonly number[]): number =>
  quantile(
    [...list].sort((a, b) => a - b),
    0.5,
  );

type LogIn = (server: Server, agent: http.Agent, caller: number) => Promise<void>;

async function load(server: Server, login: LogIn, forSeconds: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  const start = performance.now();
  const end = start + forSeconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async (_, caller) => {
      while (performance.now() < end) {
        const began = performance.now();
        await login(server, agent, caller);
        times.push(performance.now() - began);
      }
    }),
  );
  const rate = (times.length * 1000) / (performance.now() - start);
  agent.destroy();
  times.sort((a, b) => a - b);
  return { rate, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

function call(server: Server, agent: http.Agent, method: string, at: string, body?: object): Promise<unknown> {
  const text = body === undefined ? '' : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
    const request = http.request(`${server.url}/v1/${at}`, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const answer = Buffer.concat(chunks).toString();
        if (response.statusCode !== 200) reject(new Error(`${server.name}: ${at}: ${response.statusCode} ${answer}`));
        else resolve(JSON.parse(answer));
      });
    });
    request.once('error', reject);
    request.end(text);
  });
}

const post = (server: Server, agent: http.Agent, at: string, body: object) => call(server, agent, 'POST', at, body);

function entered(answer: unknown): void {
  if (!(answer as { auth?: { client_token?: string } }).auth?.client_token) throw new Error('a login gave no token');
}

async function configure(server: Server, issuer: string, directory: string | undefined, cluster: Cluster | undefined) {
  const write = (at: string, body: object) =>
    ask(`${server.url}/v1/${at}`, 'POST', { 'X-Vault-Token': server.token, 'Content-Type': 'application/json' }, body);
  const params = { token_ttl: '10m', token_policies: 'of-all' };
  const user = { user_claim: 'sub', groups_claim: 'groups', ...params };
  for (const type of ['jwt', 'oidc']) {
    await write(`sys/auth/${type}`, { type });
    const client = type === 'oidc' ? { oidc_client_id: audience, oidc_client_secret: 'secret' } : {};
    await write(`auth/${type}/config`, { oidc_discovery_url: issuer, ...client });
  }
  await write('auth/jwt/role/r', { role_type: 'jwt', bound_audiences: audience, ...user });
  await write('auth/oidc/role/r', { allowed_redirect_uris: 'http://localhost:8250/oidc/callback', ...user });
  if (directory) {
    await write('sys/auth/ldap', { type: 'ldap' });
    await write('auth/ldap/config', {
      url: directory,
      binddn: `cn=admin,${base}`,
      bindpass: 'admin',
      userdn: `ou=people,${base}`,
      userattr: 'uid',
      groupdn: `ou=groups,${base}`,
      groupfilter: '(member={{.UserDN}})',
      groupattr: 'cn',
      ...params,
    });
  }
  if (!cluster) return;
  await write('sys/auth/kubernetes', { type: 'kubernetes' });
  const { address: kubernetes_host, ca: kubernetes_ca_cert, reviewer: token_reviewer_jwt } = cluster;
  await write('auth/kubernetes/config', { kubernetes_host, kubernetes_ca_cert, token_reviewer_jwt });
  const bound = { bound_service_account_names: 'web', bound_service_account_namespaces: 'default' };
  await write('auth/kubernetes/role/r', { ...bound, audience, ...params });
}

async function startOwn({ folder, postgres, atEnd }: Ground): Promise<Server> {
  const env = { SECRETS_SEAL_KEY: randomBytes(32).toString('hex'), SECRETS_AUDIT_FILE: path.join(folder, 'own.log') };
  const { url } = await startServiceProcess('secrets', env, { postgres, atEnd, cores: undefined });
  const init = { recovery_shares: 1, recovery_threshold: 1 };
  const { root_token: token } = await ask<{ root_token: string }>(`${url}/v1/sys/init`, 'PUT', {}, init);
  return { name: 'keystead', url, token };
}

async function startReference({ folder, postgres, atEnd }: Ground): Promise<Server[]> {
  const program = process.env.KEYSTEAD_REFERENCE_SERVER;
  if (!program) return [];
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await ensureDatabase(postgres.url('reference'));
  const file = path.join(folder, 'reference.hcl');
  const audit = `audit "file" "f" {\n options {\n file_path = "${folder}/reference.log"\n }\n}\n`;
  writeFileSync(
    file,
    `storage "postgresql" {\n connection_url = "${postgres.url('reference')}"\n}\nlistener "tcp" {\n address = "127.0.0.1:${port}"\n tls_disable = true\n}\napi_addr = "${url}"\n${audit}`,
  );
  const child = spawn(program, ['server', `-config=${file}`, '-log-level=error'], { stdio: 'ignore' });
  atEnd(() => child.kill('SIGKILL'));
  await until(async () => (await fetch(`${url}/v1/sys/seal-status`)).ok);
  const made = await ask<{ root_token: string; keys: string[] }>(
    `${url}/v1/sys/init`,
    'PUT',
    {},
    { secret_shares: 1, secret_threshold: 1 },
  );
  await ask(`${url}/v1/sys/unseal`, 'PUT', {}, { key: made.keys[0] });
  await until(async () => (await fetch(`${url}/v1/sys/health`)).status === 200);
  return [{ name: 'reference', url, token: made.root_token }];
}

async function startIssuer() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  let url = '';
  let counted = 0;
  const token = (more: object = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: url,
      aud: audience,
      sub: 'ada',
      groups: ['ops', 'staff'],
      iat: now,
      exp: now + 600,
      jti: String(++counted),
      ...more,
    };
    const text = `${part({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${part(claims)}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const server = http.createServer(async (request, response) => {
    const answer = (body: object) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
    if (request.url === '/keys')
      return answer({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }] });
    if (request.url === '/token') {
      let form = '';
      for await (const chunk of request) form += chunk;
      // What was asked for at the other address came back as the code.
      const nonce = new URLSearchParams(form).get('code');
      return answer({ access_token: 'a', token_type: 'Bearer', expires_in: 600, id_token: token({ nonce }) });
    }
    answer({
      issuer: url,
      jwks_uri: `${url}/keys`,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      id_token_signing_alg_values_supported: ['RS256'],
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, token, close: () => server.close().closeAllConnections() };
}

/** An OpenLDAP with a person for each caller, all in two groups, and its address. */
async function startDirectory({ folder, atEnd }: Ground): Promise<string | undefined> {
  const program = '/usr/sbin/slapd';
  if (!existsSync(program)) return undefined;
  const home = path.join(folder, 'directory');
  mkdirSync(home);
  const config = path.join(home, 'slapd.conf');
  const lines = [
    ...['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`),
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    'database mdb',
    `suffix "${base}"`,
    `rootdn "cn=admin,${base}"`,
    'rootpw admin',
    `directory ${home}`,
    'index objectClass,uid,member eq',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const entry = (dn: string, ...of: string[]) => [`dn: ${dn}`, ...of, '', ''].join('\n');
  const dnOf = (person: string) => `uid=${person},ou=people,${base}`;
  const ldif = [
    entry(base, 'objectClass: dcObject', 'objectClass: organization', 'dc: acme', 'o: Acme'),
    ...['people', 'groups'].map((ou) => entry(`ou=${ou},${base}`, 'objectClass: organizationalUnit', `ou: ${ou}`)),
    ...people.map((one) =>
      entry(dnOf(one), 'objectClass: inetOrgPerson', `uid: ${one}`, `cn: ${one}`, `sn: ${one}`, 'userPassword: right'),
    ),
    ...['ops', 'staff'].map((cn) =>
      entry(
        `cn=${cn},ou=groups,${base}`,
        'objectClass: groupOfNames',
        `cn: ${cn}`,
        ...people.map((one) => `member: ${dnOf(one)}`),
      ),
    ),
  ];
  writeFileSync(path.join(home, 'start.ldif'), ldif.join(''));
  const filled = spawn('/usr/sbin/slapadd', ['-f', config, '-l', path.join(home, 'start.ldif')], { stdio: 'ignore' });
  await new Promise((resolve) => filled.once('exit', resolve));
  const port = await freePort();
  const url = `ldap://127.0.0.1:${port}`;
  const child = spawn(program, ['-d', '0', '-f', config, '-h', url], { stdio: 'ignore' });
  atEnd(() => child.kill('SIGKILL'));
  await sleep(1000);
  return url;
}

interface Cluster {
  readonly address: string;
  readonly ca: string;
  readonly reviewer: string;
  readonly pod: string;
}

/** An API server with a service account that may ask for reviews, and one that logs in. */
async function startCluster({ folder, atEnd }: Ground): Promise<Cluster | undefined> {
  const program = process.env.KEYSTEAD_KUBE_APISERVER;
  if (!program) return undefined;
  const home = path.join(folder, 'cluster');
  mkdirSync(home);
  const file = (name: string) => path.join(home, name);
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(file('sa.key'), key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(file('sa.pub'), key.publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(file('tls.pem'), testCertificate.cert);
  writeFileSync(file('tls.key'), testCertificate.key);
  writeFileSync(file('tokens.csv'), 'admin-token,admin,admin,system:masters\n');
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const run = (command: string, args: string[]) => {
    const child = spawn(command, args, { cwd: home, stdio: 'ignore' });
    atEnd(() => child.kill('SIGKILL'));
  };
  const [store, ring] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  run('etcd', [
    ...['--data-dir', file('etcd'), '--listen-client-urls', store, '--advertise-client-urls', store],
    ...['--listen-peer-urls', ring, '--initial-advertise-peer-urls', ring, '--initial-cluster', `default=${ring}`],
  ]);
  const address = `https://127.0.0.1:${port}`;
  run(program, [
    `--etcd-servers=${store}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--tls-cert-file=${file('tls.pem')}`,
    `--tls-private-key-file=${file('tls.key')}`,
    `--token-auth-file=${file('tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    `--cert-dir=${home}`,
  ]);
  const api = async (method: 'GET' | 'POST', at: string, json?: object) => {
    const headers = { authorization: 'Bearer admin-token' };
    const answer = await outsideCall('the cluster', address + at, { method, json, headers, ca: testCertificate.cert });
    if (answer.status > 299) throw new Error(`${method} ${at}: ${answer.status} ${answer.bytes}`);
    return answer.json as { status?: { token: string } };
  };
  await until(async () => (await api('GET', '/readyz')) !== undefined || true);
  await until(async () => (await api('GET', '/api/v1/namespaces/default')) !== undefined);
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  for (const name of ['reviewer', 'web']) await api('POST', accounts, { metadata: { name } });
  await api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'reviews' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' },
    subjects: [{ kind: 'ServiceAccount', name: 'reviewer', namespace: 'default' }],
  });
  const token = async (name: string, audiences?: string[]) =>
    (
      await api('POST', `${accounts}/${name}/token`, {
        spec: { ...(audiences && { audiences }), expirationSeconds: 3600 },
      })
    ).status!.token;
  return { address, ca: testCertificate.cert, reviewer: await token('reviewer'), pod: await token('web', [audience]) };
}

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await done().catch(() => false)); tries++) {
    if (tries > 600) throw new Error('waited in vain');
    await sleep(100);
  }
}

runProgram('npx tsx bench/src/logins.ts (after a build)', () => onGround({}, main));
