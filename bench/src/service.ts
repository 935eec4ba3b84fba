import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { ensureDatabase } from '@keystead/postgres';
import { benchRoot, startChild } from './child';
import type { Setting } from './family';

/** The environment of a service: its cores, its PostgreSQL, and its cleanup. */
export type Place = Pick<Setting, 'cores' | 'atEnd' | 'tree'> & { readonly postgres: Pick<Setting['postgres'], 'url'> };

/** Starts the built main program of a service on a free port; returns its address and process once it answers. */
export async function startServiceProcess(
  name: 'secrets' | 'workspaces',
  env: Record<string, string>,
  { cores, postgres, atEnd, tree = path.resolve(benchRoot, '..') }: Place,
  database: string = name,
): Promise<{ url: string; pid: number }> {
  const prefix = name.toUpperCase();
  const port = await freePort();
  await ensureDatabase(postgres.url(database));
  const child = await startChild(path.join(tree, 'apps', name, 'dist', 'main.js'), [], {
    cores,
    ready: /listening/,
    env: {
      NODE_ENV: 'production',
      [`${prefix}_PORT`]: String(port),
      [`${prefix}_DATABASE_URL`]: postgres.url(database),
      ...env,
    },
    nodeArguments: (process.env.BENCH_NODE_ARGUMENTS ?? '').split(' ').filter(Boolean),
  });
  atEnd(() => child.stop());
  return { url: `http://127.0.0.1:${port}`, pid: child.pid };
}

/** Starts a workspace service; also returns the token of its administrator. */
export async function startWorkspaces(
  setting: Place & Pick<Setting, 'folder'>,
  database = 'workspaces',
): Promise<{ url: string; pid: number; token: string; sealKey: string }> {
  const sealKey = randomBytes(32).toString('hex');
  const firstRun = path.join(setting.folder, `${database}-first-run.json`);
  const env = {
    WORKSPACES_SEAL_KEY: sealKey,
    WORKSPACES_FIRST_RUN_FILE: firstRun,
    WORKSPACES_RATE_LIMIT: '0',
  };
  const started = await startServiceProcess('workspaces', env, setting, database);
  const { token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { token: string };
  return { ...started, token, sealKey };
}

/** Sends one request and returns the JSON of the answer; throws if it is not a success. */
export async function ask<T>(url: string, method: string, headers: Record<string, string>, body?: unknown): Promise<T> {
  const response = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Runs `work` for 0 to `count` − 1, a few at a time. */
export async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** A free port. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
