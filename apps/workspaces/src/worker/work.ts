import type { Logger } from '@keystead/server';
import type { Tracing } from '@keystead/tracing';
import type { OwnConfig } from './config';
import type { WorkerDeps } from './deps';
import type { WorkerParts } from './job/carry-out';
import { startClaiming } from './job/claim-loop';
import { credentialsFor } from './job/credentials';
import type { JobSource } from './job/job-source';
import { recoverStates } from './job/recover';
import { SchemaCache } from './tool/provider-schemas';

/** A worker at work. */
export interface Work {
  /** Lets runs end, then interrupts them. */
  close(): Promise<void>;
}

/** What a worker does, with any source of jobs. */
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
