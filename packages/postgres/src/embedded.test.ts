import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createPool,
  type EmbeddedServer,
  ensureDatabase,
  findEmbedded,
  isConnectionLoss,
  serverVersion,
  startEmbedded,
  withClient,
} from './index';
import { ReadOnlyServer } from './standby';

describe('embedded PostgreSQL on a socket', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-socket-'));
  const stop = async (dataDir: string) => (await findEmbedded(dataDir))?.stop({ immediate: true });
  const folders = ['with "marks", and spaces', 'deep/'.repeat(30)].map((name) => path.join(box, name, 'postgres'));
  afterAll(async () => {
    for (const folder of folders) await stop(folder);
    rmSync(box, { recursive: true, force: true });
  });

  it.each(folders)('has no port, is found again, and recovers after kill -9: %s', async (dataDir) => {
    const server = await startEmbedded({ dataDir, socket: true });
    const url = server.url('postgres');
    const { socketFolder = '' } = server;
    try {
      const listening = await withClient(url, async (client) => {
        const { rows } = await client.query(
          "SELECT current_setting('listen_addresses') AS on, inet_server_addr() AS at",
        );
        return rows;
      });
      expect(listening).toEqual([{ on: '', at: null }]);
      expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
      expect(statSync(path.join(socketFolder, '.s.PGSQL.5432')).mode & 0o777).toBe(0o700);
      expect(await findEmbedded(dataDir)).toMatchObject({ pid: server.pid, socketFolder });
      await expect(serverVersion(url.replace(/:[0-9a-f]+@/, ':wrong@'))).rejects.toThrow(
        `cannot reach PostgreSQL at ${socketFolder}/postgres: password`,
      );
      process.kill(server.pid, 'SIGKILL');
      await server.ended;
      // The pid in the lock file of the killed server may belong to another process by now.
      writeFileSync(path.join(socketFolder, '.s.PGSQL.5432.lock'), `${process.pid}\n`);
      const again = await startEmbedded({ dataDir, socket: true });
      expect(again.url('postgres')).toBe(url);
      expect(await serverVersion(url)).toBeGreaterThan(0);
    } finally {
      await stop(dataDir);
      if (socketFolder !== dataDir) rmSync(socketFolder, { recursive: true, force: true });
    }
  });
});

describe('embedded PostgreSQL', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-embedded-'));
  const dataDir = path.join(box, 'postgres');
  let server: EmbeddedServer;
  beforeAll(async () => {
    server = await startEmbedded({ dataDir });
  });
  afterAll(async () => {
    await (await findEmbedded(dataDir))?.stop({ immediate: true });
    rmSync(box, { recursive: true, force: true });
  });

  it('is a recent version that keeps its files to its owner', async () => {
    expect(await serverVersion(server.url('postgres'))).toBeGreaterThanOrEqual(180000);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(dataDir, 'superuser-password')).mode & 0o777).toBe(0o600);
  });

  it('asks for its password', async () => {
    const wrong = server.url('postgres').replace(/:[0-9a-f]+@/, ':wrong@');
    await expect(serverVersion(wrong)).rejects.toThrow(/cannot reach PostgreSQL at 127.0.0.1:\d+\/postgres: password/);
  });

  it('folds the case of letters beyond ASCII', async () => {
    await ensureDatabase(server.url('letters'));
    const lower = await withClient(server.url('letters'), (client) => client.query("SELECT lower('ÄÉ') AS letters"));
    expect(lower.rows).toEqual([{ letters: 'äé' }]);
  });

  it('is found by a second start while it runs', async () => {
    const again = await startEmbedded({ dataDir });
    expect(again).toMatchObject({ pid: server.pid, port: server.port, started: false });
  });

  it('keeps committed data after kill -9 and an immediate start', async () => {
    const url = server.url('kept');
    await ensureDatabase(url);
    await withClient(url, (client) => client.query('CREATE TABLE kept AS SELECT 42 AS answer'));
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    server = await startEmbedded({ dataDir });
    expect(server.started).toBe(true);
    const rows = await withClient(server.url('kept'), (client) => client.query('SELECT answer FROM kept'));
    expect(rows.rows).toEqual([{ answer: 42 }]);
  });

  it('does not mistake another process for itself', async () => {
    await server.stop();
    writeFileSync(path.join(dataDir, 'postmaster.pid'), `${process.pid}\n${dataDir}\n1\n5432\n\n127.0.0.1\n\nready\n`);
    server = await startEmbedded({ dataDir });
    expect(server.started).toBe(true);
    expect(await serverVersion(server.url('postgres'))).toBeGreaterThan(0);
  });

  it('stops cleanly, and notifies watchers', async () => {
    await server.stop();
    await server.ended;
    expect(existsSync(path.join(dataDir, 'postmaster.pid'))).toBe(false);
    expect(await findEmbedded(dataDir)).toBeUndefined();
  });

  it('is not taken for a server by a pool while it is a standby', async () => {
    const signal = path.join(dataDir, 'standby.signal');
    writeFileSync(signal, '');
    server = await startEmbedded({ dataDir });
    const pool = createPool({ url: server.url('postgres') });
    const error = await pool.query('SELECT 1').catch((reason: Error) => reason);
    expect([error, isConnectionLoss(error), pool.totalCount]).toEqual([expect.any(ReadOnlyServer), true, 0]);
    await withClient(server.url('postgres'), (client) => client.query('SELECT pg_promote()'));
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
    await server.stop();
  });

  it('names the reason when a fixed port is taken', async () => {
    server = await startEmbedded({ dataDir });
    const other = path.join(box, 'other');
    await expect(startEmbedded({ dataDir: other, port: server.port })).rejects.toThrow(/did not start: .*bind/);
  });

  it('leaves no partial files if the first start fails', async () => {
    const folder = path.join(box, 'file');
    writeFileSync(folder, '');
    await expect(startEmbedded({ dataDir: path.join(folder, 'postgres') })).rejects.toThrow();
    expect(existsSync(`${folder}.partial`)).toBe(false);
  });
});
