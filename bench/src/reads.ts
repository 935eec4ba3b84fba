import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from './figures';
import { residentKib } from './machine';

const rounds = 1000;

/** Lowers the priority of a process, so that it takes no time from others. */
export function giveWay(pid: number): void {
  os.setPriority(pid, Math.min(os.constants.priority.PRIORITY_LOW, os.getPriority() + 10));
}

/** How long reads take, one every few milliseconds. */
export async function reads(read: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < rounds; n++) {
    times.push(await timed(read));
    await sleep(3);
  }
  return times;
}

/** The same until `work` is done, with the peak memory of the answering process. */
export async function readsDuring(
  read: () => Promise<unknown>,
  pid: number,
  work: Promise<unknown>,
): Promise<{ times: number[]; peakMib: number }> {
  let working = true;
  const done = work.finally(() => {
    working = false;
  });
  // Until it is awaited below.
  done.catch(() => {});
  const times: number[] = [];
  let peakMib = resident(pid);
  while (working) {
    times.push(await timed(read));
    peakMib = Math.max(peakMib, resident(pid));
    await sleep(3);
  }
  await done;
  return { times, peakMib };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A quantile of times in milliseconds; 1 is the longest. */
export const shown = (times: readonly number[], share: number): string =>
  quantile(
    [...times].sort((a, b) => a - b),
    share,
  ).toFixed(2);

/** What a process holds in memory now, in MiB. */
export const resident = (pid: number): number => Math.round(residentKib(pid) / 1024);
