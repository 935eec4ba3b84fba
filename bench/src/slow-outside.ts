import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { startEmbedded } from '@keystead/postgres';
import { startOutside } from './outside-family';
import { ask } from './service';

const callers = 500;
const thinkMs = 2000;
const rounds = 400;

/** Shows what 500 callers who wait for credentials of a slow scheduler do to everybody else, and to memory. Linux only. */
async function main(): Promise<void> {
  const cleanups: (() => unknown)[] = [];
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const postgres = await startEmbedded({ dataDir: path.join(folder, 'postgres') });
    cleanups.push(() => postgres.stop({ immediate: true }));
    const setting = {
      folder,
      postgres,
      cores: undefined,
      atEnd: (cleanup: () => unknown) => void cleanups.push(cleanup),
    };
    const { url, pid, root, standIns } = await startOutside(setting, thinkMs);
    const headers = { 'X-Service-Token': root };
    await ask(`${url}/v1/cubbyhole/one`, 'POST', headers, { value: 'x' });
    const read = () => ask(`${url}/v1/cubbyhole/one`, 'GET', headers);
    await reads(read);
    const alone = await reads(read);
    const before = resident(pid);
    process.kill(standIns.pid, 'SIGUSR2');
    let waiting = true;
    const started = performance.now();
    const all = call(`${url}/v1/scheduler/creds/bench`, root).then(() => {
      waiting = false;
      return performance.now() - started;
    });
    let peak = resident(pid);
    const beside: number[] = [];
    while (waiting) {
      beside.push(await timed(read));
      peak = Math.max(peak, resident(pid));
      await sleep(3);
    }
    const line = (what: string, times: readonly number[]) =>
      process.stdout.write(
        `${what}: ${times.length} reads, p50 ${quantile(times, 0.5)} ms, p99 ${quantile(times, 0.99)} ms\n`,
      );
    line('alone', alone);
    line(`beside ${callers} callers`, beside);
    process.stdout.write(
      `p99 ${(Number(quantile(beside, 0.99)) / Number(quantile(alone, 0.99))).toFixed(2)} times; credentials for all after ` +
        `${((await all) / 1000).toFixed(1)} s; resident ${before} MiB before, ${peak} MiB at most\n`,
    );
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

/** All callers at once, in a thread of their own: what they are answered must not keep the readers from reading. */
function call(url: string, token: string): Promise<void> {
  const program = `
    const { workerData } = require('node:worker_threads');
    const ask = async () => {
      const response = await fetch(workerData.url, { headers: { 'X-Service-Token': workerData.token } });
      if (!response.ok) throw new Error('answered ' + response.status);
      await response.text();
    };
    Promise.all(Array.from({ length: workerData.callers }, ask)).catch((error) => { throw error; });`;
  const worker = new Worker(program, { eval: true, workerData: { url, token, callers } });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}

async function reads(read: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < rounds; n++) {
    times.push(await timed(read));
    await sleep(3);
  }
  return times;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function quantile(times: readonly number[], at: number): string {
  const sorted = [...times].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) * at)] ?? 0).toFixed(2);
}

function resident(pid: number): number {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

void main();
