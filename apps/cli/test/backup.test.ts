import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { emptyDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import request from 'supertest';
import { createService as createSecrets } from '../../secrets/src/service';
import { startSecrets, testConfig } from '../../secrets/test/start-secrets';
import { readConfig } from '../../workspaces/src/config';
import { createService as createWorkspaces } from '../../workspaces/src/service';
import { resource, startWorkspaces } from '../../workspaces/test/start-workspaces';
import { fieldsOf } from '../src/backup/seal';
import { keystead } from './run-keystead';

// Whole services start here, which takes its time on a busy machine.
jest.setTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), 'keystead-backup-'));
const log = createLogger({ name: 'restored', level: 'silent' });
const targets: TestDatabase[] = [];
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const target of targets) await target.drop();
});

async function newDatabase(): Promise<string> {
  const database = await emptyDatabase();
  targets.push(database);
  return database.url;
}

async function guards(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT conrelid::regclass::text AS place, pg_get_constraintdef(oid) AS guard FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace
     UNION ALL SELECT tgrelid::regclass::text, tgname || ' ' || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
  );
  await client.end();
  return rows;
}

const SECRETS_KEY = { SECRETS_SEAL_KEY: 'ab'.repeat(32) };
const WORKSPACES_KEY = { WORKSPACES_SEAL_KEY: '07'.repeat(32) };

