import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findProgram, freePort } from '@keystead/testing';
import { createClient } from '@redis/client';
import { createConnection } from 'mysql2/promise';
import { until } from './fresh-storage';

/** A server of one test file in a separate folder; it ends with the tests. */
export class TemporaryServer {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'database-'));
  port = 0;
  private process: ChildProcess | undefined;

  async start(
    program: string,
    args: (folder: string, port: number) => readonly string[],
    ready: () => Promise<unknown>,
  ) {
    this.port = await freePort();
    this.process = spawn(program, args(this.folder, this.port), { stdio: 'ignore' });
    await until(() =>
      ready().then(
        () => true,
        () => false,
      ),
    );
  }

  async stop(): Promise<void> {
    const { process } = this;
    if (process) {
      const ended = new Promise((resolve) => process.once('exit', resolve));
      process.kill('SIGKILL');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const sbin = ['/usr/sbin', '/usr/local/sbin'];
const mariadbd = findProgram(['mariadbd', 'mysqld'], sbin);
const install = findProgram(['mariadb-install-db', 'mysql_install_db'], sbin);
/** Whether MariaDB is installed here. */
export const hasMariadb = mariadbd !== undefined && install !== undefined;
/** The program of Redis or Valkey, if one is installed here. */
export const redisServer = findProgram(['redis-server', 'valkey-server'], sbin);

/** A connection to a Redis on this machine. */
export async function connectRedis(port: number, username?: string, password?: string) {
  const client = createClient({ username, password, socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Starts Redis, where anyone is an administrator. */
export async function startRedis(server: TemporaryServer): Promise<void> {
  const args = (folder: string, port: number) => [
    ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
  ];
  await server.start(redisServer!, args, async () => (await connectRedis(server.port)).destroy());
}

/** The program of FerretDB, which speaks MongoDB’s protocol, if one is installed here. */
export const ferretdb = findProgram(['ferretdb'], sbin);

/** A connection to a MariaDB on this machine. */
export const connectMariadb = (port: number, user: string, password: string) =>
  createConnection({ host: '127.0.0.1', port, user, password });

/** Starts MariaDB, with the user root without a password. */
export async function startMariadb(server: TemporaryServer): Promise<void> {
  const { folder } = server;
  const data = path.join(folder, 'data');
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const fresh = ['--auth-root-authentication-method=normal', '--skip-test-db', ...user];
  spawnSync(install!, ['--no-defaults', `--datadir=${data}`, ...fresh]);
  const args = (_: string, port: number) => [
    ...['--no-defaults', `--datadir=${data}`, `--socket=${folder}/s`, `--port=${port}`, '--bind-address=127.0.0.1'],
    ...['--innodb-flush-log-at-trx-commit=0', ...user],
  ];
  await server.start(mariadbd!, args, async () => (await connectMariadb(server.port, 'root', '')).end());
}
