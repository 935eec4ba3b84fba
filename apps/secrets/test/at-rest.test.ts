import { createReadStream, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { asSuperuser, testServer } from '@keystead/testing';
import pg from 'pg';
import { startSecrets } from './start-secrets';

// A copy of the database, or of its disk, must not reveal any secret.
describe('the stored data', () => {
  const secrets = startSecrets();
  const canary = (name: string) =>
    `canary-${name}-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
  const planted = new Map<string, string>();
  const plant = (name: string) => {
    const value = canary(name);
    planted.set(name, value);
    return value;
  };

  it('reveals no value, token or key in any table, in the data directory or in its log', async () => {
    const { root } = secrets;
    await root.write('cubbyhole/a', { k: plant('cubbyhole') }).expect(204);
    await root.write('sys/mounts/one', { type: 'kv', description: plant('description') }).expect(204);
    await root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
    await root.write('sys/mounts/transit', { type: 'transit' }).expect(204);
    await root.write('transit/keys/a', { exportable: true }).expect(200);
    const { keys } = (await root.read('transit/export/encryption-key/a').expect(200)).body.data;
    planted.set('transit key', keys[1]);
    await root.read('transit/wrapping_key').expect(200);
    await root.write('one/a', { k: plant('kv1') }).expect(204);
    await root.write('two/data/a', { data: { k: plant('kv2') } }).expect(200);
    await root.write('two/metadata/a', { custom_metadata: { k: plant('metadata') } }).expect(204);
    await root
      .write('sys/policies/acl/p', { policy: `path "${plant('policy')}" { capabilities = ["read"] }` })
      .expect(204);
    const made = await root
      .write('auth/token/create', { meta: { k: plant('meta') }, display_name: plant('display'), policies: ['p'] })
      .expect(200);
    planted.set('token', made.body.auth.client_token);
    planted.set('accessor', made.body.auth.accessor);
    await secrets
      .as(made.body.auth.client_token)
      .write('cubbyhole/x', { k: plant('own cubbyhole') })
      .expect(204);
    const wrapping = secrets.as(secrets.rootToken, { 'X-Service-Wrap-TTL': '5m' });
    const wrapped = await wrapping.write('sys/wrapping/wrap', { k: plant('wrapped') }).expect(200);
    planted.set('wrapping token', wrapped.body.wrap_info.token);
    await root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await root.write('auth/userpass/users/bob', { password: plant('password') }).expect(204);
    await root
      .write('scheduler/config/access', { address: 'http://127.0.0.1:1', token: plant('scheduler') })
      .expect(204);
    await root.write('cloudtwo/config/root', { access_key: plant('access'), secret_key: plant('secret') }).expect(204);
    await root.write('identity/entity', { name: 'bob', metadata: { k: plant('entity') } }).expect(200);
    const ada = await root.write('auth/userpass/login/bob', { password: planted.get('password') }).expect(200);
    const back = 'https://app.example/back';
    await root.write('sys/policies/acl/default', {
      policy: 'path "identity/oidc/provider/+/authorize" { capabilities = ["update"] }',
    });
    await root.write('identity/oidc/client/app', { redirect_uris: back, assignments: 'allow_all' }).expect(204);
    await root.write('identity/oidc/provider/default', { issuer: 'https://secrets.example' }).expect(200);
    const { client_id, client_secret } = (await root.read('identity/oidc/client/app').expect(200)).body.data;
    planted.set('client secret', client_secret);
    const asked = { client_id, redirect_uri: back, response_type: 'code', scope: 'openid', nonce: plant('nonce') };
    const at = 'identity/oidc/provider/default';
    for (const what of ['code', 'spent code']) {
      const by = secrets.as(ada.body.auth.client_token);
      planted.set(what, (await by.write(`${at}/authorize`, asked).expect(200)).body.code);
    }
    const grant = { client_id, client_secret, redirect_uri: back, grant_type: 'authorization_code' };
    const redeemed = await secrets.anonymous
      .write(`${at}/token`, { ...grant, code: planted.get('spent code') })
      .expect(200);
    planted.set('access token', redeemed.body.access_token);
    planted.set('signing keys', 'PRIVATE KEY');
    planted.set('root token', secrets.rootToken);
    planted.set('seal key', 'ab'.repeat(32));
    secrets.recoveryKeys.forEach((key, i) => {
      planted.set(`recovery key ${i}`, key);
    });

    const client = new pg.Client(await asSuperuser(secrets.database.url));
    await client.connect();
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    expect(tables.length).toBeGreaterThan(20);
    let dump = '';
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
      dump += rows.map(({ text }) => text).join('\n');
    }
    for (const [name, value] of planted) {
      for (const [form, text] of Object.entries(formsOf(value))) {
        if (dump.includes(text)) throw new Error(`a table shows the ${name} as ${form}`);
      }
    }

    await client.query('CHECKPOINT');
    const { rows } = await client.query<{ oid: number }>(
      'SELECT oid FROM pg_database WHERE datname = current_database()',
    );
    await client.end();
    const { dataDir } = await testServer();
    if (dataDir === undefined) return;
    const needles = [...planted].map(([name, value]) => ({ name, bytes: Buffer.from(value) }));
    const files = [path.join(dataDir, 'base', String(rows[0]!.oid)), path.join(dataDir, 'pg_wal')].flatMap((folder) =>
      readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(folder, entry.name)),
    );
    expect(files.length).toBeGreaterThan(50);
    let read = 0;
    for (const file of files) {
      // The server may remove files of its log at any time.
      const seen = await found(file, needles).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return undefined;
      });
      if (seen !== undefined) read++;
      expect(seen ?? []).toEqual([]);
    }
    expect(read).toBeGreaterThan(50);
  });

  function formsOf(value: string): Record<string, string> {
    const bytes = Buffer.from(value);
    return { text: value, hex: bytes.toString('hex'), base64: bytes.toString('base64').replace(/=+$/, '') };
  }

  async function found(file: string, needles: readonly { name: string; bytes: Buffer }[]): Promise<string[]> {
    const seen = new Set<string>();
    let tail = Buffer.alloc(0);
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
      const window = Buffer.concat([tail, chunk as Buffer]);
      for (const { name, bytes } of needles) if (window.includes(bytes)) seen.add(`${name} in ${path.basename(file)}`);
      tail = window.subarray(Math.max(0, window.length - 256));
    }
    return [...seen];
  }
});
