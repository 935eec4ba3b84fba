import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { freshDatabase, heapFlags, keptInHeap, type TestDatabase } from '@keystead/testing';
import { type Answer, initialise, type NodeProcess, startNode } from './nodes';

// Revoked tokens and deleted secrets must not be found anywhere.
describe('traces of a revoked token and of deleted secrets', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'traces-'));
  let database: TestDatabase;
  const nodes: { node: NodeProcess; folder: string; log: string; audit: string }[] = [];
  let root = '';

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    for (const name of ['one', 'other']) {
      const own = mkdtempSync(path.join(folder, `${name}-`));
      const [log, audit] = [path.join(own, 'log'), path.join(own, 'audit.log')];
      const descriptor = openSync(log, 'w');
      const env = { SECRETS_LOG_LEVEL: 'trace', SECRETS_AUDIT_FILE: audit };
      const node = await startNode(database.url, env, { flags: heapFlags(own), log: descriptor });
      closeSync(descriptor);
      nodes.push({ node, folder: own, log, audit });
      if (root === '') root = (await initialise(node)).token;
    }
  });
  afterAll(async () => {
    await Promise.all(nodes.map(({ node }) => node.kill()));
    await database?.drop();
    rmSync(folder, { recursive: true });
  });

  const ok = async (asked: Promise<Answer>) => {
    const answer = await asked;
    if (answer.status >= 300 || answer.status === 0) throw new Error(JSON.stringify(answer));
    return answer.body;
  };
  const allRows = (url: string) =>
    withClient(url, async (client) => {
      const { rows: tables } = await client.query<{ name: string }>(
        `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
      );
      const rows: string[] = [];
      for (const { name } of tables) {
        const { rows: found } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
        rows.push(...found.map(({ text }) => text));
      }
      return rows;
    });
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  it('are in no heap, log, metric, environment or row of any node', async () => {
    const planted = new Map<string, string>();
    const plant = (name: string) => {
      const value = `canary-${name}-${randomBytes(12).toString('hex')}`;
      planted.set(name, value);
      return value;
    };
    const [{ node: one }, { node: other }] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    await ok(one.ask('POST', 'sys/mounts/two', root, { type: 'kv', options: { version: '2' } }));
    await ok(one.ask('POST', 'sys/mounts/old', root, { type: 'kv' }));
    await ok(one.ask('POST', 'sys/auth/userpass', root, { type: 'userpass' }));
    const rules = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }';
    await ok(one.ask('POST', 'sys/policies/acl/all', root, { policy: rules }));
    await ok(one.ask('POST', 'auth/userpass/users/ann', root, { password: plant('password'), token_policies: 'all' }));

    const login = await ok(
      one.ask('POST', 'auth/userpass/login/ann', undefined, { password: planted.get('password') }),
    );
    const made = await ok(one.ask('POST', 'auth/token/create', root, { policies: ['all'], ttl: '1h' }));
    const tokens = [login.auth.client_token, made.auth.client_token] as string[];
    planted.set('token of a login', tokens[0]!);
    planted.set('token', tokens[1]!);
    planted.set('accessor of a login', login.auth.accessor);
    planted.set('accessor', made.auth.accessor);

    for (const token of tokens) {
      const own = plant(`cubbyhole of ${tokens.indexOf(token)}`);
      const kept = [plant(`kv 1 of ${tokens.indexOf(token)}`), plant(`kv 2 of ${tokens.indexOf(token)}`)];
      const at = `of-${tokens.indexOf(token)}`;
      await ok(one.ask('POST', 'cubbyhole/a', token, { own }));
      await ok(one.ask('POST', `old/${at}`, token, { k: kept[0] }));
      await ok(one.ask('POST', `two/data/${at}`, token, { data: { k: kept[1] } }));
      for (const { node } of nodes) {
        for (let i = 0; i < 3; i++) {
          await ok(node.ask('GET', 'auth/token/lookup-self', token));
          await ok(node.ask('POST', 'auth/token/lookup', token, { token }));
          await ok(node.ask('GET', 'cubbyhole/a', token));
          await ok(node.ask('GET', `old/${at}`, token));
          await ok(node.ask('GET', `two/data/${at}`, token));
        }
      }
      const headers = { 'X-Service-Token': token, 'X-Service-Wrap-TTL': '5m' };
      const body = JSON.stringify({ w: plant(`wrapped ${tokens.indexOf(token)}`) });
      const answer = await fetch(`${one.url}/v1/sys/wrapping/wrap`, { method: 'POST', headers, body });
      const wrapping = ((await answer.json()) as { wrap_info: { token: string } }).wrap_info.token;
      planted.set(`wrapping token ${tokens.indexOf(token)}`, wrapping);
      await ok(other.ask('POST', 'sys/wrapping/unwrap', wrapping));
      await ok(one.ask('DELETE', `old/${at}`, token));
      await ok(one.ask('DELETE', `two/metadata/${at}`, token));
      await ok(one.ask('POST', 'auth/token/revoke-self', token));
    }
    await ok(one.ask('DELETE', 'auth/userpass/users/ann', root));
    await until(async () => (await other.ask('GET', 'auth/token/lookup-self', tokens[1]!)).status === 403);
    await until(async () => (await other.ask('GET', 'auth/token/lookup-self', tokens[0]!)).status === 403);
    // A kept connection references its last requests until the next ones.
    for (const { node } of nodes) {
      for (let i = 0; i < 20; i++) await node.ask('GET', 'sys/seal-status');
    }

    const found: string[] = [];
    const look = (where: string, text: string) => {
      for (const [name, value] of planted) if (text.includes(value)) found.push(`${name} in ${where}`);
    };
    for (const { node, folder: own, log, audit } of nodes) {
      const kept = await keptInHeap(node.pid, own, planted.values(), () => node.ask('GET', 'sys/health'));
      const which = node === one ? 'the node' : 'the other node';
      look(`the heap of ${which}`, kept.join('\n'));
      look(`the log of ${which}`, readFileSync(log, 'utf8'));
      look(`the audit log of ${which}`, readFileSync(audit, 'utf8'));
      for (const file of ['cmdline', 'environ'])
        look(`${file} of ${which}`, readFileSync(`/proc/${node.pid}/${file}`, 'utf8'));
      look('the metrics', JSON.stringify(await ok(node.ask('GET', 'sys/metrics', root))));
    }
    look('the database', (await allRows(database.url)).join('\n'));
    expect(found).toEqual([]);
  });
});
