import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { databaseName, ensureOwnDatabase, findEmbedded, onDatabase, startEmbedded } from '@keystead/postgres';
import { createLogger, createServer } from '@keystead/server';
import { emptyDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import request from 'supertest';
import { createService as createSecrets } from '../../secrets/src/service';
import { until } from '../../secrets/test/fresh-storage';
import { startSecrets, testConfig } from '../../secrets/test/start-secrets';
import { readConfig } from '../../workspaces/src/config';
import { createService as createWorkspaces } from '../../workspaces/src/service';
import { resource, startWorkspaces } from '../../workspaces/test/start-workspaces';
import { fieldsOf } from '../src/backup/seal';
import { keystead } from './run-keystead';

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

async function tables(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query(
      "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
    );
    return rows.map(({ relname }) => relname as string);
  } finally {
    await client.end();
  }
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

  it('is made while the service runs, readable only by its owner, and never overwrites a file', async () => {
    const args = ['backup', 'create', 'secrets', file, '--database-url', secrets.database.url];
    const made = await keystead(args, SECRETS_KEY);
    expect([made.code, made.said]).toEqual([0, '']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await keystead(args, SECRETS_KEY);
    expect([again.code, again.said]).toEqual([1, `${file} exists already\n`]);
  });

  it('contains no token, value or key in plaintext', () => {
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
    expect([wrong.code, wrong.said]).toEqual([2, 'this seal key does not decrypt the backup\n']);
  });

  // Rebuilds a changed backup with correct digests.
  const repack = (lines: string[]) => {
    const rest = lines.slice(0, -1);
    const digest = createHash('sha256')
      .update(rest.map((line) => `${line}\n`).join(''))
      .digest('hex');
    const { footer } = JSON.parse(lines.at(-1)!);
    return gzipSync(`${[...rest, JSON.stringify({ footer: { ...footer, digest } })].join('\n')}\n`);
  };
  const pack = (lines: string[]) => gzipSync(`${lines.join('\n')}\n`);
  const flipped = (bytes: Buffer, at: number) => {
    const copy = Buffer.from(bytes);
    copy[at] = copy[at]! ^ 0x40;
    return copy;
  };
  it.each<[string, (lines: string[], bytes: Buffer) => Buffer, string | RegExp]>([
    ['it is cut off after a line', (lines) => pack(lines.slice(0, -1)), 'ends early'],
    ['it is cut off', (_, bytes) => bytes.subarray(0, bytes.length >> 1), 'is damaged after line'],
    ['its last bytes are missing', (_, bytes) => bytes.subarray(0, bytes.length - 4), 'is damaged after line'],
    ['one bit is changed', (_, bytes) => flipped(bytes, bytes.length >> 1), /damaged|has been changed/],
    [
      'its keyring is changed',
      (lines) =>
        pack(
          lines.map((line) =>
            line.replace(
              /("table":"seal".*?\\\\x[0-9a-f]{80})(.)/,
              (_, start, digit) => start + (digit === '0' ? '1' : '0'),
            ),
          ),
        ),
      /damaged|has been changed/,
    ],
    ['its last bytes are changed', (_, bytes) => flipped(bytes, bytes.length - 3), 'damaged'],
    ['rows are missing', (lines) => pack(lines.filter((_, index) => index !== 3)), 'has been changed'],
    ['changed', (lines) => pack(lines.map((line, index) => (index === 2 ? `${line} ` : line))), 'has been changed'],
    ['it is some other file', () => pack(['hello']), 'is not a backup'],
    ['it is a number', () => pack(['5']), 'is not a backup'],
    [
      'it is another JSON document',
      () => pack(['{ "header": { "format": 1 } }']),
      'is not a backup that this version can read',
    ],
    [
      'it is not an archive',
      () => Buffer.from('127.0.0.1 localhost\n'),
      'is not a backup, or its beginning is damaged',
    ],
    ['empty', () => Buffer.alloc(0), 'is empty'],
    [
      'it has rows of tables that its header does not list',
      (lines) => repack(lines.map((line) => line.replace('{"batch":{"table":"entry"', '{"batch":{"table":"other"'))),
      'contains rows of other, which its header does not list',
    ],
  ])('is refused in one sentence, before the database is changed, if %s', async (_, damage, message) => {
    const broken = join(folder, 'broken.backup');
    const bytes = readFileSync(file);
    writeFileSync(broken, damage(gunzipSync(bytes).toString().trimEnd().split('\n'), bytes));
    const url = await newDatabase();
    const absent = onDatabase(url, `${databaseName(url)}_absent`);
    for (const args of [['verify'], ['restore', '--database-url', url], ['restore', '--database-url', absent]]) {
      const { code, said, printed } = await keystead(['backup', args[0]!, broken, ...args.slice(1)], SECRETS_KEY);
      expect([code, said, printed]).toEqual([1, expect.stringMatching(message), '']);
      expect(said.trim().split('\n')).toHaveLength(1);
    }
    expect(await tables(url)).toEqual([]);
    await expect(tables(absent)).rejects.toThrow('does not exist');
  });

  const without = (lines: string[]) => {
    const { mac: _mac, ...footer } = JSON.parse(lines.at(-1)!).footer;
    return repack([...lines.slice(0, -1), JSON.stringify({ footer })]);
  };
  const changedRow = (lines: string[]) => lines.map((line) => line.replace(/reader/g, 'READER'));
  it.each<[string, (lines: string[]) => Buffer, string]>([
    [
      'a changed backup with a new digest',
      (lines) => repack(changedRow(lines)),
      'changed by someone without the seal key',
    ],
    ['a changed backup without its MAC', (lines) => without(changedRow(lines)), 'was made without the seal key'],
    ['an unchanged backup without its MAC', (lines) => without(lines), 'was made without the seal key'],
  ])(
    '%s is refused with the key, and nothing is restored; without the key there is a clear warning',
    async (_, change, message) => {
      const forged = join(folder, 'forged.backup');
      const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n');
      writeFileSync(forged, change(lines));
      const url = await newDatabase();
      const server = ['--database-url', url];
      for (const args of [
        ['verify', forged],
        ['restore', forged, ...server],
        ['drill', forged, ...server],
      ]) {
        const { code, said } = await keystead(['backup', ...args], SECRETS_KEY);
        expect([args[0], code, said]).toEqual([args[0], 1, expect.stringContaining(message)]);
      }
      expect(await tables(url)).toEqual([]);
      const unproven = await keystead(['backup', 'verify', forged], {});
      expect([unproven.code, unproven.said]).toEqual([0, expect.stringContaining('NOT PROVEN')]);
      const accepted = await keystead(['backup', 'verify', forged, '--allow-unauthenticated'], SECRETS_KEY);
      const wasLeftOut = message.includes('without the seal key') && !message.includes('changed');
      expect(accepted.code).toBe(wasLeftOut ? 0 : 1);
    },
  );

  it('leaves nothing behind if it cannot be loaded, and a good file can then be restored', async () => {
    const broken = join(folder, 'unloadable.backup');
    const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n');
    // A row without its columns passes every check of the file, but the database refuses it.
    const unloadable = lines.map((line) => {
      const { batch } = JSON.parse(line);
      return batch?.table === 'policy'
        ? JSON.stringify({ batch: { ...batch, rows: batch.rows.map(() => '()') } })
        : line;
    });
    expect(unloadable).not.toEqual(lines);
    writeFileSync(broken, repack(unloadable));
    const url = await newDatabase();
    const made = onDatabase(url, `${databaseName(url)}_made`);
    for (const target of [url, made]) {
      const { code, said } = await keystead(['backup', 'restore', broken, '--database-url', target], {});
      expect([code, said]).toEqual([2, expect.stringMatching(/^the database refused this: .*\n$/)]);
    }
    expect(await tables(url)).toEqual([]);
    await expect(tables(made)).rejects.toThrow('does not exist');
    const { code, said } = await keystead(['backup', 'restore', file, '--database-url', url], {});
    expect([code, said]).toEqual([0, expect.stringContaining('restored secrets')]);
    expect(await tables(url)).toEqual(await tables(secrets.database.url));
  });

  const drillDatabases = async () => {
    const client = new pg.Client({ connectionString: secrets.database.url });
    await client.connect();
    const { rows } = await client.query("SELECT datname FROM pg_database WHERE datname LIKE 'keystead_drill_%'");
    await client.end();
    return rows;
  };
  /**
   * Other test files may run drills at the same time. Their databases disappear; only a leftover database would stay.
   */
  const noneIsLeft = () => until(async () => (await drillDatabases()).length === 0, 60_000);

  it('is tested in a separate database, which is then removed; of a folder, only the newest backup is tested', async () => {
    const kept = join(folder, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'secrets-notes.txt'), 'of people');
    const made = ['backup', 'create', 'secrets', kept, '--database-url', secrets.database.url, '--keep', '2'];
    for (let n = 0; n < 3; n += 1) expect((await keystead(made, SECRETS_KEY)).code).toBe(0);
    expect(readdirSync(kept)).toHaveLength(3);
    const drill = ['backup', 'drill', kept, '--database-url', secrets.database.url, '--format', 'json'];
    const { code, printed } = await keystead(drill, SECRETS_KEY);
    expect([code, JSON.parse(printed)]).toEqual([
      0,
      [expect.objectContaining({ service: 'secrets', opened: 20, objects: 0 })],
    ]);
    expect(JSON.parse(printed)[0].rows).toBeGreaterThan(40);
    const wrong = await keystead(drill, { SECRETS_SEAL_KEY: 'cd'.repeat(32) });
    expect([wrong.code, wrong.said]).toEqual([2, expect.stringContaining('does not decrypt the backup')]);
    await noneIsLeft();
    expect((await keystead(['backup', 'drill', folder], SECRETS_KEY)).said).toContain('contains no backup');
    expect((await keystead([...made.slice(0, -1), '0'], SECRETS_KEY)).said).toContain('--keep');
  });

  it.each([
    ['drill', () => ['backup', 'drill', file]],
    ['create', () => ['backup', 'create', 'secrets', join(folder, 'stopped.backup')]],
  ])('can be stopped during %s by Ctrl-C, which leaves nothing behind', async (_, line) => {
    const before = process.listenerCount('SIGINT');
    const running = keystead([...line(), '--database-url', secrets.database.url], SECRETS_KEY);
    while (process.listenerCount('SIGINT') === before) await setImmediate();
    process.emit('SIGINT');
    const { code, said } = await running;
    expect([code, said]).toEqual([130, expect.stringMatching(/^stopping; .*\nstopped: .* run it again\n$/)]);
    expect(process.listenerCount('SIGINT')).toBe(before);
    await noneIsLeft();
    expect(existsSync(join(folder, 'stopped.backup'))).toBe(false);
  });

  it('names the backups that were restored, and the one that could not be', async () => {
    const kept = join(folder, 'mixed');
    mkdirSync(kept);
    await keystead(['backup', 'create', 'secrets', kept, '--database-url', secrets.database.url], SECRETS_KEY);
    writeFileSync(join(kept, 'workspaces-20260101T000000000Z.backup'), 'no backup');
    const { code, printed, said } = await keystead(['backup', 'drill', kept, '--database-url', secrets.database.url], {
      ...SECRETS_KEY,
      ...WORKSPACES_KEY,
    });
    expect([code, printed]).toEqual([1, expect.stringMatching(/^service .*\nsecrets /)]);
    expect(said).toMatch(/workspaces-20260101T000000000Z\.backup.* is not a backup/);
  });

  it('is restored into the folder of a new npm start, and its service owns everything', async () => {
    const data = join(folder, 'new');
    const broken = join(folder, 'of-nothing.backup');
    writeFileSync(broken, readFileSync(file).subarray(0, -4));
    expect((await keystead(['backup', 'restore', broken, '--data', data], {})).code).toBe(1);
    expect(existsSync(data)).toBe(false);
    const restore = ['backup', 'restore', file, '--data', data];
    expect((await keystead([...restore, '--database-url', secrets.database.url], {})).said).toContain('one of them');
    expect(await keystead(restore, {})).toMatchObject({ code: 0, said: expect.stringContaining('restored secrets') });
    expect(await findEmbedded(join(data, 'postgres'))).toBeUndefined();
    expect((await keystead(restore, {})).said).toContain('is not empty');
    const server = await startEmbedded({ dataDir: join(data, 'postgres'), socket: true });
    try {
      const client = new pg.Client({ connectionString: await ensureOwnDatabase(server, 'secrets') });
      await client.connect();
      const { rows } = await client.query("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'");
      await client.end();
      expect(rows).toEqual([{ tableowner: 'secrets' }]);
      // If npm start stores the key next to its database, the command finds it without a flag.
      writeFileSync(join(data, 'secrets.key'), `${SECRETS_KEY.SECRETS_SEAL_KEY}\n`);
      const verified = await keystead(['backup', 'verify', file, '--data', data, '--format', 'json'], {
        SECRETS_SEAL_KEY: 'cd'.repeat(32),
      });
      expect(JSON.parse(verified.printed)).toMatchObject({ opened: 20 });
    } finally {
      await server.stop();
    }
  });

  it('is not restored over a service that has data', async () => {
    const { code, said } = await keystead(['backup', 'restore', file, '--database-url', secrets.database.url], {});
    expect([code, said]).toEqual([1, expect.stringMatching(/still uses the database|is not empty/)]);
  });

  it('restores everything in a new database', async () => {
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
    // A restored database without foreign keys and triggers would silently become inconsistent.
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

  it('restores organizations, tokens and sensitive variables', async () => {
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
  ])('%s is split into its columns', (row, fields) => {
    const found = fieldsOf(row, ['a', 'b', 'c']);
    expect(['a', 'b', 'c'].map((name) => found.get(name))).toEqual(fields);
  });
});
