import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import { gzipSync } from 'node:zlib';
import { ensureDatabase } from '@keystead/postgres';
import { Pool } from 'pg';
import { quantile } from './figures';
import { processorMs } from './machine';
import { type MadeState, madeState } from './made-state';
import { StateClient } from './state-client';
import { runOnStateService, type StateService } from './state-service';

const seconds = Number(process.argv[2] ?? 5);
const chunkBytes = 1024 * 1024;
const plans = 100;

/** A state in memory, so that generating it is not measured. */
function ready(mebibytes: number, kind: 'realistic' | 'noise'): MadeState & { whole: Buffer } {
  const whole = Buffer.concat([...madeState(mebibytes, 1, kind).pieces()]);
  const md5 = createHash('md5').update(whole).digest('hex');
  return { bytes: whole.length, md5, whole, pieces: () => [whole] };
}

/** Runs work on all clients for a while; returns the rate per second. */
async function rate<T>(clients: readonly T[], work: (client: T) => Promise<unknown>): Promise<number> {
  const end = Date.now() + seconds * 1000;
  const start = Date.now();
  let done = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (Date.now() < end) {
        await work(client);
        done++;
      }
    }),
  );
  return done / ((Date.now() - start) / 1000);
}

/** Writes the same compressed bytes straight into a table, in chunks of 1 MiB, one commit each. */
async function direct(pool: Pool, clients: number, bytes: Buffer): Promise<number> {
  await pool.query('CREATE TABLE IF NOT EXISTS direct (id bigserial PRIMARY KEY, bytes bytea NOT NULL)');
  const text = 'INSERT INTO direct (bytes) VALUES ($1)';
  return rate(Array.from({ length: clients }), async () => {
    for (let from = 0; from < bytes.length; from += chunkBytes) {
      await pool.query({ name: 'direct', text, values: [bytes.subarray(from, from + chunkBytes)] });
    }
  });
}

/** How fast states pass through the workspace service, compared with only PostgreSQL. */
async function measure(service: StateService): Promise<void> {
  await ensureDatabase(service.postgres.url('direct'));
  const pool = new Pool({ connectionString: service.postgres.url('direct'), max: 8 });
  try {
    const agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const clients = await StateClient.prepare(service.url, service.token, 32, agent);
    process.stdout.write('| what | a second | ratio to only PostgreSQL | processor ms each |\n|---|---|---|---|\n');
    for (const [size, kind, name] of [
      [1, 'realistic', 'upload of 1 MiB'],
      [10, 'realistic', 'upload of 10 MiB'],
      [1, 'noise', 'upload of 1 MiB, incompressible'],
      [10, 'noise', 'upload of 10 MiB, incompressible'],
    ] as const) {
      const state = ready(size, kind);
      const compressed = gzipSync(state.whole, { level: 1 });
      let serial = 0;
      const few = clients.slice(0, size === 1 ? 8 : 4);
      const upload = async (client: StateClient) => {
        const { raw } = await client.announce(state, ++serial);
        const status = await client.put(raw, state);
        if (status !== 200) throw new Error(`an upload was answered ${status}`);
      };
      for (let i = 0; i < 3; i++) await Promise.all(few.map(upload));
      const baseline = await direct(pool, few.length, compressed);
      const before = processorMs(service.pid);
      serial = 0;
      const uploads = await rate(few, upload);
      const packed = `${(state.bytes / compressed.length).toFixed(0)}:1`;
      const spent = (processorMs(service.pid) - before) / serial;
      process.stdout.write(
        `| ${name} (${packed}) | ${uploads.toFixed(1)} | ${(uploads / baseline).toFixed(2)} | ${spent.toFixed(1)} |\n`,
      );
    }
    await measureReads(clients, service.pid);
    for (const client of clients) await client.act('unlock');
    const before = processorMs(service.pid);
    let count = 0;
    const cycles = await rate(clients, async (client) => {
      await client.act('lock');
      await client.act('unlock');
      count++;
    });
    const spent = (processorMs(service.pid) - before) / count;
    process.stdout.write(`| lock and unlock, 32 workspaces | ${cycles.toFixed(0)} | | ${spent.toFixed(1)} |\n`);
    const [planner] = clients as [StateClient];
    for (const mebibytes of [10, 1]) await measurePlans(planner, mebibytes, service.pid);
  } finally {
    await pool.end();
  }
}

/** The latency of reads of a workspace, one at a time, while two others receive states of 100 MiB. */
async function measureReads(clients: readonly StateClient[], pid: number): Promise<void> {
  const [reader, ...writers] = clients as [StateClient, ...StateClient[]];
  const state = madeState(100, 1);
  for (let i = 0; i < 200; i++) await reader.show();
  let coming = true;
  let done = 0;
  const before = processorMs(pid);
  const uploads = writers.slice(0, 2).map(async (writer) => {
    for (let serial = 1_000_000; coming; serial++) {
      const { raw } = await writer.announce(state, serial);
      const status = await writer.put(raw, state);
      if (status !== 200) throw new Error(`an upload was answered ${status}`);
      done++;
    }
  });
  const times: number[] = [];
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const start = performance.now();
    await reader.show();
    times.push(performance.now() - start);
  }
  coming = false;
  await Promise.all(uploads);
  const spent = ((processorMs(pid) - before) / done).toFixed(0);
  const [middle, p99, longest] = quantiles(times, 0.5, 0.99, 0.999);
  process.stdout.write(
    `| reads during uploads of 100 MiB: median ${middle}, p99 ${p99}, longest ${longest} | | | ${spent} an upload |\n`,
  );
}

/** The quantiles of the times. */
function quantiles(times: number[], ...shares: number[]): string[] {
  times.sort((a, b) => a - b);
  return shares.map((share) => `${quantile(times, share).toFixed(1)} ms`);
}

/** The time of a plan's calls, in the tool's order, with a state of this size. */
async function measurePlans(planner: StateClient, mebibytes: number, pid: number): Promise<void> {
  await planner.act('lock');
  const state = ready(mebibytes, 'realistic');
  const { raw } = await planner.announce(state, 1_000_000 - mebibytes);
  const status = await planner.put(raw, state);
  if (status !== 200) throw new Error(`an upload was answered ${status}`);
  await planner.act('unlock');
  for (let i = 0; i < 10; i++) await planner.plan();
  const before = processorMs(pid);
  const times: number[] = [];
  for (let i = 0; i < plans; i++) {
    const start = performance.now();
    await planner.plan();
    times.push(performance.now() - start);
  }
  const [middle, p95, longest] = quantiles(times, 0.5, 0.95, 0.999);
  const spent = ((processorMs(pid) - before) / plans).toFixed(1);
  process.stdout.write(
    `| calls of a plan on a state of ${mebibytes} MiB: median ${middle}, p95 ${p95}, longest ${longest} | | | ${spent} |\n`,
  );
}

runOnStateService(measure);
