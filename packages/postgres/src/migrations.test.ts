import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../testing/src/index';
import { applyMigrations, pendingMigrations, withClient } from './index';

describe('applying migrations', () => {
  const made: TestDatabase[] = [];
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-migrations-'));
  let dir: string;
  let url: string;
  beforeEach(async () => {
    dir = mkdtempSync(path.join(box, 'set-'));
    const database = await emptyDatabase();
    made.push(database);
    url = database.url;
  });
  afterAll(async () => {
    await Promise.all(made.map((database) => database.drop()));
    rmSync(box, { recursive: true });
  });

  function write(name: string, script: string): void {
    mkdirSync(path.join(dir, name), { recursive: true });
    writeFileSync(path.join(dir, name, 'migration.sql'), script);
  }
  const rows = (text: string) => withClient(url, async (client) => (await client.query(text)).rows);

  it('goes by name, applies each once, and says what is pending', async () => {
    write('2_second', 'ALTER TABLE thing ADD size int; -- no final newline');
    write('1_first', 'CREATE TABLE thing (id int);\nINSERT INTO thing VALUES (1);');
    expect(await pendingMigrations({ url, dir })).toEqual(['1_first', '2_second']);
    expect(await applyMigrations({ url, dir })).toEqual({ applied: ['1_first', '2_second'], unknown: [] });
    expect(await applyMigrations({ url, dir })).toEqual({ applied: [], unknown: [] });
    expect(await pendingMigrations({ url, dir })).toEqual([]);
    expect(await rows('SELECT * FROM thing')).toEqual([{ id: 1, size: null }]);
  });

  it('lets one of several processes work and the others find nothing to do', async () => {
    write('1_slow', 'SELECT pg_sleep(0.2); CREATE TABLE once (id int);');
    const all = await Promise.all([1, 2, 3].map(() => applyMigrations({ url, dir })));
    expect(all.flatMap((one) => one.applied)).toEqual(['1_slow']);
  });

  it('undoes a failed script whole, keeps a note of it, and tries again next time', async () => {
    write('1_bad', 'CREATE TABLE half (id int); SELECT no_such_function();');
    await expect(applyMigrations({ url, dir })).rejects.toThrow(/^migration 1_bad failed: .*no_such_function/);
    expect(await rows("SELECT to_regclass('half') IS NULL AS gone")).toEqual([{ gone: true }]);
    expect(await rows('SELECT rolled_back_at IS NOT NULL AS undone, finished_at FROM _prisma_migrations')).toEqual([
      { undone: true, finished_at: null },
    ]);
    write('1_bad', 'CREATE TABLE whole (id int);');
    expect((await applyMigrations({ url, dir })).applied).toEqual(['1_bad']);
  });

  it('stops at a script that failed outside a transaction until somebody resolves it', async () => {
    write('1_table', 'CREATE TABLE t (id int); INSERT INTO t VALUES (1), (1);');
    write('2_index', 'CREATE UNIQUE INDEX CONCURRENTLY t_id ON t (id);');
    await expect(applyMigrations({ url, dir })).rejects.toThrow(/^migration 2_index failed/);
    await expect(applyMigrations({ url, dir })).rejects.toThrow(/^migration 2_index failed earlier: .*resolve/);
  });

  it('refuses a script that was edited after it was applied', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    await applyMigrations({ url, dir });
    write('1_first', 'CREATE TABLE b (id int);');
    await expect(applyMigrations({ url, dir })).rejects.toThrow('1_first was edited after it was applied');
  });

  it('names what a newer version has applied', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    write('2_newer', 'CREATE TABLE b (id int);');
    await applyMigrations({ url, dir });
    rmSync(path.join(dir, '2_newer'), { recursive: true });
    expect(await applyMigrations({ url, dir })).toEqual({ applied: [], unknown: ['2_newer'] });
  });
});
