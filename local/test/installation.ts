import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findEmbedded } from '@keystead/postgres';
import { freePort } from '@keystead/testing';
import type { FirstRun } from '../src/first-run';
import { type Started, start, waitFor } from './start';

/** A real installation in a temporary folder, started with the program behind `npm start`. */
export interface TestInstallation {
  /** The folder a person would work in: it contains the data folder. */
  folder: string;
  dataDir: string;
  secretsUrl: string;
  workspacesUrl: string;
  program(): Started;
  firstRun(): FirstRun;
  /** Starts it, also after a stop, and resolves when it says that it is ready. */
  start(): Promise<Started>;
  /** Resolves when both services answer as healthy. */
  healthy(): Promise<void>;
  /** The live process ids, by name. */
  pids(): Promise<Record<'secrets' | 'workspaces' | 'postgres', number>>;
  /** The process id of the worker of remote runs. */
  workerPid(): number;
  /** The database of a service, for direct checks. */
  databaseUrl(service: 'secrets' | 'workspaces'): Promise<string>;
  /** Ends everything and removes the folder. */
  remove(): Promise<void>;
}

/** Prepares an installation with its own folder and ports; nothing is started yet. */
export async function createInstallation(env: Record<string, string> = {}): Promise<TestInstallation> {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-installation-'));
  const dataDir = path.join(folder, 'data');
  const [secretsPort, workspacesPort] = [await freePort(), await freePort()];
  const secretsUrl = `http://127.0.0.1:${secretsPort}`;
  const workspacesUrl = `http://127.0.0.1:${workspacesPort}`;
  let program: Started | undefined;
  const answers = async (url: string) => (await fetch(url).catch(() => undefined))?.ok === true;
  const installation: TestInstallation = {
    folder,
    dataDir,
    secretsUrl,
    workspacesUrl,
    program: () => program!,
    firstRun: () => JSON.parse(readFileSync(path.join(dataDir, 'first-run.json'), 'utf8')),
    async start() {
      program = start([path.resolve(__dirname, '../start.mjs')], {
        KEYSTEAD_DATA: dataDir,
        SECRETS_PORT: String(secretsPort),
        WORKSPACES_PORT: String(workspacesPort),
        ...env,
      });
      await program.says(/Ctrl-C stops everything/);
      return program;
    },
    async healthy() {
      await waitFor(
        async () => (await answers(`${secretsUrl}/v1/sys/health`)) && (await answers(`${workspacesUrl}/readyz`)),
      );
    },
    async pids() {
      const read = (name: string) => Number(readFileSync(path.join(dataDir, `${name}.pid`), 'utf8'));
      const server = await findEmbedded(path.join(dataDir, 'postgres'));
      return { secrets: read('secrets'), workspaces: read('workspaces'), postgres: server!.pid };
    },
    workerPid: () => Number(readFileSync(path.join(dataDir, 'worker.pid'), 'utf8')),
    async databaseUrl(service) {
      return (await findEmbedded(path.join(dataDir, 'postgres')))!.url(service);
    },
    async remove() {
      program?.process.kill('SIGTERM');
      await program?.ended;
      await (await findEmbedded(path.join(dataDir, 'postgres')))?.stop({ immediate: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return installation;
}
