import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@keystead/testing';

const run = promisify(execFile);

/** A server from the Python package index, on a free port of the loopback. */
export interface PythonServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Why this server cannot be started here; undefined if it can. */
export function noPython(): string | undefined {
  try {
    execFileSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'no Python 3 with venv here';
  }
}

/** Installs a package into a separate folder, starts its program, and waits until it answers at `probe`. */
export async function startPythonServer(what: {
  readonly requirement: string;
  readonly program: string;
  args(port: number): readonly string[];
  env(port: number): Readonly<Record<string, string>>;
  readonly probe: string;
}): Promise<PythonServer> {
  const home = mkdtempSync(path.join(tmpdir(), 'python-server-'));
  const bin = path.join(home, 'bin');
  await run('python3', ['-m', 'venv', home]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', what.requirement];
  await run(path.join(bin, 'python'), pip, { timeout: 1_200_000 });
  const port = await freePort();
  const child = spawn(path.join(bin, what.program), [...what.args(port)], {
    env: { ...process.env, ...what.env(port) },
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  try {
    await answers(url + what.probe, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 1500; tries++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`nothing answers at ${url}`);
}
