import { type ChildProcess, fork } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, freshDatabase, fromSource, heapFlags, keptInHeap, type TestDatabase } from '@keystead/testing';
import { allRows } from './database-rows';
import { stateWithOutput } from './run-fixture';
import { resource } from './start-workspaces';

interface Node {
  readonly process: ChildProcess;
  readonly url: string;
  readonly metrics: string;
  readonly folder: string;
  readonly log: string;
}

// Revoked tokens and secrets must not be found anywhere.
describe('the remains of revoked tokens and of secrets', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'traces-'));
  let database: TestDatabase;
  const nodes: Node[] = [];
  let admin = '';

  async function start(name: string): Promise<Node> {
    const own = mkdtempSync(path.join(folder, `${name}-`));
    const log = path.join(own, 'log');
    const descriptor = openSync(log, 'w');
    const [port, metrics] = [await freePort(), await freePort()];
    const child = fork(path.join(__dirname, '..', 'src', 'main.ts'), [], {
      execArgv: [...fromSource, ...heapFlags(own)],
      stdio: ['ignore', descriptor, descriptor, 'ipc'],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        WORKSPACES_PORT: String(port),
        WORKSPACES_METRICS_PORT: String(metrics),
        WORKSPACES_DATABASE_URL: database.url,
        WORKSPACES_SEAL_KEY: '07'.repeat(32),
        WORKSPACES_PUBLIC_URL: `http://127.0.0.1:${port}`,
        WORKSPACES_RATE_LIMIT: '0',
        WORKSPACES_MIGRATE: 'off',
        WORKSPACES_LOG_LEVEL: 'trace',
        WORKSPACES_FIRST_RUN_FILE: path.join(folder, 'first-run'),
      },
    });
    closeSync(descriptor);
    const node = {
      process: child,
      url: `http://127.0.0.1:${port}`,
      metrics: `http://127.0.0.1:${metrics}`,
      folder: own,
      log,
    };
    while (!readFileSync(log, 'utf8').includes('"listening"')) {
      if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return node;
  }

  beforeAll(async () => {
    database = await freshDatabase('workspaces');
    nodes.push(await start('one'), await start('other'));
    admin = (JSON.parse(readFileSync(path.join(folder, 'first-run'), 'utf8')) as { token: string }).token;
  });
  afterAll(async () => {
    for (const { process: child } of nodes) child.kill('SIGKILL');
    await database?.drop();
    rmSync(folder, { recursive: true });
  });

  const JSON_API = 'application/vnd.api+json';
  async function ask(node: Node, method: string, at: string, token?: string, body?: unknown) {
    const headers: Record<string, string> = { 'Content-Type': JSON_API };
    if (token !== undefined) headers.Authorization = `Bearer ${token}`;
    const url = at.startsWith('http') || at.startsWith('/') ? new URL(at, node.url) : `${node.url}/api/v2/${at}`;
    const sent = Buffer.isBuffer(body) ? new Uint8Array(body) : body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(url, { method, headers, body: sent });
    const text = await answer.text();
    // biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
    return { status: answer.status, body: (text.startsWith('{') ? JSON.parse(text) : text) as any };
  }
  const ok = async (asked: ReturnType<typeof ask>) => {
    const answer = await asked;
    if (answer.status >= 300) throw new Error(JSON.stringify(answer));
    return answer.body;
  };

  it('are in no heap, log, metric, environment or row of any node', async () => {
    const [one, other] = nodes as [Node, Node];
    const planted = new Map<string, string>();
    const keep = (name: string, value: string) => {
      planted.set(name, value);
      return value;
    };
    const plant = (name: string) => keep(name, `canary-${name.replace(/ /g, '-')}-${randomBytes(12).toString('hex')}`);

    await ok(ask(one, 'POST', 'organizations', admin, resource('organizations', { name: 'acme', email: 'a@b.co' })));
    const { data: web } = await ok(
      ask(one, 'POST', 'organizations/acme/workspaces', admin, resource('workspaces', { name: 'web' })),
    );
    const { data: team } = await ok(
      ask(one, 'POST', 'organizations/acme/teams', admin, resource('teams', { name: 't' })),
    );
    const grant = {
      team: { data: { type: 'teams', id: team.id } },
      workspace: { data: { type: 'workspaces', id: web.id } },
    };
    await ok(ask(one, 'POST', 'team-workspaces', admin, resource('team-workspaces', { access: 'admin' }, grant)));

    // People open a link, choose a password, sign in, and create tokens.
    const email = { email: 'ann@example.com' };
    const invited = await ok(
      ask(
        one,
        'POST',
        'organizations/acme/organization-memberships',
        admin,
        resource('organization-memberships', email, { teams: { data: [] } }),
      ),
    );
    const link = new URL(invited.meta['invite-url']).pathname.replace('/app/', '/api/v2/');
    keep('secret of an invitation', link.split('/').at(-1)!);
    await ok(ask(other, 'GET', link));
    const password = plant('password');
    await ok(ask(one, 'POST', link, undefined, resource('one-time-links', { username: 'ann', password })));
    const signIn = () => ask(other, 'POST', 'session', undefined, resource('sessions', { username: 'ann', password }));
    const { data: session } = await ok(signIn());
    const tokens: { at: string; secret: string; id: string }[] = [];
    const mint = async (at: string, by: string, attributes: object = {}) => {
      const { data } = await ok(ask(one, 'POST', at, by, resource('authentication-tokens', attributes)));
      tokens.push({ at, secret: keep(`token of ${at.split('/')[0]}`, data.attributes.token), id: data.id });
    };
    const me = session.relationships.user.data.id;
    await mint(`users/${me}/authentication-tokens`, session.attributes.token);
    await mint(`teams/${team.id}/authentication-token`, admin);
    await mint('organizations/acme/authentication-token', admin);
    keep('token of a session', session.attributes.token);

    // Sensitive values are given, used and read through the service.
    const at = `workspaces/${web.id}`;
    const sensitive = { key: 'pw', value: plant('sensitive variable'), category: 'env', sensitive: true };
    await ok(ask(one, 'POST', `${at}/vars`, tokens[1]!.secret, resource('vars', sensitive)));
    const once = { key: 'once', value: plant('plain variable'), category: 'env' };
    const { data: plain } = await ok(ask(one, 'POST', `${at}/vars`, tokens[1]!.secret, resource('vars', once)));
    await ok(ask(other, 'GET', `${at}/vars`, tokens[1]!.secret));
    await ok(ask(other, 'PATCH', `${at}/vars/${plain.id}`, tokens[1]!.secret, resource('vars', { sensitive: true })));
    const value = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
    keep('SSH key', value.split('\n')[1]!);
    await ok(ask(one, 'POST', 'organizations/acme/ssh-keys', admin, resource('ssh-keys', { name: 'k', value })));
    const oauth = { 'service-provider': 'github', 'http-url': 'https://c.test', 'api-url': 'https://a.test' };
    const connection = { ...oauth, name: 'c', 'oauth-token-string': plant('token of a provider') };
    await ok(ask(one, 'POST', 'organizations/acme/oauth-clients', admin, resource('oauth-clients', connection)));
    await ok(ask(one, 'POST', `${at}/actions/lock`, tokens[1]!.secret, {}));
    const state = stateWithOutput(1, plant('output of a state'));
    const md5 = createHash('md5').update(state).digest('hex');
    const { data: version } = await ok(
      ask(one, 'POST', `${at}/state-versions`, tokens[1]!.secret, resource('state-versions', { serial: 1, md5 })),
    );
    const upload = version.attributes['hosted-state-upload-url'] as string;
    keep('signature of a link', new URL(upload).searchParams.get('signature')!);
    await ok(ask(one, 'PUT', upload, undefined, state));
    for (const node of nodes) {
      for (let i = 0; i < 3; i++) {
        await ok(ask(node, 'GET', `${at}/current-state-version?include=outputs`, tokens[1]!.secret));
        await ok(ask(node, 'GET', `${at}?include=outputs`, tokens[1]!.secret));
        for (const { secret } of tokens) await ok(ask(node, 'GET', 'account/details', secret));
        await ok(ask(node, 'GET', 'session', session.attributes.token));
        await ok(ask(node, 'GET', 'organizations/acme/workspaces', tokens[2]!.secret));
      }
    }
    await ok(ask(one, 'POST', `${at}/actions/unlock`, tokens[1]!.secret, {}));

    for (const { id, at: where } of tokens) {
      if (where.startsWith('users'))
        await ok(ask(one, 'DELETE', `authentication-tokens/${id}`, session.attributes.token));
      else await ok(ask(one, 'DELETE', where, admin));
    }
    await ok(ask(one, 'DELETE', 'session', session.attributes.token));
    for (const node of nodes) {
      for (const { secret } of tokens) expect((await ask(node, 'GET', 'account/details', secret)).status).toBe(401);
      expect((await ask(node, 'GET', 'session', session.attributes.token)).status).toBe(401);
      // The last request of a kept connection stays in memory until the next one.
      for (let i = 0; i < 20; i++) await ask(node, 'GET', 'ping');
    }

    const found: string[] = [];
    const look = (where: string, text: string) => {
      for (const [name, secret] of planted) if (text.includes(secret)) found.push(`${name} in ${where}`);
    };
    for (const node of nodes) {
      const which = node === one ? 'the node' : 'the other node';
      const kept = await keptInHeap(node.process.pid!, node.folder, planted.values(), () => ask(node, 'GET', 'ping'));
      look(`the heap of ${which}`, kept.join('\n'));
      look(`the log of ${which}`, readFileSync(node.log, 'utf8'));
      look(`the metrics of ${which}`, await (await fetch(`${node.metrics}/metrics`)).text());
      for (const file of ['cmdline', 'environ'])
        look(`${file} of ${which}`, readFileSync(`/proc/${node.process.pid}/${file}`, 'utf8'));
    }
    const rows = Object.values(await allRows(database.url))
      .flat()
      .join('\n');
    look('the database', rows);
    for (const [name, secret] of [...planted]) planted.set(name, Buffer.from(secret).toString('hex'));
    look('the database, in hexadecimal digits', rows);
    expect(found).toEqual([]);
  });
});
