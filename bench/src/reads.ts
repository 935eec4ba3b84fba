import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Read } from '../servers/get';
import { benchRoot } from './child';
import { quantile } from './figures';
import { residentKib } from './machine';

const quietMs = 5000;

/** Lowers the priority of a process, so that it takes no time from others. */
export function giveWay(pid: number): void {
  os.setPriority(pid, Math.min(os.constants.priority.PRIORITY_LOW, os.getPriority() + 10));
}

/**
 * A process that reads an address every few milliseconds. It does nothing else: a client that also does the work stops
 * for its own garbage, up to 60 ms at a time, and this would be measured as a wait for the service.
 */
export class Reader {
  private constructor(private readonly child: ChildProcess) {}

  static async start(what: Read, atEnd: (work: () => void) => void): Promise<Reader> {
    const file = path.join(benchRoot, 'servers', 'reader.ts');
    // Several threads that collect garbage would wait for each other, as they share a core with PostgreSQL.
    const child = fork(file, { cwd: benchRoot, execArgv: ['--single-threaded-gc', '--import', 'tsx'] });
    atEnd(() => child.kill('SIGKILL'));
    await once(child, 'message');
    child.send(what);
    return new Reader(child);
  }

  /** Measures how long reads take, in ms, while nothing else happens; begins after a warm-up. */
  async quiet(): Promise<number[]> {
    await sleep(quietMs);
    await this.times();
    await sleep(quietMs);
    return this.times();
  }

  /** Measures how long reads take until `work` is done, and the peak memory of the process that answers. */
  async during(pid: number, work: Promise<unknown>): Promise<{ times: number[]; peakMib: number }> {
    await this.times();
    let peakMib = resident(pid);
    const watch = setInterval(() => {
      peakMib = Math.max(peakMib, resident(pid));
    }, 5);
    try {
      await work;
    } finally {
      clearInterval(watch);
    }
    return { times: await this.times(), peakMib };
  }

  /** The times since the last call; throws if the process ended, as after a read that failed. */
  private async times(): Promise<number[]> {
    const ended = once(this.child, 'exit').then(([code]) => {
      throw new Error(`the reader ended (${code})`);
    });
    ended.catch(() => {});
    const answer = once(this.child, 'message');
    this.child.send('times');
    const [times] = (await Promise.race([answer, ended])) as [number[]];
    if (times.length === 0) throw new Error('nothing was read');
    return times;
  }
}

/** A quantile of times in milliseconds; 1 is the longest. */
export const shown = (times: readonly number[], share: number): string =>
  quantile(
    [...times].sort((a, b) => a - b),
    share,
  ).toFixed(2);

/** The resident memory of a process now, in MiB. */
export const resident = (pid: number): number => Math.round(residentKib(pid) / 1024);
