import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../packages/testing/src/free-port';
import { fromSource } from '../../packages/testing/src/from-source';

/** Programs of one version: the built ones of a checkout, or those of the current tree. */
export interface Version {
  readonly root: string;
  readonly built: boolean;
}

export type ProgramName = 'secrets' | 'workspaces' | 'worker';

/** A process of a version. */
export interface Program {
  /** Where it listens; empty for a worker. */
  readonly address: string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

const mains: Record<ProgramName, string> = {
  secrets: 'apps/secrets/main',
  workspaces: 'apps/workspaces/main',
  worker: 'apps/workspaces/worker-main',
};
const patienceMs = 120_000;

/** Starts one program and resolves when it answers; a worker is not called. Rejects with its last output. */
export async function startProgram(
  { root, built }: Version,
  name: ProgramName,
  settings: Readonly<Record<string, string>>,
): Promise<Program> {
  const file = path.join(root, mains[name].replace(/\/([\w-]+)$/, built ? '/dist/$1.js' : '/src/$1.ts'));
  const flags = built ? [] : fromSource;
  const port = name === 'worker' ? undefined : await freePort();
  const listen = port === undefined ? {} : { [`${name.toUpperCase()}_PORT`]: String(port) };
  const child = spawn(process.execPath, [...flags, file], {
    cwd: root,
    env: { PATH: process.env.PATH, ...settings, ...listen },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-4000);
    });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const address = port === undefined ? '' : `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${address}/livez`).then(
      (response) => response.ok,
      () => false,
    );
  for (const until = Date.now() + patienceMs; port !== undefined && !(await answers()); ) {
    if (hasEnded(child) || Date.now() > until) {
      child.kill('SIGKILL');
      throw new Error(`${file} does not answer: ${output}`);
    }
    await sleep(50);
  }
  return {
    address,
    async kill(signal) {
      if (!hasEnded(child)) child.kill(signal);
      await ended;
    },
  };
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
