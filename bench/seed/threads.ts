import { once } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Portion, SealingData } from './sealing';
import type { What } from './tables';

const ROWS = 2000;
// A thread does not inherit the hooks that make node read TypeScript.
const program = `require('tsx/cjs'); require(${JSON.stringify(path.join(__dirname, 'sealing.ts'))});`;
/** Queued portions per thread, so that it never waits for the database. */
const AHEAD = 3;

/** Threads that generate rows. `rows` may be called for one table at a time. */
export class SealingThreads {
  private constructor(private readonly workers: readonly Worker[]) {}

  static async start(count: number, data: SealingData): Promise<SealingThreads> {
    const workers = Array.from({ length: count }, () => new Worker(program, { eval: true, workerData: data }));
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    return new SealingThreads(workers);
  }

  /** The rows of `count` numbers, in portions, in no particular order. */
  async *rows(what: What, count: number): AsyncGenerator<Uint8Array> {
    let next = 0;
    let remaining = Math.ceil(count / ROWS);
    const rows: Uint8Array[] = [];
    let wake = (): void => {};
    let failure: Error | undefined;
    const ask = (worker: Worker): void => {
      if (next >= count) return;
      const portion: Portion = { what, from: next, to: Math.min(next + ROWS, count) };
      next = portion.to;
      worker.postMessage(portion);
    };
    const failed = (error: Error): void => {
      failure = error;
      wake();
    };
    const takers = this.workers.map((worker) => (bytes: Uint8Array) => {
      rows.push(bytes);
      // Rows are not generated faster than the database accepts them.
      if (rows.length < AHEAD * this.workers.length) ask(worker);
      else idle.push(worker);
      wake();
    });
    const idle: Worker[] = [];
    this.workers.forEach((worker, index) => {
      worker.on('message', takers[index]!);
      worker.on('error', failed);
      for (let n = 0; n < AHEAD; n++) ask(worker);
    });
    try {
      while (remaining > 0) {
        if (failure) throw failure;
        const bytes = rows.shift();
        if (bytes) {
          yield bytes;
          remaining--;
          const worker = idle.shift();
          if (worker) ask(worker);
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.workers.forEach((worker, index) => {
        worker.off('message', takers[index]!);
        worker.off('error', failed);
      });
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}
