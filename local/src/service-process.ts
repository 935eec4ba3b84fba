import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from './call';
import type { ServiceConfig } from './config';
import { endProcess, hasEnded } from './end-process';
import { Stop } from './stop';

const START_SECONDS = 60;
/** A service that has not ended after this time is killed. */
export const DRAIN_SECONDS = 20;
const LOG_LIMIT_BYTES = 50 * 1024 * 1024;
const STEADY_MS = 60_000;
const MOST_FAILURES = 6;

export interface ServiceProcessOptions {
  service: ServiceConfig;
  /** The program: the built main of the service. */
  program: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Records the process id while the service runs. */
  pidFile: string;
  onLaunch(pid: number): void;
  /** Called with one sentence when the process ended by itself and was restarted. */
  onRestart(message: string): void;
  /** Called if it keeps ending right after its start. */
  onGiveUp(message: string): void;
}

/**
 * One service as a child process, restarted if it ends unexpectedly. A process that keeps ending right after its start
 * is given up. Its output goes to its log file.
 */
export class ServiceProcess {
  private child: ChildProcess | undefined;
  private stopping = false;
  private failures = 0;
  private answeredAtMs = 0;
  private logFrom = 0;

  constructor(private readonly options: ServiceProcessOptions) {}

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Starts the process and resolves when it answers. Throws `Stop` with its last output if it ends before that. */
  async start(): Promise<void> {
    const { service, logFile } = this.options;
    const child = this.launch();
    const giveUpAt = Date.now() + START_SECONDS * 1000;
    while (!hasEnded(child)) {
      if (await this.answers()) {
        this.answeredAtMs = Date.now();
        this.watch(child);
        return;
      }
      if (Date.now() > giveUpAt) {
        child.kill('SIGKILL');
        throw new Stop(`the ${service.name} service does not answer at ${service.address}: see ${logFile}`);
      }
      await sleep(30);
    }
    throw new Stop(`the ${service.name} service did not start: ${this.lastWords()}`);
  }

  /** Lets the process drain and end; a process that does not is killed. */
  async stop(): Promise<void> {
    this.stopping = true;
    const { child } = this;
    if (!child || hasEnded(child)) return;
    await endProcess(child, DRAIN_SECONDS);
    rmSync(this.options.pidFile, { force: true });
  }

  /** Ends the process at once. */
  kill(): void {
    this.stopping = true;
    this.child?.kill('SIGKILL');
  }

  private launch(): ChildProcess {
    const { program, env, logFile, pidFile, onLaunch } = this.options;
    if (existsSync(logFile) && statSync(logFile).size > LOG_LIMIT_BYTES) renameSync(logFile, `${logFile}.1`);
    this.logFrom = existsSync(logFile) ? statSync(logFile).size : 0;
    const output = openSync(logFile, 'a', 0o600);
    this.child = fork(program, [], {
      // Without this setting, the C library would keep freed memory for each thread separately.
      env: { MALLOC_ARENA_MAX: '2', ...env },
      execArgv: ['--require', path.resolve(__dirname, '../parent-watch.cjs')],
      stdio: ['ignore', output, output, 'ipc'],
      // Ctrl-C reaches only the local program, which stops the services in order.
      detached: true,
    });
    closeSync(output);
    writeFileSync(pidFile, `${this.child.pid}\n`, { mode: 0o600 });
    if (this.child.pid !== undefined) onLaunch(this.child.pid);
    return this.child;
  }

  private watch(child: ChildProcess): void {
    const tell = () => void this.ended(child.signalCode ?? `exit code ${child.exitCode}`);
    if (hasEnded(child)) tell();
    else child.once('exit', tell);
  }

  private async ended(how: string): Promise<void> {
    if (this.stopping) return;
    const { service, onRestart, onGiveUp, logFile } = this.options;
    this.failures = Date.now() - this.answeredAtMs > STEADY_MS ? 1 : this.failures + 1;
    await sleep(Math.min(50 * 2 ** this.failures, 5_000));
    if (this.stopping) return;
    try {
      await this.start();
      onRestart(`the ${service.name} service ended (${how}) and was started again as process ${this.pid}`);
    } catch (error) {
      if (this.stopping) return;
      if (this.failures < MOST_FAILURES) await this.ended(how);
      else onGiveUp(`${(error as Error).message} (log: ${logFile})`);
    }
  }

  private async answers(): Promise<boolean> {
    try {
      return (await call(this.options.service, 'GET', '/livez', { timeoutMs: 2_000 })).status === 200;
    } catch {
      return false;
    }
  }

  /** The last output of the process, which says why it ended. */
  private lastWords(): string {
    const { logFile } = this.options;
    return lastWords(readFileSync(logFile).subarray(this.logFrom).toString()) ?? `no word in its log, ${logFile}`;
  }
}

/** The reason at the end of a log: plain lines such as bad settings, the error of a crash, or the last log line. */
export function lastWords(log: string): string | undefined {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const crash = lines.findLast((line) => /^(Uncaught )?\w*Error\b.*: /.test(line));
  if (crash) return crash;
  const plain = lines.slice(lines.findLastIndex((line) => line.startsWith('{')) + 1);
  if (plain.length > 0) return plain.join('; ');
  const last = lines.at(-1);
  return last && messageOf(last);
}

function messageOf(line: string): string {
  try {
    const { msg, err } = JSON.parse(line);
    return [msg, err?.message].filter(Boolean).join(': ');
  } catch {
    return line;
  }
}
