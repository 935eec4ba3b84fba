import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Crowd } from '../servers/callers';
import { benchRoot } from './child';
import { choosePinning, pinProcess } from './machine';
import { startOutside } from './outside-family';
import { type Ground, onGround, runProgram } from './program';
import { giveWay, Reader, resident, shown } from './reads';
import { ask } from './service';

const callers = 500;
const thinkMs = 2000;

/**
 * Shows the effect of 500 callers who wait for credentials of a slow scheduler on other callers and on memory. They
 * arrive within the milliseconds given as argument, by default at once. The service has its own core, and callers and
 * scheduler have a lower priority, as if on other machines. Linux only.
 */
async function main({ folder, postgres, atEnd }: Ground): Promise<void> {
  const pinning = choosePinning();
  pinProcess(pinning?.others, process.pid);
  const setting = { folder, postgres, cores: pinning?.server, atEnd };
  const { url, pid, root, standIns } = await startOutside(setting, thinkMs);
  const headers = { 'X-Service-Token': root };
  await ask(`${url}/v1/cubbyhole/one`, 'POST', headers, { value: 'x' });
  const reader = await Reader.start({ url: `${url}/v1/cubbyhole/one`, headers }, atEnd);
  const crowd = await startCrowd();
  atEnd(() => crowd.kill('SIGKILL'));
  for (const { pid } of [standIns, crowd]) giveWay(pid as number);
  const quiet = await reader.quiet();
  const before = resident(pid);
  process.kill(standIns.pid, 'SIGUSR2');
  const started = performance.now();
  const withinMs = Number(process.argv[2] ?? 0);
  const all = answered(crowd, { url: `${url}/v1/scheduler/creds/bench`, headers, count: callers, withinMs }).then(
    () => performance.now() - started,
  );
  const { times: crowded, peakMib: peak } = await reader.during(pid, all);
  const line = (what: string, times: readonly number[]) =>
    process.stdout.write(`${what}: ${times.length} reads, p50 ${shown(times, 0.5)} ms, p99 ${shown(times, 0.99)} ms\n`);
  line('without callers', quiet);
  line(`with ${callers} callers`, crowded);
  process.stdout.write(
    `p99 ${(Number(shown(crowded, 0.99)) / Number(shown(quiet, 0.99))).toFixed(2)} times; credentials for all after ` +
      `${((await all) / 1000).toFixed(1)} s; resident ${before} MiB before, ${peak} MiB at most\n`,
  );
}

/** The started program that sends all calls. */
async function startCrowd(): Promise<ChildProcess> {
  const file = path.join(benchRoot, 'servers', 'callers.ts');
  const child = fork(file, { cwd: benchRoot, execArgv: ['--import', 'tsx'] });
  await once(child, 'message');
  return child;
}

/** Resolves once every caller was answered. Throws if a caller was not. */
async function answered(child: ChildProcess, crowd: Crowd): Promise<void> {
  const message = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the callers ended (${code})`);
  });
  child.send(crowd);
  ended.catch(() => {});
  await Promise.race([message, ended]);
}

runProgram('', () => onGround({}, main));
