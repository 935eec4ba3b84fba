import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Figures } from './figures';
import { pinned } from './machine';

export const benchRoot = path.resolve(__dirname, '..');

/** Runs a program of clients to its end; it prints its figures. */
export async function runClients(name: string, args: readonly string[], cores: string | undefined): Promise<Figures> {
  const node = ['--import', 'tsx', path.join(benchRoot, 'servers', name), ...args];
  const { stdout } = await promisify(execFile)(...pinned(cores, process.execPath, node), { cwd: benchRoot });
  return JSON.parse(stdout) as Figures;
}

/** A child process that reported that it is ready. */
export interface Child {
  /** The line that reported this. */
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

/** Starts a Node program as a child process and waits for its line; throws with its output if it ends before. */
export async function startChild(file: string, args: readonly string[], options: ChildOptions = {}): Promise<Child> {
  const node = [...(options.nodeArguments ?? []), ...(file.endsWith('.ts') ? ['--import', 'tsx'] : []), file, ...args];
  const [command, all] = pinned(options.cores, process.execPath, node);
  // The output goes to a file, as with `npm start`: with a pipe, the process that reads it would be part of the
  // measurement.
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  const logFile = path.join(folder, 'log');
  const output = openSync(logFile, 'a');
  const child = spawn(command, all, {
    cwd: benchRoot,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const line = await readyLine(child, path.basename(file), logFile, options);
    return { line, pid: child.pid as number, stop: () => stop(child).finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

async function readyLine(child: ChildProcess, name: string, logFile: string, options: ChildOptions): Promise<string> {
  const { ready = /^ready/, patienceSeconds = 60 } = options;
  const until = Date.now() + patienceSeconds * 1000;
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = `could not be started: ${error.message}`;
  });
  for (;;) {
    const output = readFileSync(logFile, 'utf8');
    const line = output.split('\n').find((one) => ready.test(one));
    if (line !== undefined) return line;
    if (child.exitCode !== null || child.signalCode !== null)
      failure ??= `ended (${child.signalCode ?? child.exitCode})`;
    if (Date.now() > until) {
      child.kill('SIGKILL');
      failure ??= `was not ready after ${patienceSeconds} s`;
    }
    if (failure !== undefined) throw new Error(`${name} ${failure}:\n${output.slice(-4000)}`);
    await sleep(25);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(force);
}
