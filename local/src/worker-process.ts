import { type ChildProcess, execFile, fork } from 'node:child_process';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, hasEnded } from './end-process';

/** How the worker of remote runs is run here. */
export interface WorkerProcessOptions {
  /** The built main of the worker. */
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly pidFile: string;
  /** Told in one sentence when the process ended by itself and was started again. */
  onRestart(message: string): void;
}

/** Longer than a worker lets an interrupted run go on. */
const STOP_SECONDS = 45;
const CHECK_SECONDS = 60;

/** What a machine offers to remote runs: the lines to show, or why there is no worker. */
export type WorkerMeans =
  | { readonly works: true; readonly said: string[] }
  | { readonly works: false; readonly why: string };

/** Asks the worker's program whether a worker can run here. */
export function checkWorker(program: string, env: NodeJS.ProcessEnv): Promise<WorkerMeans> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, 'check'], { env, timeout: CHECK_SECONDS * 1000 }, (error, stdout, stderr) => {
      const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
      if (!error) resolve({ works: true, said: lines(stdout) });
      else resolve({ works: false, why: lines(stderr).join('; ') || error.message });
    });
  });
}

/** One worker as a process of its own, started again when it ends unasked. */
export class WorkerProcess {
  private child: ChildProcess | undefined;
  private stopping = false;
  private failures = 0;

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

  /** Ends the process at once, and with it whatever its runs are doing. */
  kill(): void {
    this.stopping = true;
    this.child?.kill('SIGKILL');
  }

  private async ended(how: string): Promise<void> {
    if (this.stopping) return;
    this.failures++;
    await sleep(Math.min(500 * 2 ** this.failures, 60_000));
    if (this.stopping) return;
    this.start();
    this.options.onRestart(`the worker of remote runs ended (${how}) and was started again`);
  }
}
