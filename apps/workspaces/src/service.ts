import { ApiPage } from '@keystead/api-page';
import { ConsoleHost } from '@keystead/console-host';
import { Reach } from '@keystead/outside';
import {
  Bell,
  createPool,
  DatabaseClock,
  DatabaseWatch,
  isConnectionLoss,
  ReplayLag,
  Silence,
} from '@keystead/postgres';
import { clientAddress, createLogger, Gate, type Logger, type Registry, requestId } from '@keystead/server';
import type { Express } from 'express';
import type { Pool } from 'pg';
import { Gauge } from 'prom-client';
import type { Config } from './config';
import { buildApp } from './http/app';
import { AccessStore } from './kernel/access/access-store';
import { AccessTrail } from './kernel/audit/access-trail';
import { withObjects } from './kernel/blobs/chunks';
import { KeptBlobs } from './kernel/blobs/kept-blobs';
import { openS3 } from './kernel/blobs/s3-objects';
import type { Database } from './kernel/database/database';
import { queuedChannel } from './kernel/database/notices';
import { openDatabase } from './kernel/database/open-database';
import { Outage } from './kernel/database/outage';
import { dialectsOf } from './kernel/endpoints/dialect';
import type { Environment } from './kernel/endpoints/environment';
import { EventStreams } from './kernel/endpoints/event-streams';
import { Fragments } from './kernel/endpoints/fragments';
import { Routes } from './kernel/endpoints/routes';
import { Waiting } from './kernel/endpoints/waiting';
import { Watches } from './kernel/endpoints/watches';
import { Mailer } from './kernel/installation/mailer';
import { openKeyring } from './keys';
import { settingsReader } from './resources/installation/settings/service';
import { findByName } from './resources/organizations/organizations/service';
import { ConsoleSessions } from './resources/people/sessions/console';
import { consoleAdapter } from './resources/people/sessions/console-adapter';
import type { UserLimit } from './resources/people/sign-in-providers/groups';
import { SignIn } from './resources/people/sign-in-providers/sign-in';
import { createAuthenticator } from './resources/people/tokens/authenticate';
import { type FirstRun, firstRun } from './resources/people/tokens/first-run';
import { includablesOf, resources } from './resources/registry';
import { StateThreads, withStateThreads } from './resources/states/state-versions/scanner/state-threads';
import { prepareSchema } from './schema';

const TWO_WEEKS_IN_MINUTES = 20_160;

/** Connections for the reads at the start of every request and for shared writes: one for each running batch. */
const QUICK_CONNECTIONS = 4;

/** After a database has not answered for this long, requests do not wait for it. */
const SILENT_MS = 3000;

/** The limits of large uploads: three at a time; the others wait before their bodies are read. */
const largeUploads = { atOnce: 3, waiting: 64, waitMs: 60_000 } as const;

const apiPage = {
  title: 'Keystead workspace service',
  document: 'api/v2/openapi.json',
  server: '',
  header: 'Authorization',
  prefix: 'Bearer ',
} as const;

/** The parts of a service that does not listen yet. */
export interface Service {
  readonly app: Express;
  readonly db: Database;
  readonly env: Environment;
  readonly pool: Pool;
  /** Code reports here when it finds the storage unavailable. */
  readonly outage: Outage;
  /** Why nothing may expire on this node at present; undefined if things may expire. */
  readonly clockTrouble: () => string | undefined;
  /** Creates the first site administrator; undefined if an account already exists. */
  firstRun(options?: { username?: string; email?: string; password?: string }): Promise<FirstRun | undefined>;
  ready(): Promise<{ ready: boolean; reasons: string[] }>;
  close(): Promise<void>;
}

/** Dependencies that a caller can replace: clocks and the log. */
export interface ServiceOverrides {
  /** The clock to use instead of that of the database. */
  readonly now?: () => number;
  /** The clock of this machine, in epoch milliseconds. */
  readonly machineClock?: () => number;
  readonly log?: Logger;
  /** The registry of the metrics. */
  readonly registry?: Registry;
}

/** The console and its sessions. */
function consoleHost(config: Config, env: Environment, db: Database, log: Logger): ConsoleHost {
  const { keyring, now, edition, trail } = env;
  const { idleMinutes, sessionHours, secretsUrl } = config.console;
  const { publicUrl } = config;
  const sessions = new ConsoleSessions({ db, keyring, trail, publicUrl, now, idleMinutes, sessionHours });
  const userLimit: UserLimit = async (tx, name) => (await findByName(tx, env, name))?.entitlements.userLimit ?? null;
  const providers = new SignIn({ db, keyring, trail, now, publicUrl, sessions, userLimit });
  return new ConsoleHost({
    service: 'workspaces',
    sessions: consoleAdapter(sessions, { db, edition, secretsUrl, offered: () => providers.offered() }),
    providers,
    passkeys: sessions.passkeys,
    secureOnly: publicUrl.startsWith('https:'),
    from: (req) => ({ address: clientAddress(req, config.trustedProxies), requestId: requestId(req) }),
    onFault: (error, req) => log.error({ err: error, requestId: requestId(req) }, 'request failed'),
  });
}

function showLag(registry: Registry | undefined, lag: ReplayLag | undefined): void {
  new Gauge({
    name: 'standby_lag_seconds',
    help: 'Lag of the standby that this node reads from; 0 if it does not read from a standby.',
    registers: registry ? [registry] : [],
    collect() {
      this.set((lag?.ms ?? 0) / 1000);
    },
  });
}

