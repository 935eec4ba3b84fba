import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { createPool, DatabaseClock, DatabaseWatch } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import { withObjects } from './kernel/blobs/objects';
import { openS3 } from './kernel/blobs/s3-objects';
import { openDatabase } from './kernel/database/open-database';
import { openKeyring } from './keys';
import { jobBoard, type RunJob } from './resources/runs/runs/jobs/jobs';
import { prepareSchema } from './schema';
import type { WorkerConfig } from './worker/config';
import { startClaiming } from './worker/job/claim-loop';
import { credentialsFor, revokeLeftCredentials } from './worker/job/credentials';
import { recoverStates } from './worker/job/recover';
import type { Means } from './worker/means';

/** A worker process at work. */
export interface Worker {
  readonly id: string;
  /** Lets runs end, then interrupts them. */
  close(): Promise<void>;
}

/** The database of an installation, without who reaches it how. */
function installationOf(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(databaseUrl);
  return createHash('sha256')
    .update(`${searchParams.get('host') ?? host}${pathname}`)
    .digest('hex');
}

/** Builds a worker and starts it: the second composition root of this app. */
export async function startWorker(config: WorkerConfig, means: Means, log: Logger): Promise<Worker> {
  const id = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
  const connect = (max: number, pipeline: boolean) =>
    createPool({
      url: config.service.databaseUrl,
      max,
      pipeline,
      applicationName: 'keystead-worker',
      onIdleError: (error) => log.warn({ err: error }, 'database connection lost'),
    });
  await prepareSchema({ ...config.service, migrate: false }, log);
  const pool = connect(config.jobs * 2 + 2, false);
  const quickPool = connect(1, true);
  const objects = config.service.objects && (await openS3(config.service.objects));
  const plain = openDatabase(pool, quickPool);
  const db = objects ? withObjects(plain, objects) : plain;
  const clock = new DatabaseClock({ toleranceMs: config.service.clockToleranceSeconds * 1000, log });
  const watch = new DatabaseWatch({
    url: config.service.databaseUrl,
    applicationName: 'keystead-worker watch',
    clock,
  });
  const disconnect = async () => {
    await watch.stop();
    await plain.close();
    await Promise.all([pool.end(), quickPool.end()]);
  };
  try {
    const keyring = await openKeyring(db, config.service.sealKey, (line) => log.warn(line));
    await watch.start();
    const credentials = { db, keyring, workerId: id, log, now: clock.now, service: config.service.secretsService };
    const parts = {
      board: jobBoard,
      db,
      keyring,
      workerId: id,
      log,
      leaseSeconds: config.leaseSeconds,
      heartbeatMs: Math.min(2000, (config.leaseSeconds * 1000) / 5),
      graceSeconds: config.graceSeconds,
      logBytes: config.logBytes,
      credentials: (job: RunJob) => credentialsFor(credentials, job),
      executor: {
        workerId: id,
        installation: installationOf(config.service.databaseUrl),
        isolation: means.isolation,
        scratch: config.scratch,
        binaries: means.binaries,
        settings: config.tool,
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
    const claiming = startClaiming(parts, { parallel: config.jobs, pollMs: 1000 });
    const recovering = setInterval(() => {
      void means.closeAgain();
      recoverStates(parts)
        .then(() => revokeLeftCredentials(credentials))
        .catch((error) => log.error({ err: error }, 'not cleaned up'));
    }, 60_000);
    return {
      id,
      async close() {
        clearInterval(recovering);
        await claiming.close(config.drainSeconds);
        await disconnect();
        keyring.destroy();
      },
    };
  } catch (error) {
    await disconnect();
    throw error;
  }
}
