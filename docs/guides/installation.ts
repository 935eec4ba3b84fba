import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSealKeyFile } from '../../packages/keyring/src/index';
import { startEmbedded } from '../../packages/postgres/src/index';
import { findProgram, freePort, fromSource } from '../../packages/testing/src/index';
import { type Watched, watch } from './paste';

type Name = 'secrets' | 'workspaces';

/** Both services as separate processes, with a data folder as `npm start` makes it below `folder`. */
export interface Installation {
  folder: string;
  /** The search path for commands, with the wrapped commands first. */
  path: string;
  watched: Watched;
  stop(): Promise<void>;
}

const root = resolve(__dirname, '../..');
const START_SECONDS = 300;

/** The file that the guides source first: addresses, tokens, and curl with a token. */
export const shell = 'docs/guides/shell.sh';

/** The command line as a single file: it starts six times as fast as from its sources. */
function keystead(folder: string): string {
  const file = join(folder, 'keystead.cjs');
  execFileSync(process.execPath, [join(root, 'apps/cli/bundle.mjs'), file]);
  // A program built by `npm start` finds the embedded PostgreSQL next to itself.
  return `env NODE_PATH='${join(root, 'packages/postgres/node_modules')}' '${process.execPath}' '${file}'`;
}

/** Puts the worker's program where a build has it; the guides start agents with it. */
function placeWorker(folder: string, firstUid: number): void {
  const at = join(folder, 'apps/workspaces/dist');
  mkdirSync(at, { recursive: true });
  const args = [...fromSource, join(root, 'apps/workspaces/src/worker-main.ts')];
  const text = `const { spawn } = require('node:child_process');
const env = { ...process.env, WORKSPACES_WORKER_FIRST_UID: '${firstUid}' };
const child = spawn(process.execPath, [...${JSON.stringify(args)}, ...process.argv.slice(2)], { env, stdio: 'inherit' });
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code) => process.exit(code ?? 1));
`;
  writeFileSync(join(at, 'worker-main.js'), text);
}

/** Starts an installation as the guides expect it: initialised, with root token and site administrator. */
export async function startInstallation(secretsSettings: Record<string, string> = {}): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'keystead-guides-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const commands = join(folder, 'commands');
  mkdirSync(commands);
  const watched = watch(commands, { curl: programOf('curl'), keystead: keystead(folder) });
  // Where `npm start` puts it.
  symlinkSync(join(commands, 'keystead'), join(folder, 'keystead'));
  mkdirSync(join(folder, 'docs/guides'), { recursive: true });
  symlinkSync(join(root, shell), join(folder, shell));
  // These data need not survive a power cut.
  const settings = { fsync: 'off', full_page_writes: 'off' };
  const server = await startEmbedded({ dataDir: join(data, 'postgres'), socket: true, settings });
  for (const name of ['secrets', 'workspaces']) createSealKeyFile(join(data, `${name}.key`));
  const ports = { secrets: await freePort(), workspaces: await freePort() };
  const addresses = {
    secrets: `http://127.0.0.1:${ports.secrets}`,
    workspaces: `http://127.0.0.1:${ports.workspaces}`,
  };
  const environment = (name: Name) => {
    const prefix = name.toUpperCase();
    return {
      PATH: process.env.PATH,
      [`${prefix}_PORT`]: String(ports[name]),
      [`${prefix}_DATABASE_URL`]: server.url(name),
      [`${prefix}_SEAL_KEY_FILE`]: join(data, `${name}.key`),
      ...(name === 'workspaces'
        ? { WORKSPACES_PUBLIC_URL: addresses.workspaces }
        : {
            SECRETS_PUBLIC_URL: addresses.secrets,
            SECRETS_AUDIT_FILE: join(data, 'audit.log'),
            SECRETS_AUDIT_TABLE: 'on',
            SECRETS_AUDIT_READS: 'on',
            ...secretsSettings,
          }),
    };
  };
  const running: { name: Name; child: ChildProcess; ended: Promise<unknown> }[] = [];
  const start = async (name: Name) => {
    const { child, said, ended } = launch(name, [], environment(name));
    running.push({ name, child, ended });
    await answers(`${addresses[name]}${name === 'secrets' ? '/livez' : '/readyz'}`, child, said);
  };
  const uids = { first: 200_000, last: 200_063 };
  placeWorker(folder, uids.first + 100);
  // Remote runs wait until the worker is there.
  const startWorker = () => {
    const main = join(root, 'apps/workspaces/src/worker-main.ts');
    const env = {
      ...environment('workspaces'),
      WORKSPACES_WORKER_SCRATCH: join(folder, 'scratch'),
      WORKSPACES_WORKER_TRUST: 'same-user',
      WORKSPACES_WORKER_FIRST_UID: String(uids.first),
      WORKSPACES_SECRETS_ADDR: addresses.secrets,
    };
    running.push({ name: 'workspaces', ...run(main, [], env) });
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = running.splice(0);
    for (const { child } of ending) child.kill(signal);
    await Promise.all(ending.map(({ ended }) => ended));
  };
  const stop = async () => {
    await end('SIGKILL');
    await server.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all([start('secrets'), start('workspaces')]);
    if (findProgram(['terraform', 'tofu'])) startWorker();
    const secrets = await initialise(addresses.secrets);
    const workspaces = await firstRun(environment('workspaces'));
    const installation = {
      secrets: { address: addresses.secrets, ...secrets },
      workspaces: { address: addresses.workspaces, ...workspaces },
    };
    writeFileSync(join(data, 'first-run.json'), JSON.stringify(installation));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    folder,
    path: `${commands}:${process.env.PATH}`,
    watched,
    stop,
  };
}

function programOf(name: string): string {
  const at = findProgram(name);
  if (!at) throw new Error(`${name} is not on the PATH`);
  return at;
}

const launch = (name: Name, args: string[], env: NodeJS.ProcessEnv) =>
  run(join(root, 'apps', name, 'src/main.ts'), args, env);

function run(main: string, args: string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [...fromSource, main, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let everything = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
    everything += chunk;
  });
  child.stderr.on('data', (chunk) => {
    everything += chunk;
  });
  const ended = new Promise<number | null>((resolveEnd) => child.once('close', resolveEnd));
  return { child, ended, printed: () => printed, said: () => everything };
}

async function answers(url: string, child: ChildProcess, said: () => string): Promise<void> {
  const giveUpAtMs = Date.now() + START_SECONDS * 1000;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`ended before it answered: ${said()}`);
    if (
      await fetch(url).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      return;
    if (Date.now() > giveUpAtMs) throw new Error(`${url} does not answer: ${said()}`);
    await sleep(50);
  }
}

async function initialise(address: string): Promise<{ root_token: string; recovery_keys: string[] }> {
  const answer = await fetch(`${address}/v1/sys/init`, {
    method: 'POST',
    body: JSON.stringify({ recovery_shares: 5, recovery_threshold: 3 }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`sys/init answered ${answer.status}: ${text}`);
  const { root_token, recovery_keys } = JSON.parse(text) as { root_token: string; recovery_keys: string[] };
  return { root_token, recovery_keys };
}

async function firstRun(env: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const { ended, printed, said } = launch('workspaces', ['first-run'], env);
  const code = await ended;
  if (code !== 0) throw new Error(`first-run ended with ${code}: ${said()}`);
  return JSON.parse(printed()) as Record<string, string>;
}
