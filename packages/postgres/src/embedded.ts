import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, findBinaries } from './binaries';
import { findPostmaster, isAlive, type Postmaster, readPostmaster } from './postmaster';
import { choosePrivileges, giveTo, type Privileges } from './privileges';
import { makeSocketFolder, SOCKET_PORT, socketFolders } from './socket-folder';

/** The server's own log, inside its data directory. */
const LOG_FILE = 'server.log';
const PASSWORD_FILE = 'superuser-password';
const LOG_LIMIT_BYTES = 20 * 1024 * 1024;
const START_SECONDS = 60;
const STOP_SECONDS = 30;

export interface EmbeddedOptions {
  dataDir: string;
  /** A fixed port. Default: each start uses a free port. */
  port?: number;
  /** Listen only on a socket that only its owner can use, on no port. */
  socket?: boolean;
  /** PostgreSQL settings, as `name: value`. */
  settings?: Record<string, string>;
  /** The installation to use instead of the one in the packages. */
  binaries?: Binaries;
  log?: (line: string) => void;
}

/** A running PostgreSQL, on the loopback address or on a socket. */
export interface EmbeddedServer {
  /** The connection string of a database on this server, with its password. */
  url(database: string): string;
  port: number;
  /** The folder of its socket, if it does not listen on a port. */
  socketFolder: string | undefined;
  pid: number;
  /** False when the server was running already, started by an earlier process. */
  started: boolean;
  logFile: string;
  /** Resolves when the server process ends, for any reason. Waiting for it does not keep this process alive. */
  ended: Promise<void>;
  /** Stops the server cleanly; `immediate` skips the final checkpoint, for disposable data. */
  stop(options?: { immediate?: boolean }): Promise<void>;
}

/**
 * Starts the PostgreSQL of the packages on a data directory, which it creates if needed, or finds the server that
 * already runs there. The server survives a killed parent, and the next start finds it again. Throws one-line errors.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const running = existsSync(options.dataDir) ? await findEmbedded(options.dataDir) : undefined;
  if (running) return running;
  const binaries = options.binaries ?? findBinaries();
  const privileges = choosePrivileges();
  if (!existsSync(path.join(options.dataDir, 'PG_VERSION'))) initialise(binaries, privileges, options);
  const dataDir = realpathSync(options.dataDir);
  giveTo(privileges.owner, dataDir);
  requireSameMajor(binaries, privileges, dataDir);
  const { child, address } = await launch(binaries, privileges, { ...options, dataDir });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return describe(dataDir, { pid: child.pid!, ...address }, true, ended);
}

/** Finds the server that is running on a data directory and waits until it answers; `undefined` if there is none. */
export async function findEmbedded(dataDir: string): Promise<EmbeddedServer | undefined> {
  const giveUpAt = Date.now() + START_SECONDS * 1000;
  for (;;) {
    const found = findPostmaster(dataDir);
    if (!found) return undefined;
    if (found.ready) return describe(realpathSync(dataDir), found, false, untilGone(found.pid));
    if (Date.now() > giveUpAt) {
      throw new Error(
        `PostgreSQL in ${dataDir} (process ${found.pid}) did not become ready: see ${LOG_FILE} in that folder`,
      );
    }
    await sleep(20);
  }
}

function describe(
  dataDir: string,
  { pid, port, socketFolder }: ServerAddress & { pid: number },
  started: boolean,
  ended: Promise<void>,
): EmbeddedServer {
  const password = readFileSync(path.join(dataDir, PASSWORD_FILE), 'utf8').trim();
  const host = socketFolder === undefined ? '127.0.0.1' : 'localhost';
  const query = socketFolder === undefined ? '' : `?host=${encodeURIComponent(socketFolder)}`;
  return {
    url: (database) => `postgresql://postgres:${password}@${host}:${port}/${encodeURIComponent(database)}${query}`,
    port,
    socketFolder,
    pid,
    started,
    logFile: path.join(dataDir, LOG_FILE),
    ended,
    stop: ({ immediate = false } = {}) => stop(pid, ended, immediate),
  };
}

/**
 * Creates a data directory. It is created next to its final place and then renamed, so that an interrupted first start
 * leaves nothing half done.
 */
function initialise(binaries: Binaries, privileges: Privileges, { dataDir, log, settings }: EmbeddedOptions): void {
  log?.('creating the database files');
  const partial = `${path.resolve(dataDir)}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true, mode: 0o700 });
  const passwordFile = `${partial}.password`;
  writeFileSync(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
  try {
    giveTo(privileges.owner, partial);
    giveTo(privileges.owner, passwordFile);
    run(privileges, binaries.initdb, [
      `--pgdata=${partial}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-instructions',
      ...(settings?.fsync === 'off' ? ['--no-sync'] : []),
      ...builtinLocale(binaries, privileges),
    ]);
    renameSync(passwordFile, path.join(partial, PASSWORD_FILE));
    if (existsSync(dataDir)) rmSync(dataDir, { recursive: true });
    renameSync(partial, dataDir);
    chmodSync(dataDir, 0o700);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** Since version 17, case folding beyond ASCII does not need the machine's locales. */
function builtinLocale(binaries: Binaries, privileges: Privileges): string[] {
  return major(binaries, privileges) >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
}

function major(binaries: Binaries, privileges: Privileges): number {
  return Number(/\s(\d+)/.exec(run(privileges, binaries.postgres, ['--version']))?.[1]);
}

