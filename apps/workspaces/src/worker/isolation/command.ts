import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** The PATH for everything before the last step into a job; only that step uses the variables that users set. */
export const cleanPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The program to spawn, with a clean environment, so that a command runs confined. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
}

/** Why a job is stopped before its end. */
export type StopReason = 'canceled' | 'force-canceled' | 'timeout' | 'output' | 'disk' | 'lost' | 'shutdown';

/** Signals for a running job: interrupt and wait, or kill. */
export class Stopping {
  private current: { reason: StopReason; kill: boolean } | undefined;
  private readonly listeners = new Set<(kill: boolean) => void>();

  /** Undefined while the job continues. */
  get reason(): StopReason | undefined {
    return this.current?.reason;
  }

  get killed(): boolean {
    return this.current?.kill ?? false;
  }

  /** Asks the tool to shut down cleanly; sent once. */
  interrupt(reason: StopReason): void {
    if (this.current) return;
    this.current = { reason, kill: false };
    this.tell(false);
  }

  /** Kills the tool and everything it started. The first reason is kept. */
  kill(reason: StopReason): void {
    if (this.killed) return;
    this.current = { reason: reason === 'force-canceled' ? reason : (this.reason ?? reason), kill: true };
    this.tell(true);
  }

  /** Listens to signals, including those that were sent before. The returned function stops listening. */
  listen(listener: (kill: boolean) => void): () => void {
    this.listeners.add(listener);
    if (this.current) listener(this.current.kill);
    return () => this.listeners.delete(listener);
  }

  private tell(kill: boolean): void {
    for (const listener of [...this.listeners]) listener(kill);
  }
}

/** Measures the time during which at least one of several operations is in progress. */
export class Stopwatch {
  private under = 0;
  private sinceMs = 0;
  private countedMs = 0;

  /** The total of all operations that have ended so far. */
  get ms(): number {
    return this.countedMs;
  }

  async during<T>(work: Promise<T>): Promise<T> {
    if (this.under++ === 0) this.sinceMs = performance.now();
    try {
      return await work;
    } finally {
      if (--this.under === 0) this.countedMs += performance.now() - this.sinceMs;
    }
  }
}

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Receives the output of a command. A returned promise pauses the command's output until it resolves. */
export interface Outlets {
  stdout(bytes: Buffer): Promise<void> | void;
  stderr(bytes: Buffer): Promise<void> | void;
  /** Called with the process group as soon as it exists. */
  started?(pid: number): void;
}

const leftoverMs = 3_000;

/**
 * Runs a confined command to its end, without input, in a separate process group. Its output is passed on as it
 * arrives. On a signal, the group is interrupted or killed. Processes that outlive the command are also killed.
 */
export async function runCommand(
  launch: Launch,
  options: { outlets: Outlets; stopping: Stopping; endAll: Launch | undefined },
): Promise<Ended> {
  const { outlets, stopping } = options;
  const nothing = openSync('/dev/null', 'r');
  const stdio: (number | 'ignore' | 'pipe')[] = ['ignore', 'pipe', 'pipe'];
  for (const descriptor of inheritedDescriptors()) {
    while (stdio.length < descriptor) stdio.push('ignore');
    stdio[descriptor] = nothing;
  }
  const child = spawn(launch.file, launch.args, { cwd: '/', env: { PATH: cleanPath }, detached: true, stdio });
  closeSync(nothing);
  const exited = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const pid = child.pid;
  if (pid === undefined) return exited;
  outlets.started?.(pid);
  const drained = Promise.all([drain(child.stdout!, outlets.stdout), drain(child.stderr!, outlets.stderr)]);
  // Reported below; not awaited until then.
  drained.catch(() => stopping.kill('lost'));
  const deaf = stopping.listen((kill) => {
    signalGroup(pid, kill ? 'SIGKILL' : 'SIGINT');
    if (kill && options.endAll) void end(options.endAll);
  });
  try {
    const ended = await exited;
    signalGroup(pid, 'SIGKILL');
    if (options.endAll) await end(options.endAll);
    // A process that left the group may still hold the pipes if it can be found by neither namespace nor uid.
    const giveUp = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, leftoverMs);
    await drained.finally(() => clearTimeout(giveUp));
    return ended;
  } finally {
    deaf();
  }
}

const closeOnExec = 0o2000000;

/** Descriptors of files that this process's parent left open, and that every child would inherit. */
function inheritedDescriptors(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor < 3) return false;
      try {
        const about = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
        return (Number.parseInt(/^flags:\s+(\d+)/m.exec(about)?.[1] ?? '0', 8) & closeOnExec) === 0;
      } catch {
        // This descriptor was opened by the listing itself.
        return false;
      }
    })
    .sort((a, b) => a - b);
}

async function drain(stream: NodeJS.ReadableStream, outlet: (bytes: Buffer) => Promise<void> | void): Promise<void> {
  try {
    for await (const piece of stream) await outlet(piece as Buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All processes of the group have ended.
  }
}

/** Runs a short command for the worker itself and waits for it. Its result is ignored. */
export async function end(launch: Launch): Promise<void> {
  await new Promise<void>((resolve) => {
    const child = spawn(launch.file, launch.args, { cwd: '/', env: { PATH: cleanPath }, stdio: 'ignore' });
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}
