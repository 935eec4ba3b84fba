import cluster, { type Worker } from 'node:cluster';
import type { Listen } from '@keystead/settings';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { listenOn } from './listen';
import { Gathering } from './metrics-of-all';
import { createMetricsServer } from './metrics-server';
import { SharedPort } from './shared-port';

/** How a service uses several processes. */
export interface ProcessesOptions {
  /** The number of processes; 1 means only this process. */
  readonly count: number;
  readonly log: Pick<Logger, 'error'>;
  /** The address for the metrics of all processes. With one process, `serve` serves them itself. */
  readonly metrics?: Listen;
}

/** A process that ends sooner than this is not replaced at once. */
const SOON_MS = 10_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * Runs a service in one process, or in several behind the same port, which share state only through the database, like
 * nodes. The first process must listen before the others start, so that only it prepares the database. If it cannot
 * start, all processes end. A process that ends later is replaced; the connections of the other processes stay open.
 * SIGTERM and SIGINT drain and end all processes; SIGHUP is passed to each. In the parent of several processes,
 * resolves with the exit code when they have ended. Otherwise resolves with undefined as soon as the service runs.
 */
export async function runProcesses(options: ProcessesOptions, run: () => Promise<void>): Promise<number | undefined> {
  if (options.count > 1 && cluster.isPrimary) return supervise(options);
  try {
    await run();
  } catch (error) {
    // Without this, the channel to the parent would keep the process alive.
    cluster.worker?.disconnect();
    throw error;
  }
  return undefined;
}

/**
 * Runs the program of a service. If it fails to start, the process ends immediately with the reason and exit code 1,
 * even with open connections and timers, because a process that cannot serve must not appear to be running.
 */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: Error) => {
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    process.stderr.write(`${error.message}${cause}\n`);
    process.exit(1);
  });
}

/** Calls `stop` at the first SIGTERM or SIGINT. A second of the same kind ends the process immediately. */
export function onStop(stop: (signal: NodeJS.Signals) => Promise<void>): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      if (stopping) return;
      stopping = true;
      void stop(signal);
    });
  }
}

/** Whether this process is one of several behind one port. */
export const isOneOfSeveral = (): boolean => cluster.isWorker;

async function supervise({ count, log, metrics }: ProcessesOptions): Promise<number> {
  const port = new SharedPort();
  const gathering = new Gathering(() => port.receivers);
  cluster.on('message', (worker, message) => void gathering.hear(worker, message));
  const all = { contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics: () => gathering.metrics() };
  const metricsServer = metrics && createMetricsServer(all, metrics.tls);
  if (metricsServer) await listenOn(metricsServer, metrics);
  const code = await keepRunning(port, count, log);
  metricsServer?.close();
  return code;
}

/**
 * Resolves with the exit code when all processes have ended: on request, or because the first process could not start.
 */
function keepRunning(port: SharedPort, count: number, log: Pick<Logger, 'error'>): Promise<number> {
  const startedAtMs = new Map<Worker, number>();
  let answering = false;
  let stopping = false;
  let short = 0;
  const start = () => {
    if (!stopping) startedAtMs.set(cluster.fork(), performance.now());
  };
  const signal = (name: NodeJS.Signals) => {
    for (const worker of startedAtMs.keys()) worker.process.kill(name);
  };
  process.on('SIGHUP', () => signal('SIGHUP'));
  onStop(async () => {
    stopping = true;
    signal('SIGTERM');
  });
  cluster.on('message', async (worker, message) => {
    await port.hear(worker, message);
    if (answering || port.receivers.length === 0) return;
    answering = true;
    for (let next = 1; next < count; next++) start();
  });
  start();
  return new Promise((resolve) => {
    let worst = 0;
    cluster.on('exit', (worker, code: number | null, killedBy: string | null) => {
      const lived = performance.now() - (startedAtMs.get(worker) ?? 0);
      startedAtMs.delete(worker);
      port.drop(worker);
      if (stopping || !answering) {
        worst = Math.max(worst, code ?? (stopping ? 0 : 1));
        if (startedAtMs.size > 0) return;
        port.close();
        resolve(stopping ? worst : worst || 1);
        return;
      }
      short = lived < SOON_MS ? short + 1 : 0;
      const waitMs = short === 0 ? 0 : Math.min(500 * 2 ** short, LONGEST_WAIT_MS);
      log.error({ process: worker.id, code, signal: killedBy, waitMs }, 'a process ended; it is replaced');
      setTimeout(start, waitMs);
    });
  });
}
