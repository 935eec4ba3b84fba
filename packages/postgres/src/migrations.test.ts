import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../testing/src/index';
import { applyMigrations, applyMigrationsWithin, pendingMigrations, requireMigrated, withClient } from './index';

describe('applying migrations', () => {
  const databases: TestDatabase[] = [];
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-migrations-'));
  let dir: string;
  let url: string;
  beforeEach(async () => {
    dir = mkdtempSync(path.join(box, 'set-'));
    const database = await emptyDatabase();
    databases.push(database);
    url = database.url;
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
    rmSync(box, { recursive: true });
  });

  function write(name: string, script: string): void {
    mkdirSync(path.join(dir, name), { recursive: true });
    writeFileSync(path.join(dir, name, 'migration.sql'), script);
  }
  const rows = (text: string) => withClient(url, async (client) => (await client.query(text)).rows);

  it('applies each migration only once, in order of names, and lists pending ones', async () => {
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

  it('rolls back a failed script, records the failure, and tries again next time', async () => {
    write('1_bad', 'CREATE TABLE half (id int); SELECT 1 / 0;');
    await expect(applyMigrations({ url, dir })).rejects.toThrow(/^migration 1_bad failed: .*division by zero/);
    expect(await rows("SELECT to_regclass('half') IS NULL AS gone")).toEqual([{ gone: true }]);
    expect(await rows('SELECT rolled_back_at IS NOT NULL AS undone, finished_at FROM _prisma_migrations')).toEqual([
      { undone: true, finished_at: null },
    ]);
    write('1_bad', 'CREATE TABLE whole (id int);');
    expect((await applyMigrations({ url, dir })).applied).toEqual(['1_bad']);
  });

  it('repeats a script that cannot run in a transaction, wherever it stopped', async () => {
    write('1_table', 'CREATE TABLE t (id int); INSERT INTO t VALUES (1), (1);');
    write('2_index', '-- Whole.\nCREATE UNIQUE INDEX CONCURRENTLY "t_id" ON t (id);');
    await expect(applyMigrations({ url, dir })).rejects.toThrow(/^migration 2_index failed/);
    const valid = () => rows(`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 't_id'::regclass`);
    expect(await valid()).toEqual([{ valid: false }]);
    await rows('DELETE FROM t WHERE ctid = (SELECT max(ctid) FROM t)');
    expect((await applyMigrations({ url, dir })).applied).toEqual(['2_index']);
    expect(await valid()).toEqual([{ valid: true }]);
    expect((await applyMigrations({ url, dir })).applied).toEqual([]);
  });

  it('builds an index while others wait to migrate', async () => {
    write('1_table', 'CREATE TABLE t (id int);');
    write('2_index', 'CREATE INDEX CONCURRENTLY "t_id" ON t (id);');
    const all = await Promise.all([1, 2, 3, 4].map(() => applyMigrations({ url, dir })));
    expect(all.flatMap(({ applied }) => applied)).toEqual(['1_table', '2_index']);
  });

  it('gives way to long users of a table, and tries again', async () => {
    write('1_table', 'CREATE TABLE t (id int);');
    await applyMigrations({ url, dir });
    write('2_column', 'ALTER TABLE t ADD size int;');
    const applied = await withClient(url, async (holder) => {
      await holder.query('BEGIN; SELECT * FROM t');
      const migrating = applyMigrations({ url, dir });
      while ((await rows('SELECT FROM pg_locks WHERE NOT granted')).length === 0) await sleep(20);
      // Queued behind the waiting migration: it ends only when the migration gives up.
      await rows('SELECT * FROM t');
      await holder.query('COMMIT');
      return migrating;
    });
    expect(applied).toEqual({ applied: ['2_column'], unknown: [] });
  });

  it('applies all scripts in one transaction, even those that normally run outside one', async () => {
    write('1_table', 'CREATE TABLE t (id int, size int); INSERT INTO t VALUES (1);');
    write('2_index', 'CREATE INDEX CONCURRENTLY "t_id" ON t (id);');
    write('3_fill', 'DO $$ BEGIN\n  UPDATE t SET size = id;\n  COMMIT;\nEND $$;');
    await withClient(url, async (client) => {
      await client.query('BEGIN');
      await applyMigrationsWithin(client, dir);
      expect((await client.query('SELECT size FROM t')).rows).toEqual([{ size: 1 }]);
      await client.query('ROLLBACK');
    });
    expect(await pendingMigrations({ url, dir })).toHaveLength(3);
    expect((await applyMigrations({ url, dir })).applied).toHaveLength(3);
    expect(await rows('SELECT size FROM t')).toEqual([{ size: 1 }]);
  });

  it('refuses a script that was edited after it was applied', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    await applyMigrations({ url, dir });
    write('1_first', 'CREATE TABLE b (id int);');
    await expect(applyMigrations({ url, dir })).rejects.toThrow('1_first was edited after it was applied');
  });

  it('refuses migrations of a newer version by name, and changes nothing', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    write('2_newer', 'CREATE TABLE b (id int);');
    await applyMigrations({ url, dir });
    rmSync(path.join(dir, '2_newer'), { recursive: true });
    write('3_other', 'CREATE TABLE c (id int);');
    const newer = /was migrated by a newer version: 2_newer is unknown to this one; start the newer version$/;
    await expect(applyMigrations({ url, dir })).rejects.toThrow(newer);
    await expect(requireMigrated({ url, dir })).rejects.toThrow(newer);
    expect(await rows("SELECT to_regclass('c') IS NULL AS absent")).toEqual([{ absent: true }]);
    const allowed = { url, dir, allowNewer: true };
    expect(await applyMigrations(allowed)).toEqual({ applied: ['3_other'], unknown: ['2_newer'] });
    expect(await requireMigrated(allowed)).toEqual(['2_newer']);
  });

  it('can be checked by callers that must not migrate', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    await expect(requireMigrated({ url, dir })).rejects.toThrow(/lacks migration 1_first: run migrate first$/);
    expect(await rows("SELECT to_regclass('_prisma_migrations') IS NULL AS absent")).toEqual([{ absent: true }]);
    await applyMigrations({ url, dir });
    expect(await requireMigrated({ url, dir })).toEqual([]);
    write('2_second', 'CREATE TABLE b (id int);');
    await expect(requireMigrated({ url, dir })).rejects.toThrow(/lacks migration 2_second/);
    write('1_first', 'CREATE TABLE edited (id int);');
    await expect(requireMigrated({ url, dir })).rejects.toThrow('1_first was edited after it was applied');
  });
});
