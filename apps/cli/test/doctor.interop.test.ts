import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { refusePoolOfTransactions } from '@keystead/postgres';
import { emptyDatabase, freePort, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { keystead } from './run-keystead';

// A real pool before the database, where PgBouncer is installed.

const program = process.env.KEYSTEAD_PGBOUNCER ?? '/usr/sbin/pgbouncer';
const there = existsSync(program);
const withPool = there ? describe : describe.skip;
jest.setTimeout(60_000);

withPool(`a doctor behind a real pool${there ? '' : ` (skipped: ${program} is not installed)`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'pool-'));
  let database: TestDatabase;
  let pool: ChildProcess | undefined;
  beforeAll(async () => {
    chmodSync(folder, 0o755);
    database = await emptyDatabase();
  });
  afterAll(async () => {
    pool?.kill();
    rmSync(folder, { recursive: true });
    await database.drop();
  });

  const through = async (mode: string): Promise<string> => {
    pool?.kill();
    const port = await freePort();
    const url = new URL(database.url);
    const host = url.searchParams.get('host') ?? url.hostname;
    const at = `host=${host} port=${url.port || 5432} user=${url.username} password=${url.password}`;
    const settings = `[databases]\n* = ${at}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any
unix_socket_dir =\npool_mode = ${mode}\nignore_startup_parameters = extra_float_digits,options\n`;
    const file = join(folder, 'pool.ini');
    writeFileSync(file, settings, { mode: 0o644 });
    pool = spawn(program, ['-q', ...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file], { stdio: 'ignore' });
    const address = `postgresql://any:any@127.0.0.1:${port}${url.pathname}`;
    for (let tries = 0; ; tries += 1) {
      const client = new pg.Client({ connectionString: address });
      const error = await client.connect().then(
        () => client.end(),
        (reason: Error) => reason,
      );
      if (!error) return address;
      if (tries === 50) throw error;
      await sleep(100);
    }
  };
  const asked = async (url: string) => {
    const env = { SERVICE_ADDR: 'http://127.0.0.1:9', SECRETS_DATABASE_URL: url, HOME: '/nonexistent' };
    const { printed } = await keystead(['doctor', '-format=json'], env);
    return (JSON.parse(printed).findings as { what: string }[]).map(({ what }) => what);
  };

  it('recognizes transaction mode', async () => {
    expect(await asked(await through('transaction'))).toEqual(
      expect.arrayContaining([expect.stringContaining('a pool in transaction mode is in front of it')]),
    );
  });

  it('accepts session mode', async () => {
    const said = await asked(await through('session'));
    expect(said).toContain('a proxy or pool is in front of it');
    expect(said).not.toContainEqual(expect.stringContaining('transaction mode'));
  });

  it('agrees with the services, which refuse to start only in transaction mode', async () => {
    await expect(refusePoolOfTransactions(await through('transaction'))).rejects.toThrow(
      /a pool in transaction mode \(PgBouncer\) is in front of 127.0.0.1:\d+\/.*: connect to the server itself/,
    );
    await refusePoolOfTransactions(await through('session'));
    await refusePoolOfTransactions(database.url);
  });
});
