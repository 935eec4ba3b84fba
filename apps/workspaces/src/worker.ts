import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Keyring } from '@keystead/keyring';
import { Bell, createPool, DatabaseClock, DatabaseWatch } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import { startTracing } from '@keystead/tracing';
import { withObjects } from './kernel/blobs/chunks';
import { openS3 } from './kernel/blobs/s3-objects';
import type { Database } from './kernel/database/database';
import { queuedChannel } from './kernel/database/notices';
import { openDatabase } from './kernel/database/open-database';
import { openKeyring } from './keys';
import { addReleased, knownVersions } from './resources/administration/admin/infra-versions';
import { Turns } from './resources/connections/git-hosts/turns';
import { performEvaluations } from './resources/runs/policy-evaluations/perform';
import { revokeLeft } from './resources/runs/runs/jobs/inputs';
import { prepareSchema } from './schema';
import type { WorkerConfig } from './worker/config';
import type { WorkerDeps } from './worker/deps';
import { databaseFetches } from './worker/fetch/database-fetches';
import { startFetching, startLoop } from './worker/fetch/fetch-loop';
import { fetcherOf } from './worker/fetch/fetch-parts';
import { databaseSource } from './worker/job/job-source';
import { opaEngine } from './worker/policies/opa';
import { type Found, findReleased, type Product } from './worker/tool/catalogue';
import { startWork } from './worker/work';

/** A worker process at work. */
export interface Worker {
  readonly id: string;
  /** Lets runs end, then interrupts them. */
  close(): Promise<void>;
}

/** The host and name of an installation's database, without credentials. */
function installationOf(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(databaseUrl);
  return createHash('sha256')
    .update(`${searchParams.get('host') ?? host}${pathname}`)
    .digest('hex');
}

/** Fetches commits of repositories, if Git hosts are called at all. */
function startFetchingOf(
  config: WorkerConfig,
  { isolation }: WorkerDeps,
  { log, ...shared }: { db: Database; keyring: Keyring; log: Logger; workerId: string },
) {
  const { configurationBytes, vcs } = config.service;
  if (!vcs) return undefined;
  const fetcher = fetcherOf(config, isolation, { networks: vcs.networks, configurationBytes });
  return startFetching(databaseFetches({ ...shared, configurationBytes, fetcher }), log, 1000);
}

/** A plan whose evaluation takes longer than this delays only its own organization. */
const judgingPatienceMs = 5000;

/** Evaluates policies for plans, if there is an engine for that. */
function startJudgingOf(
  config: WorkerConfig,
  { opa, isolation }: WorkerDeps,
  parts: { db: Database; keyring: Keyring; log: Logger },
) {
  if (opa.length === 0) return undefined;
  const engine = opaEngine({ programs: opa, isolation, scratch: config.scratch });
  const turns = new Turns(judgingPatienceMs);
  const loop = startLoop(async () => (await performEvaluations({ ...parts, engine }, turns), false), {
    log: parts.log,
    pollMs: 500,
    problem: 'no plan could be evaluated by policies',
  });
  return { close: async () => void (await loop.close(), await turns.settled()) };
}

/** Adds new releases of vendors to the catalogue. Returns the added and the untrusted releases. */
export async function refreshCatalogue(
  { service, releases }: WorkerConfig,
  log: Logger,
  products: readonly Product[] = ['Terraform', 'OpenTofu'],
): Promise<Found> {
  await prepareSchema({ ...service, migrate: false }, log);
  const pool = createPool({ url: service.databaseUrl, max: 1, applicationName: 'keystead-catalogue' });
  const quickPool = createPool({
    url: service.databaseUrl,
    max: 1,
    applicationName: 'keystead-catalogue',
    pipeline: true,
  });
  const db = openDatabase(pool, quickPool);
  try {
    const found = await findReleased(releases, await knownVersions(db), products);
    for (const version of found.versions) await addReleased(db, version);
    return found;
  } finally {
    await db.close();
    await Promise.all([pool.end(), quickPool.end()]);
  }
}

/** Builds a worker and starts it: the second composition root of this app. */
export async function startWorker(config: WorkerConfig, deps: WorkerDeps, log: Logger): Promise<Worker> {
  const id = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
  const connect = (max: number, pipeline: boolean) =>
    createPool({
      url: config.service.databaseUrl,
      max,
      pipeline,
      applicationName: 'keystead-worker',
      onIdleError: (error) => log.warn({ err: error }, 'database connection lost'),
    });
  const { traces } = config.service;
  const tracing = startTracing(traces && { ...traces, service: 'keystead-worker' }, log);
  await prepareSchema({ ...config.service, migrate: false }, log);
  const pool = connect(config.jobs * 2 + 2, false);
  const quickPool = connect(1, true);
  const objects = config.service.objects && (await openS3(config.service.objects));
  const plain = openDatabase(pool, quickPool);
  const db = objects ? withObjects(plain, objects) : plain;
  const clock = new DatabaseClock({ toleranceMs: config.service.clockToleranceSeconds * 1000, log });
  const bell = new Bell();
  const watch = new DatabaseWatch({
    url: config.service.databaseUrl,
    applicationName: 'keystead-worker watch',
    clock,
    rings: { channel: queuedChannel, bell },
  });
  const disconnect = async () => {
    await watch.stop();
    await tracing?.close();
    await plain.close();
    await Promise.all([pool.end(), quickPool.end()]);
  };
  try {
    const keyring = await openKeyring(db, config.service.sealKey, (line) => log.warn(line));
    await watch.start();
    const secrets = config.service.secretsService;
    const source = databaseSource({
      db,
      keyring,
      workerId: id,
      leaseSeconds: config.leaseSeconds,
      versions: deps.binaries.map(({ version }) => version),
      secrets,
      issuer: config.service.publicUrl,
      now: clock.now,
      bell,
    });
    const work = await startWork({
      source,
      config,
      deps,
      log,
      tracing,
      installation: installationOf(config.service.databaseUrl),
      // The source waits up to a second for a job.
      pollMs: 50,
      tidy: () =>
        revokeLeft({ db, keyring, secrets }, (error) =>
          log.warn({ err: error }, 'credentials of a lost worker are not revoked yet'),
        ),
    });
    const fetching = startFetchingOf(config, deps, { db, keyring, log, workerId: id });
    const judging = startJudgingOf(config, deps, { db, keyring, log });
    return {
      id,
      async close() {
        await Promise.all([work.close(), fetching?.close(), judging?.close()]);
        await disconnect();
        keyring.destroy();
      },
    };
  } catch (error) {
    await disconnect();
    throw error;
  }
}
