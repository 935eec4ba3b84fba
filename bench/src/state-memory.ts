import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureDatabase, startEmbedded } from '@keystead/postgres';
import { benchRoot, startChild } from './child';
import { madeState } from './made-state';
import { StateClient } from './state-client';

const port = 18_300 + Math.floor(Math.random() * 1000);
const mebibytes = 100;
const warmUps = Number(process.argv[2] ?? 10);
const mib = (kib: number) => (kib / 1024).toFixed(0);

/** What a process holds in memory now, in KiB. */
function resident(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** The most that a process held while something was done. */
async function peakWhile(pid: number, work: () => Promise<unknown>): Promise<number> {
  let peak = resident(pid);
  let done = false;
  const watching = (async () => {
    while (!done) {
      peak = Math.max(peak, resident(pid));
      await sleep(5);
    }
  })();
  try {
    await work();
  } finally {
    done = true;
    await watching;
  }
  return peak;
}

/** Shows how much the service's memory grows while large states pass through it. Linux only. */
async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  const postgres = await startEmbedded({ dataDir: path.join(folder, 'postgres') });
  const firstRun = path.join(folder, 'first-run.json');
  await ensureDatabase(postgres.url('workspaces'));
  const service = await startChild(path.resolve(benchRoot, '..', 'apps', 'workspaces', 'dist', 'main.js'), [], {
    nodeArguments: (process.env.BENCH_NODE_ARGUMENTS ?? '').split(' ').filter(Boolean),
    ready: /listening/,
    env: {
      NODE_ENV: 'production',
      WORKSPACES_PORT: String(port),
      WORKSPACES_PUBLIC_URL: `http://127.0.0.1:${port}`,
      WORKSPACES_DATABASE_URL: postgres.url('workspaces'),
      WORKSPACES_SEAL_KEY: randomBytes(32).toString('hex'),
      WORKSPACES_FIRST_RUN_FILE: firstRun,
      WORKSPACES_RATE_LIMIT: '0',
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('WORKSPACES_BLOB'))),
    },
  });
  try {
    const { token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { token: string };
    const clients = await StateClient.prepare(`http://127.0.0.1:${port}`, token, 4);
    const [one, two] = clients as [StateClient, StateClient];
    let serial = 0;
    const upload = async (client: StateClient, size: number, form: 'raw' | 'both' = 'raw') => {
      const state = madeState(size, ++serial);
      const links = await client.announce(state, serial);
      if (form === 'both') await client.put(links.json, state);
      const status = await client.put(links.raw, state);
      if (status !== 200) throw new Error(`an upload was answered ${status}`);
    };
    const started = resident(service.pid);
    // What every process grows by once it has done its work a few times is not what is measured.
    for (let i = 0; i < warmUps; i++) for (const client of clients) await upload(client, 0.1, 'both');
    await one.download();
    await sleep(2000);
    const rest = resident(service.pid);
    process.stdout.write(
      `started ${mib(started)} MiB, at rest after small states ${mib(rest)} MiB\n\n| what | peak growth (MiB) | s |\n|---|---|---|\n`,
    );
    const row = async (name: string, work: () => Promise<unknown>) => {
      const start = Date.now();
      const peak = await peakWhile(service.pid, work);
      process.stdout.write(`| ${name} | ${mib(peak - rest)} | ${((Date.now() - start) / 1000).toFixed(1)} |\n`);
    };
    await row(`upload of ${mebibytes} MiB`, () => upload(one, mebibytes));
    await row(`the same with its JSON form`, () => upload(one, mebibytes, 'both'));
    await row(`download of ${mebibytes} MiB`, () => one.download());
    await row('two uploads at once', () => Promise.all([upload(one, mebibytes), upload(two, mebibytes)]));
    await row('four uploads at once', () => Promise.all(clients.map((client) => upload(client, mebibytes))));
    await row('two downloads and two uploads', () =>
      Promise.all([one.download(), one.download(), upload(two, mebibytes), upload(clients[2]!, mebibytes)]),
    );
    await row('16 MiB inline in base64', () => one.createInline(madeState(15.9, ++serial), serial));
    await row('four of those at once', () =>
      Promise.all(clients.map((client) => client.createInline(madeState(15.9, ++serial), serial))),
    );
  } finally {
    await service.stop();
    await postgres.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
