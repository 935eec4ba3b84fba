import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { startEmbedded } from '@keystead/postgres';
import { quantile } from './figures';
import { madeState } from './made-state';
import { startServiceProcess } from './service';
import { StateClient } from './state-client';

const plans = Number(process.argv[2] ?? 100);

/** Processor time a process has used, in ms. Linux counts it in hundredths of a second. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** What the calls of a plan take, one after the other as the tool makes them, against a state of 1 MiB. */
async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  const cleanups: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbedded({ dataDir: path.join(folder, 'postgres') });
    cleanups.push(() => postgres.stop({ immediate: true }));
    const firstRun = path.join(folder, 'first-run.json');
    const setting = { cores: undefined, postgres, atEnd: (cleanup: () => unknown) => cleanups.push(cleanup) };
    const { url, pid } = await startServiceProcess(
      'workspaces',
      {
        WORKSPACES_SEAL_KEY: randomBytes(32).toString('hex'),
        WORKSPACES_FIRST_RUN_FILE: firstRun,
        WORKSPACES_RATE_LIMIT: '0',
      },
      setting,
    );
    const { token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { token: string };
    const agent = new Agent({ keepAlive: true });
    const [planner] = (await StateClient.prepare(url, token, 1, agent)) as [StateClient];
    const state = madeState(1, 1, 'realistic');
    const { raw } = await planner.announce(state, 1);
    const status = await planner.put(raw, state);
    if (status !== 200) throw new Error(`the upload was answered ${status}`);
    await planner.act('unlock');
    for (let i = 0; i < 10; i++) await planner.plan();
    const before = processorMs(pid);
    const times: number[] = [];
    for (let i = 0; i < plans; i++) {
      const start = performance.now();
      await planner.plan();
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    const shown = [0.5, 0.95, 0.999].map((share) => `${quantile(times, share).toFixed(1)} ms`);
    process.stdout.write(
      `calls of a plan on a state of ${state.bytes} bytes, ${plans} plans: median ${shown[0]}, p95 ${shown[1]}, ` +
        `longest ${shown[2]}; processor time of the service ${((processorMs(pid) - before) / plans).toFixed(1)} ms a plan\n`,
    );
    agent.destroy();
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