describe('a backup of the secrets service', () => {
  const secrets = startSecrets();
  const file = join(folder, 'secrets.backup');
  const odd = 'quotes " and \\ back\nlines, (brackets) ünd {braces}';
  beforeAll(async () => {
    await secrets.root.write('sys/mounts/kv', { type: 'kv' }).expect(204);
    await secrets.root.write(`kv/odd, "path" (1)`, { odd }).expect(204);
    for (let n = 0; n < 40; n += 1) await secrets.root.write(`kv/many/${n}`, { n }).expect(204);
    await secrets.root.write('sys/policies/acl/reader', { policy: 'path "kv/*" { capabilities = ["read"] }' });
  });

  it('is made while the service runs, for its owner alone, and never over another file', async () => {
    const args = ['backup', 'create', 'secrets', file, '--database-url', secrets.database.url];
    const made = await keystead(args, SECRETS_KEY);
    expect([made.code, made.said]).toEqual([0, '']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await keystead(args, SECRETS_KEY);
    expect([again.code, again.said]).toEqual([1, `${file} exists already\n`]);
  });

  it('holds no token, value or key in clear', () => {
    const text = gunzipSync(readFileSync(file)).toString();
    for (const secret of [secrets.rootToken, odd.slice(0, 6), ...secrets.recoveryKeys, SECRETS_KEY.SECRETS_SEAL_KEY]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  it('is verified, with and without the key', async () => {
    const verified = await keystead(['backup', 'verify', file, '--format', 'json'], SECRETS_KEY);
    expect(JSON.parse(verified.printed)).toMatchObject({ service: 'secrets', opened: 20 });
    expect((await keystead(['backup', 'verify', file], {})).printed).toContain('none: no seal key');
    const wrong = await keystead(['backup', 'verify', file], { SECRETS_SEAL_KEY: 'cd'.repeat(32) });
    expect([wrong.code, wrong.said]).toEqual([2, 'this seal key does not open the backup\n']);
  });

  it.each([
    ['cut off', (lines: string[]) => lines.slice(0, -1), 'ends early'],
    ['missing rows', (lines: string[]) => lines.filter((_, index) => index !== 3), 'was changed'],
    [
      'changed',
      (lines: string[]) => lines.map((line) => line.replace('"many', '"many')).map((l, i) => (i === 2 ? `${l} ` : l)),
      'was changed',
    ],
    ['something else', () => ['hello'], 'is no backup'],
  ])('is refused when %s', async (_, damage, message) => {
    const damaged = join(folder, 'damaged.backup');
    const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n');
    writeFileSync(damaged, gzipSync(`${damage(lines).join('\n')}\n`));
    const { code, said } = await keystead(['backup', 'verify', damaged], SECRETS_KEY);
    expect([code, said]).toEqual([1, expect.stringContaining(message)]);
    const url = await newDatabase();
    expect((await keystead(['backup', 'restore', damaged, '--database-url', url], {})).code).toBe(1);
  });

  it('is not restored over a service that holds data', async () => {
    const { code, said } = await keystead(['backup', 'restore', file, '--database-url', secrets.database.url], {});
    expect([code, said]).toEqual([1, expect.stringMatching(/still uses the database|is not empty/)]);
  });

  it('brings everything back in a new database', async () => {
    const url = await newDatabase();
    const restored = await keystead(['backup', 'restore', file, '--database-url', url], {});
    expect([restored.code, restored.said]).toEqual([0, expect.stringContaining('restored secrets')]);
    const service = await createSecrets(testConfig(url), { log });
    const server = createServer(service.app);
    try {
      const read = (path: string) => request(server).get(`/v1/${path}`).set('X-Service-Token', secrets.rootToken);
      expect((await read('kv/odd, "path" (1)').expect(200)).body.data).toEqual({ odd });
      expect((await read('kv/many?list=true').expect(200)).body.data.keys).toHaveLength(40);
      expect((await read('sys/policies/acl/reader').expect(200)).body.data.policy).toContain('kv/*');
      expect((await read('auth/token/lookup-self').expect(200)).body.data.policies).toEqual(['root']);
    } finally {
      await service.close();
    }
    // Without its foreign keys and triggers a restored database would rot unnoticed.
    expect(await guards(url)).toEqual(await guards(secrets.database.url));
    const second = await keystead(
      ['backup', 'create', 'secrets', join(folder, 'second.backup'), '--database-url', url],
      {},
    );
    expect(second.code).toBe(0);
  });
});

describe('a backup of the workspace service', () => {
  const workspaces = startWorkspaces();
  const file = join(folder, 'workspaces.backup');

  it('brings organizations, tokens and sensitive variables back', async () => {
    await workspaces.organization('harbour');
    const { id } = await workspaces.workspace('harbour', 'cranes');
    const variable = resource('vars', { key: 'password', value: 'hunter2', category: 'env', sensitive: true });
    await workspaces.admin.post(`workspaces/${id}/vars`, variable).expect(201);
    const url = await newDatabase();
    const steps = [
      ['backup', 'create', 'workspaces', file, '--database-url', workspaces.databaseUrl],
      ['backup', 'verify', file],
      ['backup', 'restore', file, '--database-url', url],
    ];
    const ran = [];
    for (const step of steps) ran.push(await keystead(step, WORKSPACES_KEY));
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(ran[1]?.printed).toMatch(/^values opened +1$/m);
    const config = readConfig({ WORKSPACES_DATABASE_URL: url, WORKSPACES_MIGRATE: 'off', ...WORKSPACES_KEY });
    const service = await createWorkspaces(config, { log });
    try {
      const answer = await request(createServer(service.app))
        .get('/api/v2/organizations/harbour/workspaces/cranes')
        .set('Authorization', `Bearer ${workspaces.admin.token}`)
        .expect(200);
      expect(answer.body.data.id).toBe(id);
    } finally {
      await service.close();
    }
  });
});

describe('a row as PostgreSQL writes it', () => {
  it.each([
    ['(1,two,)', ['1', 'two', undefined]],
    ['("a ""quoted"" one","b, c",\\\\x00)', ['a "quoted" one', 'b, c', '\\x00']],
    ['("back\\\\slash","",end)', ['back\\slash', '', 'end']],
  ])('%s is taken apart', (row, fields) => {
    const found = fieldsOf(row, ['a', 'b', 'c']);
    expect(['a', 'b', 'c'].map((name) => found.get(name))).toEqual(fields);
  });
});
