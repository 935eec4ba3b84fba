import { type ChildProcess, execFile, fork } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenersClosedToRuns } from './closed-to-runs';
import type { LocalConfig } from './config';
import { endProcess, hasEnded } from './end-process';
import { firstRunFile } from './first-run';
import { agentTokenFile } from './seal-keys';

/** How to run the worker of remote runs. */
export interface WorkerProcessOptions {
  /** The built main of the worker. */
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly pidFile: string;
  /** Called with one sentence when the process ended by itself and was restarted. */
  onRestart(message: string): void;
}

/** How long to wait for the end of the worker. This is longer than a worker lets an interrupted run continue. */
const STOP_SECONDS = 45;
const CHECK_SECONDS = 60;
/** If a process ran for longer than this, its end is not a failed start. */
const STEADY_MS = 10_000;
const LONGEST_PAUSE_MS = 30_000;

/** Whether remote runs work on this machine: the lines to show, or why there is no worker. */
export type WorkerMeans =
  | { readonly works: true; readonly lines: string[] }
  | { readonly works: false; readonly why: string };

/** Asks the worker's program whether a worker can run here. */
export function checkWorker(program: string, env: NodeJS.ProcessEnv): Promise<WorkerMeans> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, 'check'], { env, timeout: CHECK_SECONDS * 1000 }, (error, stdout, stderr) => {
      const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
      if (!error) resolve({ works: true, lines: lines(stdout) });
      else resolve({ works: false, why: lines(stderr).join('; ') || error.message });
    });
  });
}

/** Matches settings of the services, which the worker must not see, because it carries out runs. */
const notItsOwn =
  /^(KEYSTEAD|npm|SECRETS|CLOUDONE|CLOUDTWO|SCHEDULER|WORKSPACES(?!_WORKER)|AGENT|TFC)_|^(\w+_)?DATABASE_URL(_FILE)?$/;

/**
 * The environment of the worker, which is an agent of the installation without a database and without keys. `url` is
 * the address of the database, which runs must not reach.
 */
export function workerEnvironment(config: LocalConfig, url: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { dataDir, agentToken } = config;
  const { address, certificate } = config.services.workspaces;
  const { hostname } = new URL(address);
  const inherited = Object.entries(env).filter(([name]) => !notItsOwn.test(name));
  return {
    WORKSPACES_WORKER_DRAIN_SECONDS: '5',
    ...Object.fromEntries(inherited),
    AGENT_ADDRESS: address,
    ...(agentToken === undefined ? { AGENT_TOKEN_FILE: agentTokenFile(dataDir) } : { AGENT_TOKEN: agentToken }),
    AGENT_NAME: 'npm start',
    AGENT_TRACES_URL: env.WORKSPACES_TRACES_URL,
    AGENT_TRACES_HEADERS: env.WORKSPACES_TRACES_HEADERS,
    AGENT_TRACES_HEADERS_FILE: env.WORKSPACES_TRACES_HEADERS_FILE,
    AGENT_LOG_LEVEL: env.WORKSPACES_LOG_LEVEL || 'info',
    WORKSPACES_WORKER_CLOSED: [
      placeOf(url),
      ...listenersClosedToRuns(config, env),
      ...(env.WORKSPACES_WORKER_CLOSED || '').split(','),
    ]
      .filter(Boolean)
      .join(),
    // When the worker starts, it tests that runs cannot read this file.
    WORKSPACES_FIRST_RUN_FILE: firstRunFile(dataDir),
    // The service is on this machine: no proxy is used.
    ...Object.fromEntries(['NO_PROXY', 'no_proxy'].map((name) => [name, [env[name], hostname].filter(Boolean).join()])),
    ...(certificate === undefined ? {} : trustIn(certificate, hostname, env.WORKSPACES_TLS_CERT_FILE)),
  };
}

/** Where a database listens: host and port, or the path of its socket. */
function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') || hostname || 'localhost';
  const at = searchParams.get('port') || port || '5432';
  return host.startsWith('/') ? path.join(host, `.s.PGSQL.${at}`) : `${decodeURIComponent(host)}:${at}`;
}

/**
 * Settings that make the worker trust exactly the configured certificate of the service. The certificate is usually for
 * the public name, not for loopback.
 */
function trustIn(certificate: string, hostname: string, file: string | undefined): NodeJS.ProcessEnv {
  const parsed = new X509Certificate(certificate);
  const name = hostname.replace(/^\[(.*)\]$/, '$1');
  const own = parsed.checkIP(name) ?? parsed.checkHost(name);
  const [, other] = /DNS:(?:\*\.)?([^,\s]+)/.exec(parsed.subjectAltName ?? '') ?? [];
  return {
    AGENT_CA_FILE: file,
    ...(own === undefined && other !== undefined ? { AGENT_SERVER_NAME: other } : {}),
  };
}

/** How long to wait before a restart of the worker. The wait grows with the number of failures right after a start. */
export function restartAfter(failuresBefore: number, livedMs: number): { failures: number; pauseMs: number } {
  const failures = livedMs > STEADY_MS ? 1 : failuresBefore + 1;
  return { failures, pauseMs: Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS) };
}

/** One worker as a child process, restarted if it ends unexpectedly. */
export class WorkerProcess {
  private child: ChildProcess | undefined;
  private stopping = false;
  private failures = 0;
  private startedAtMs = 0;

  constructor(private readonly options: WorkerProcessOptions) {}

  start(): void {
    const { program, env, logFile, pidFile } = this.options;
    const output = openSync(logFile, 'a', 0o600);
    const child = fork(program, [], {
      env,
      execArgv: ['--require', path.resolve(__dirname, '../parent-watch.cjs')],
      stdio: ['ignore', output, output, 'ipc'],
      // Ctrl-C reaches only the local program, which stops everything in order.
      detached: true,
    });
    closeSync(output);
    writeFileSync(pidFile, `${child.pid}\n`, { mode: 0o600 });
    this.child = child;
    this.startedAtMs = performance.now();
    child.once('exit', (code, signal) => void this.ended(signal ?? `exit code ${code}`));
  }

  /** Lets runs end or be interrupted, then ends. */
  async stop(): Promise<void> {
    this.stopping = true;
    const { child } = this;
    if (!child || hasEnded(child)) return;
    await endProcess(child, STOP_SECONDS);
    rmSync(this.options.pidFile, { force: true });
  }

  /** Ends the process and all processes of its runs, at once. */
  kill(): void {
    this.stopping = true;
    this.child?.kill('SIGKILL');
  }

  private async ended(how: string): Promise<void> {
    if (this.stopping) return;
    const { failures, pauseMs } = restartAfter(this.failures, performance.now() - this.startedAtMs);
    this.failures = failures;
    await sleep(pauseMs);
    if (this.stopping) return;
    this.start();
    this.options.onRestart(`the worker of remote runs ended (${how}) and was started again`);
  }
}
