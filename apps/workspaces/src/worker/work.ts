import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '@keystead/server';
import type { Tracing } from '@keystead/tracing';
import type { OwnConfig } from './config';
import type { WorkerDeps } from './deps';
import { readInside } from './files/read-inside';
import { type Leftover, sweepScratch } from './isolation/scratch';
import type { WorkerParts } from './job/carry-out';
import { startClaiming } from './job/claim-loop';
import { credentialsFor } from './job/credentials';
import type { JobSource } from './job/job-source';
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
  /** How long to wait after there was no job. */
  pollMs: number;
  /** Done about once a minute. */
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
    credentials: (job, environment) => credentialsFor(source, log, job, environment),
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
  const left = await readInside(jobFolder.folder, stateFile(job), { limit, uid: jobFolder.owner?.uid });
  const isNew = left !== undefined && createHash('md5').update(left).digest('hex') !== stateMd5;
  if (!isOurs && isNew) throw new Error('the state of another installation, which its workers will upload');
  if (!isOurs) return;
  const found = isNew ? 'its state was found' : 'it saved no newer state, so compare the infrastructure with the state';
  const result = {
    outcome: 'errored',
    ...(isNew ? { state: left } : {}),
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
