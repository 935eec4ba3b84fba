import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { createPool } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import { openDatabase } from './kernel/database';
import { withObjects } from './kernel/objects';
import { openS3 } from './kernel/s3-objects';
import { openKeyring } from './keys';
import { jobBoard } from './resources/runs/jobs';
import { type Binary, findBinaries } from './worker/binaries';
import { startClaiming } from './worker/claim-loop';
import type { WorkerConfig } from './worker/config';
import { revokeLeftCredentials } from './worker/credentials';
import { findIsolation, type Isolation } from './worker/isolation';
import { blockMetadata } from './worker/network';
import { recoverStates } from './worker/recover';
import { makeScratch, ownerOf } from './worker/scratch';

/** A worker that cannot start; the message says what to do. */
export class NoWorker extends Error {
  override readonly name = 'NoWorker';
}

/** What a machine offers to a worker. */
export interface Means {
  readonly binaries: readonly Binary[];
  readonly isolation: Isolation;
  /** What is enforced and what is not, a sentence each. */
  readonly said: readonly string[];
}

/** A worker process at work. */
export interface Worker {
  readonly id: string;
  /** Lets runs end, then interrupts them. */
  close(): Promise<void>;
}

const protectedBy: Readonly<Record<Isolation['kind'], string>> = {
  'private-root': 'runs are kept apart: own user ids, own processes, own file system',
  'user-namespace': 'runs are kept apart: own processes, own file system; they have no user id of their own',
  'own-user':
    'runs are kept apart by user ids alone: they see the processes and the world-readable files of this machine',
  'same-user': 'RUNS ARE NOT KEPT APART: whoever may start one reaches the keys and the database of this worker',
};

/** Finds out what this machine offers. Throws NoWorker where it is not enough. */
export async function findMeans(config: WorkerConfig): Promise<Means> {
  const binaries = await findBinaries(config.binaries, config.searchPath).catch((error: Error) => {
    throw new NoWorker(error.message);
  });
  if (binaries.length === 0)
    throw new NoWorker('neither terraform nor tofu is on the PATH: set WORKSPACES_WORKER_BINARY');
  const { scratch } = config;
  await makeScratch(scratch.root);
  const { isolation, lacking } = await findIsolation({
    options: config.isolation,
    scratch: scratch.root,
    owner: ownerOf(scratch, scratch.slots - 1),
    secrets: config.secrets,
    trustSameUser: config.trustSameUser,
  });
  if (!isolation) {
    throw new NoWorker(
      `runs cannot be kept apart here (${lacking.join('; ')}). WORKSPACES_WORKER_TRUST=same-user runs them all the same, with everything this worker can reach`,
    );
  }
  const said = [protectedBy[isolation.kind], ...lacking.map((reason) => `not possible here: ${reason}`)];
  if (config.isolation.network === 'none') said.push('runs have no network');
  else said.push(await metadataText(config, isolation), 'runs have the network of this machine');
  return { binaries, isolation, said };
}

async function metadataText({ scratch }: WorkerConfig, isolation: Isolation): Promise<string> {
  const last = scratch.firstUid + scratch.slots - 1;
  const problem = isolation.ownUid
    ? await blockMetadata({ first: scratch.firstUid, last })
    : 'runs have no user id of their own';
  return problem === undefined
    ? 'the metadata addresses of clouds are closed to runs'
    : `THE METADATA ADDRESS OF A CLOUD IS OPEN TO RUNS, if there is one: ${problem}`;
}

/** The database of an installation, without who reaches it how. */
function installationOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl);
  return createHash('sha256').update(`${host}${pathname}`).digest('hex');
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
  const pool = connect(config.jobs * 2 + 2, false);
  const quickPool = connect(1, true);
  const objects = config.service.objects && (await openS3(config.service.objects));
  const plain = openDatabase(pool, quickPool);
  const db = objects ? withObjects(plain, objects) : plain;
  const disconnect = async () => {
    await plain.close();
    await Promise.all([pool.end(), quickPool.end()]);
  };
  try {
    const keyring = await openKeyring(db, config.service.sealKey, (line) => log.warn(line));
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
      secretsService: config.service.secretsService,
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
        },
        stateEveryMs: 10_000,
      },
    };
    await recoverStates(parts);
    const claiming = startClaiming(parts, { parallel: config.jobs, pollMs: 1000 });
    const recovering = setInterval(() => {
      recoverStates(parts)
        .then(() => revokeLeftCredentials(parts))
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
