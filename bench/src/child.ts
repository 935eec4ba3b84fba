import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { pinned } from './machine';

export const benchRoot = path.resolve(__dirname, '..');

/** A process of ours that said it is ready. */
export interface Child {
  /** What it said when it was ready. */
  readonly line: string;
  readonly pid: number;
  stop(): Promise<void>;
}

interface ChildOptions {
  cores?: string;
  env?: Record<string, string | undefined>;
  /** The line of its output that means it is ready. */
  ready?: RegExp;
  nodeArguments?: readonly string[];
  patienceSeconds?: number;
}

/** Starts a Node program as a child process and waits for its line; throws with its output when it ends before. */
export async function startChild(file: string, args: readonly string[], options: ChildOptions = {}): Promise<Child> {
  const node = [...(options.nodeArguments ?? []), ...(file.endsWith('.ts') ? ['--import', 'tsx'] : []), file, ...args];
  const [command, all] = pinned(options.cores, process.execPath, node);
  const child = spawn(command, all, {
    cwd: benchRoot,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const line = await firstLine(child, path.basename(file), options);
  return { line, pid: child.pid as number, stop: () => stop(child) };
}

function firstLine(child: ChildProcess, name: string, options: ChildOptions): Promise<string> {
  const { ready = /^ready/, patienceSeconds = 60 } = options;
  return new Promise((resolve, reject) => {
    let said = '';
    const fail = (why: string) => reject(new Error(`${name} ${why}:\n${said.slice(-4000)}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`was not ready after ${patienceSeconds} s`);
    }, patienceSeconds * 1000);
    const listen = (chunk: Buffer) => {
      // Once it is ready its log is only drained, so that a full pipe does not stop it.
      if (said === 'ready') return;
      said += chunk.toString();
      const line = said.split('\n').find((one) => ready.test(one));
      if (line === undefined) return;
      clearTimeout(timer);
      said = 'ready';
      resolve(line);
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    child.once('error', (error) => fail(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`ended (${signal ?? code})`);
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(force);
}