function requireSameMajor(binaries: Binaries, privileges: Privileges, dataDir: string): void {
  const there = readFileSync(path.join(dataDir, 'PG_VERSION'), 'utf8').trim();
  const here = String(major(binaries, privileges));
  if (there !== here) {
    throw new Error(
      `${dataDir} was written by PostgreSQL ${there} and this is ${here}: restore a backup into a new folder`,
    );
  }
}

function run(privileges: Privileges, program: string, programArgs: string[]): string {
  const { command, args } = privileges.wrap(program, programArgs);
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: '/' });
  if (error) throw new Error(`${path.basename(program)} could not be run: ${error.message}`);
  if (status !== 0) throw new Error(`${path.basename(program)} failed: ${lastLine(stderr) ?? `status ${status}`}`);
  return stdout;
}

/** Where a server listens. */
type ServerAddress = Pick<Postmaster, 'port' | 'socketFolder'>;

async function launch(
  binaries: Binaries,
  privileges: Privileges,
  options: EmbeddedOptions,
): Promise<{ child: ChildProcess; address: ServerAddress }> {
  const giveUpAt = Date.now() + START_SECONDS * 1000;
  const folders = options.socket ? socketFolders(options.dataDir) : [];
  for (;;) {
    const address = await chooseAddress(options, folders[0], privileges);
    const { child, failure } = await launchOnce(binaries, privileges, { ...options, address }, giveUpAt);
    if (!failure) return { child, address };
    // Some file systems do not support sockets.
    if (/Unix/.test(failure) && folders.length > 1) {
      folders.shift();
      continue;
    }
    // Another program took the free port, or the backends of a killed server still run.
    const transient = /shared memory block|is still in use/.test(failure) || (!options.port && /in use/.test(failure));
    if (!transient || Date.now() > giveUpAt)
      throw new Error(`PostgreSQL in ${options.dataDir} did not start: ${failure}`);
    await sleep(100);
  }
}

async function chooseAddress(
  { dataDir, socket, port }: EmbeddedOptions,
  folder: string | undefined,
  privileges: Privileges,
): Promise<ServerAddress> {
  if (!socket) return { port: port ?? (await freePort()), socketFolder: undefined };
  if (folder === undefined) throw new Error(`the name of ${dataDir} is too long for a socket`);
  if (folder !== dataDir) makeSocketFolder(folder, privileges);
  // Only this server has sockets there, and it does not run, so these sockets are from a killed server.
  for (const suffix of ['', '.lock']) rmSync(path.join(folder, `.s.PGSQL.${SOCKET_PORT}${suffix}`), { force: true });
  return { port: SOCKET_PORT, socketFolder: folder };
}

async function launchOnce(
  binaries: Binaries,
  privileges: Privileges,
  { dataDir, address, settings = {} }: EmbeddedOptions & { address: ServerAddress },
  giveUpAt: number,
): Promise<{ child: ChildProcess; failure?: string }> {
  const logFile = path.join(dataDir, LOG_FILE);
  if (existsSync(logFile) && statSync(logFile).size > LOG_LIMIT_BYTES) renameSync(logFile, `${logFile}.1`);
  const logFrom = existsSync(logFile) ? statSync(logFile).size : 0;
  const { port, socketFolder } = address;
  const all = {
    listen_addresses: socketFolder === undefined ? '127.0.0.1' : '',
    // The value is a list, so the folder is quoted: a quoted name may contain any character.
    unix_socket_directories: socketFolder === undefined ? '' : `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    log_timezone: 'UTC',
    ...settings,
  };
  const { command, args } = privileges.wrap(binaries.postgres, [
    '-D',
    dataDir,
    '-p',
    String(port),
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const output = openSync(logFile, 'a', 0o600);
  // A separate session: Ctrl-C in the terminal must reach the services first and the database last.
  const child = spawn(command, args, { stdio: ['ignore', output, output], detached: true, cwd: dataDir });
  closeSync(output);
  let exited = false;
  let spawnError: Error | undefined;
  child.once('exit', () => {
    exited = true;
  });
  child.once('error', (error) => {
    spawnError = error;
    exited = true;
  });
  child.unref();
  while (!exited) {
    const found = readPostmaster(dataDir);
    if (found?.ready && found.pid === child.pid) return { child };
    if (Date.now() > giveUpAt) {
      child.kill('SIGQUIT');
      return { child, failure: `not ready after ${START_SECONDS} s, see ${logFile}` };
    }
    await sleep(10);
  }
  const startOutput = spawnError?.message ?? readFileSync(logFile).subarray(logFrom).toString();
  return { child, failure: firstFatal(startOutput) ?? lastLine(startOutput) ?? `see ${logFile}` };
}

async function stop(pid: number, ended: Promise<void>, immediate: boolean): Promise<void> {
  if (!signal(pid, immediate ? 'SIGQUIT' : 'SIGINT')) return;
  const timer = setTimeout(() => signal(pid, 'SIGQUIT'), STOP_SECONDS * 1000);
  await Promise.race([ended, untilGone(pid)]);
  clearTimeout(timer);
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(25, undefined, { ref: false });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

// If the port is taken, the line about the port explains more than the fatal error after it.
const firstFatal = (text: string) =>
  /LOG:\s+(could not bind.*)/.exec(text)?.[1] ?? /(?:FATAL|PANIC):\s+(.*)/.exec(text)?.[1];
const lastLine = (text: string) => text.trim().split('\n').at(-1) || undefined;
