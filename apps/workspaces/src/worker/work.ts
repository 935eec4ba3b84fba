import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@keystead/server';
import type { Tracing } from '@keystead/tracing';
import type { OwnConfig } from './config';
import type { WorkerDeps } from './deps';
import { readInside } from './files/read-inside';
import { type Leftover, sweepScratch } from './isolation/scratch';
import { type Carrying, carryOut, type WorkerParts } from './job/carry-out';
import { credentialsFor } from './job/credentials';
import type { JobSource } from './job/job-source';
import { Failing } from './job/retry';
import type { Note } from './tool/execute';
import { stateFile } from './tool/job-files';
import { SchemaCache } from './tool/provider-schemas';

/** A worker at work. */
export interface Work {
  /** Lets runs end, then interrupts them. */
  close(): Promise<void>;
}

/** The parts of a worker, for any source of jobs. */
export async function startWork(options: {
  source: JobSource;
  config: OwnConfig;
  deps: WorkerDeps;
  log: Logger;
  tracing?: Tracing;
  /** Distinguishes the installations whose workers share a machine. */
  installation: string;
  /** How long to wait before another claim if there was no job. */
  pollMs: number;
  /** Called about once a minute. */
  tidy?(): Promise<unknown>;
}): Promise<Work> {
  const { source, config, deps, log, tracing, installation, pollMs, tidy } = options;
  const parts: WorkerParts = {
    source,
    log,
    tracing,
    heartbeatMs: Math.min(2000, (source.leaseSeconds * 1000) / 5),
    graceSeconds: config.graceSeconds,
    logBytes: config.logBytes,
    credentials: (job, concealer, environment) => credentialsFor(source, log, job, concealer, environment),
    // Health checks look at the age of this file (docs/deploy/heard).
    heard: () => void writeFile(path.join(config.scratch.root, 'heard'), '', { mode: 0o600 }).catch(() => undefined),
    executor: {
      workerId: source.workerId,
      installation,
      isolation: deps.isolation,
      scratch: config.scratch,
      binaries: deps.binaries,
      settings: config.tool,
      schemas: new SchemaCache(32 * 1024 * 1024),
      limits: {
        archive: { bytes: config.archiveBytes, entries: 200_000 },
        stateBytes: 512 * 1024 * 1024,
        planBytes: config.archiveBytes,
        disk: { bytes: config.diskBytes, everyMs: 3000, graceMs: config.graceSeconds * 1000 },
      },
      stateEveryMs: 10_000,
    },
  };
  await recoverStates(parts);
  const claiming = startClaiming(parts, { parallel: config.jobs, pollMs });
  const recovering = setInterval(() => {
    void deps.closeAgain();
    recoverStates(parts)
      .then(() => tidy?.())
      .catch((error) => log.error({ err: error }, 'not cleaned up'));
  }, 60_000);
  return {
    async close() {
      clearInterval(recovering);
      await claiming.close(config.drainSeconds);
    },
  };
}

/** The jobs that a worker takes and carries out. */
interface Claiming {
  /** Takes no more jobs, waits a while for the current ones to end, then stops them. */
  close(drainSeconds: number): Promise<void>;
  /** The number of jobs in progress. */
  count(): number;
}

const longestPauseMs = 10_000;

/** Takes jobs, up to `parallel` at a time, until it is closed. */
export function startClaiming(parts: WorkerParts, options: { parallel: number; pollMs: number }): Claiming {
  const { source, log } = parts;
  const stopped = new AbortController();
  const carrying = new Set<Carrying>();
  const executing = new Set<Carrying>();
  const failing = new Failing(log, 'no job could be taken');
  let closing = false;
  let wake = () => {};
  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const claim = async (): Promise<boolean> => {
    const job = await source.claim(stopped.signal);
    parts.heard?.();
    if (!job) return false;
    if (closing) {
      await source.release(job);
      return false;
    }
    const one = carryOut(parts, job);
    carrying.add(one);
    executing.add(one);
    // The next job need not wait until this one's result is handed in.
    void one.executed.then(() => {
      executing.delete(one);
      wake();
    });
    void one.done.finally(() => {
      carrying.delete(one);
      wake();
    });
    return true;
  };
  const looping = (async () => {
    let pauseMs = options.pollMs;
    while (!closing) {
      try {
        // An apply keeps its slot until its result is handed in.
        const most = Math.min(options.parallel * 2, parts.executor.scratch.slots);
        const hasRoom = executing.size < options.parallel && carrying.size < most;
        const more = hasRoom && (await claim());
        pauseMs = options.pollMs;
        failing.worked();
        if (more) continue;
      } catch (error) {
        if (closing) break;
        failing.failed(error);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
      if (!closing) await rest(pauseMs);
    }
  })();
  return {
    count: () => carrying.size,
    async close(drainSeconds) {
      closing = true;
      stopped.abort();
      wake();
      await looping;
      const ended = Promise.all([...carrying].map(({ done }) => done));
      const drain = new AbortController();
      await Promise.race([
        ended,
        sleep(drainSeconds * 1000, undefined, { signal: drain.signal }).catch(() => undefined),
      ]);
      drain.abort();
      for (const one of carrying) one.stop();
      await ended;
      await source.retire().catch((error) => log.warn({ err: error }, 'not deregistered'));
    },
  };
}

/**
 * Cleans up after workers of this machine that died: their processes, their folders, and their jobs, so that no one
 * waits for them. The state of an unfinished apply is uploaded first: as the run's state if the job was not given to
 * another worker, otherwise to quarantine.
 */
export async function recoverStates(parts: WorkerParts): Promise<void> {
  const { executor, log } = parts;
  const removed = await sweepScratch(executor.scratch, executor.isolation, (leftover) => handIn(parts, leftover));
  if (removed.length > 0) log.warn({ folders: removed.length }, 'cleaned up after a worker that was killed');
}

async function handIn(parts: WorkerParts, { jobFolder, note }: Leftover): Promise<void> {
  const { source, log, executor } = parts;
  const { job, workerId, installation, applies, stateMd5 } = (note ?? {}) as Note;
  if (!job || !workerId) return;
  const isOurs = installation === executor.installation;
  if (!applies) return isOurs ? source.abandon(job, workerId) : undefined;
  const limit = executor.limits.stateBytes;
  const state = await readInside(jobFolder.folder, stateFile(job), { limit, uid: jobFolder.owner?.uid });
  const isNew = state !== undefined && createHash('md5').update(state).digest('hex') !== stateMd5;
  if (!isOurs && isNew) throw new Error('the state belongs to another installation, whose workers will upload it');
  if (!isOurs) return;
  const found = isNew
    ? 'its state was found'
    : 'it saved no newer state, so check whether the infrastructure matches the state';
  const result = {
    outcome: 'errored',
    ...(isNew ? { state } : {}),
    errorMessage: `The worker was killed while applying; ${found}`,
  } as const;
  try {
    const own = await source.finishApply(job, result, workerId);
    log.warn({ run: job.runId, own, state: isNew }, 'an interrupted apply was ended');
  } catch (error) {
    log.error({ err: error, run: job.runId }, 'an interrupted apply could not be ended');
    throw error;
  }
}
