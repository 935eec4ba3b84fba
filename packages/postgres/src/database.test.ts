import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { emptyDatabase, testServer } from '../../testing/src/index';
import { addressOf, createPool, databaseName, ensureDatabase, onDatabase, serverVersion } from './index';

describe('databases', () => {
  it('are created once, even if several callers ask at the same time', async () => {
    const { name, url, drop } = await emptyDatabase();
    await drop();
    await Promise.all([1, 2, 3].map(() => ensureDatabase(url)));
    await ensureDatabase(url);
    expect(databaseName(url)).toBe(name);
    expect(await serverVersion(url)).toBeGreaterThanOrEqual(150000);
    await drop();
  });

  it('that cannot be reached are named without the password', async () => {
    const error = await serverVersion('postgresql://someone:hidden@127.0.0.1:1/things').catch((thrown) => thrown);
    expect(error.name).toBe('DatabaseUnreachable');
    expect(error.message).toMatch(/^cannot reach PostgreSQL at 127\.0\.0\.1:1\/things: /);
    expect(error.message).not.toContain('hidden');
  });

  it('are changed within a connection string without losing its options', () => {
    expect(onDatabase('postgresql://u:p@h:1/a?sslmode=require', 'b c')).toBe(
      'postgresql://u:p@h:1/b%20c?sslmode=require',
    );
    expect(addressOf('postgresql://u:p@h/a')).toBe('h:5432/a');
    expect(() => databaseName('postgresql://u:p@h/')).toThrow('names no database');
  });
});

describe('a pool', () => {
  it('returns int8 as text, and sends its name to the server', async () => {
    const { adminUrl } = await testServer();
    const pool = createPool({ url: adminUrl, applicationName: 'pool test' });
    const { rows } = await pool.query(
      "SELECT 9007199254740993::int8 AS big, current_setting('application_name') AS name",
    );
    expect(rows).toEqual([{ big: '9007199254740993', name: 'pool test' }]);
    await pool.end();
  });

  it('plans a named statement once if the options ask for it', async () => {
    const { adminUrl } = await testServer();
    const pool = createPool({ url: adminUrl, max: 1, planOnce: true });
    const find = (keys: string[]) => pool.query({ name: 'find', text: 'SELECT unnest($1::text[])', values: [keys] });
    for (const keys of [['a'], ['b'], ['c', 'd']]) expect((await find(keys)).rowCount).toBe(keys.length);
    const { rows } = await pool.query(
      "SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements WHERE name = 'find'",
    );
    expect(rows).toEqual([{ generic: 3, custom: 0 }]);
    await pool.end();
  });

  it('reads tables through their indexes if the options ask for it, even almost empty ones', async () => {
    const database = await emptyDatabase();
    const setUp = createPool({ url: database.url });
    await setUp.query('CREATE TABLE kept (name text PRIMARY KEY)');
    await setUp.query("INSERT INTO kept VALUES ('a')");
    await setUp.query('ANALYZE kept');
    await setUp.end();
    const plan = async (throughIndexes: boolean) => {
      const pool = createPool({ url: database.url, max: 1, throughIndexes });
      const { rows } = await pool.query(
        "EXPLAIN SELECT FROM kept JOIN unnest('{a,b}'::text[]) AS i(name) USING (name)",
      );
      await pool.end();
      return rows.map((row) => row['QUERY PLAN']).join();
    };
    expect(await plan(false)).toContain('Seq Scan on kept');
    expect(await plan(true)).toContain('Index');
    expect(await plan(true)).not.toContain('Seq Scan');
    await database.drop();
  });

  it('survives broken connections', async () => {
    const database = await emptyDatabase();
    const broken: string[] = [];
    const pool = createPool({ url: database.url, onIdleError: (error) => broken.push(error.message) });
    await pool.query('SELECT 1');
    const other = createPool({ url: database.url });
    await other.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() AND usename = current_user',
    );
    while (broken.length === 0) await sleep(10);
    expect(broken).toHaveLength(1);
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
    await Promise.all([pool.end(), other.end()]);
    await database.drop();
  });

  it.each([false, true])('leaves a server that no longer accepts writes (pipelined: %s)', async (pipeline) => {
    const database = await emptyDatabase();
    const pool = createPool({ url: database.url, max: 1, pipeline });
    await pool.query('CREATE TABLE kept (n int)');
    const client = await pool.connect();
    await client.query('SET default_transaction_read_only = on');
    await expect(client.query('INSERT INTO kept VALUES (1)')).rejects.toMatchObject({ code: '25006' });
    // Like callers that treat every error as an error of the statement.
    client.release();
    await pool.query('INSERT INTO kept VALUES (2)');
    expect((await pool.query('SELECT n FROM kept')).rows).toEqual([{ n: 2 }]);
    await pool.end();
    await database.drop();
  });

  it('survives a connection that breaks while it is checked out and idle', async () => {
    const database = await emptyDatabase();
    const pool = createPool({ url: database.url, max: 1 });
    const other = createPool({ url: database.url });
    const client = await pool.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    await other.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
    await ended;
    await expect(client.query('SELECT 1')).rejects.toThrow();
    client.release(true);
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
    await Promise.all([pool.end(), other.end()]);
    await database.drop();
  });

  it('ends a statement that runs too long', async () => {
    const { adminUrl } = await testServer();
    const pool = createPool({ url: adminUrl, statementSeconds: 0.1 });
    await expect(pool.query('SELECT pg_sleep(5)')).rejects.toThrow('statement timeout');
    await pool.end();
  });
});