/** Builds the service from its configuration: the only place that creates long-lived objects. */
export async function createService(config: Config, parts: ServiceOverrides = {}): Promise<Service> {
  const log = parts.log ?? createLogger({ name: 'workspaces', level: config.logLevel });
  const toleranceMs = config.clockToleranceSeconds * 1000;
  const clock = new DatabaseClock({ toleranceMs, machine: parts.machineClock, log });
  const now = parts.now ?? clock.now;
  const clockTrouble = () => (parts.now ? undefined : clock.trouble);
  await prepareSchema(config, log);
  const { standby } = config;
  const readsOnly = standby !== undefined;
  const lag = standby && new ReplayLag(standby.maxLagMs);
  const pool = createPool({
    url: config.databaseUrl,
    max: config.databaseConnections,
    standby: readsOnly,
    applicationName: 'keystead-workspaces',
    onIdleError: (error) => log.warn({ err: error }, 'database connection lost'),
  });
  const quickPool = createPool({
    url: config.databaseUrl,
    max: QUICK_CONNECTIONS,
    pipeline: true,
    planOnce: true,
    standby: readsOnly,
    applicationName: 'keystead-workspaces quick',
    onIdleError: (error) => log.warn({ err: error }, 'database connection lost'),
  });
  const silence = new Silence(SILENT_MS);
  for (const one of [pool, quickPool]) one.on('release', (error) => !error && silence.noteAnswer());
  const objects = config.objects && (await openS3(config.objects));
  const stateThreads = new StateThreads();
  const plain = withStateThreads(openDatabase(pool, quickPool), stateThreads);
  const db = objects ? withObjects(plain, objects) : plain;
  const keyring = await openKeyring(db, config.sealKey, (line) => log.warn(line), { readsOnly });
  const settings = settingsReader(db, config.edition, config.rateLimit);
  const outage = new Outage(log, now);
  const env: Environment = {
    edition: config.edition,
    aliases: config.aliases,
    reasons: config.reasons,
    checksSshKeys: config.checksSshKeys,
    checksSamlCertificates: config.checksSamlCertificates,
    configurationBytes: config.configurationBytes,
    publicUrl: config.publicUrl,
    hasConsole: config.console.on,
    defaultFeatureSet: config.defaultFeatureSet,
    ipRanges: config.ipRanges,
    vcsReach: config.vcs && new Reach(config.vcs.networks),
    vcsNetworks: config.vcs?.networks ?? [],
    keyring,
    notificationReach: new Reach(config.notifications.networks),
    mailer: config.notifications.smtp && new Mailer(config.notifications.smtp.url, config.notifications.smtp.from),
    accessStore: new AccessStore(pool, db, now),
    trail: new AccessTrail(db, now, log),
    keptBlobs: new KeptBlobs(db, keyring),
    largeUploads: new Gate(largeUploads, 'large uploads'),
    streams: new EventStreams(),
    waiting: new Waiting(),
    queuedBell: new Bell(),
    // Agents connect from outside, like browsers.
    secretsService: config.secretsService && {
      ...config.secretsService,
      address: config.console.secretsUrl ?? config.secretsService.address,
    },
    watches: new Watches({ db, keyring }, (error) => {
      if (isConnectionLoss(error)) outage.lost(error);
      else log.error({ err: error }, 'the watched runs could not be read');
    }),
    now,
    settings: settings.read,
    ...createAuthenticator({
      db,
      keyring,
      now,
      sessionIdleMinutes: TWO_WEEKS_IN_MINUTES,
      consoleIdleMinutes: config.console.idleMinutes,
      settings,
      workerTokens: config.workerTokens,
      readsOnly,
    }),
  };
  const endpoints = resources.flatMap((resource) => resource.endpoints);
  const app = buildApp({
    kernel: { db, env, includables: includablesOf(resources), fragments: new Fragments() },
    inside: new Routes(endpoints.filter((endpoint) => !endpoint.outside)),
    outside: new Routes(endpoints.filter((endpoint) => endpoint.outside)),
    dialectAt: dialectsOf(endpoints),
    trustedProxies: config.trustedProxies,
    log,
    outage,
    silence,
    standby: lag && { lag, primaryUrl: standby?.primaryUrl },
    apiPage: config.apiPage ? new ApiPage(apiPage) : undefined,
    // There is no console on a standby, because signing in writes to the database.
    console: config.console.on && !standby ? consoleHost(config, env, db, log) : undefined,
  });
  showLag(parts.registry, lag);
  const watch = new DatabaseWatch({
    url: config.databaseUrl,
    applicationName: 'keystead-workspaces watch',
    clock,
    silence,
    lag,
    rings: { channel: queuedChannel, bell: env.queuedBell },
  });
  await watch.start();
  return {
    app,
    db,
    env,
    pool,
    outage,
    clockTrouble,
    firstRun: (options) => firstRun(db, keyring, options),
    async ready() {
      const answers = await pool.query('SELECT 1').then(
        () => true,
        () => false,
      );
      const trouble = clockTrouble();
      const reasons = [
        ...(answers && !silence.lasts ? [] : ['the database does not answer']),
        ...[trouble, lag?.trouble].filter((one) => one !== undefined),
      ];
      return { ready: reasons.length === 0, reasons };
    },
    async close() {
      env.streams.endAll();
      env.waiting.endAll();
      env.watches.close();
      await watch.stop();
      silence.stop();
      await db.close();
      objects?.close();
      await Promise.all([pool.end(), quickPool.end()]);
      await stateThreads.close();
      keyring.destroy();
    },
  };
}
