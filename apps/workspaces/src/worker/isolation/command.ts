import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { cleanPath } from '../files/clean-path';

/** What to spawn, with a clean environment, for a command to run confined. */
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

  /** Listens to signals, including those sent before; the returned function ends that. */
  listen(listener: (kill: boolean) => void): () => void {
    this.listeners.add(listener);
    if (this.current) listener(this.current.kill);
    return () => this.listeners.delete(listener);
  }

  private tell(kill: boolean): void {
    for (const listener of [...this.listeners]) listener(kill);
  }
}

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Receives the bytes of a command; a promise pauses the command's output until it is stored. */
export interface Outlets {
  stdout(bytes: Buffer): Promise<void> | void;
  stderr(bytes: Buffer): Promise<void> | void;
  /** Called with the process group as soon as there is one. */
  started?(pid: number): void;
}

const leftoverMs = 3_000;

/**
 * Runs a confined command to its end: no input, a separate process group, output passed on as it comes. On a signal,
 * the group is interrupted or killed. Processes that outlive the command are also killed.
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

/** Files that this process's parent left open; every child would inherit them. */
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
        // It was opened by the listing itself.
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
    // All its processes have ended.
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
