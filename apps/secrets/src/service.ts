import path from 'node:path';
import { ApiPage } from '@keystead/api-page';
import { applyMigrations, ensureDatabase, refusePoolOfTransactions, requireMigrated } from '@keystead/postgres';
import { followLog, Gate, type Logger, metricsOfAll, Registry } from '@keystead/server';
import type { Express } from 'express';
import { AccountsClient } from './backends/accounts/accounts-client';
import { Principals } from './backends/aws/principals';
import { TokenService } from './backends/aws/token-service';
import { DirectoryClient } from './backends/cloudone/directory-client';
import { ResourceClient } from './backends/cloudone/resource-client';
import { CloudTwo } from './backends/cloudtwo/cloud';
import { Databases } from './backends/database/databases';
import { Organizations } from './backends/github/organizations';
import { OidcProvider } from './backends/jwt/provider';
import { Cluster } from './backends/kubernetes/cluster';
import { Directory } from './backends/ldap/directory';
import { Probe } from './backends/pki/acme/probe';
import { Validations } from './backends/pki/acme/validations';
import { Scheduler } from './backends/scheduler/scheduler';
import type { Config } from './config';
import { createHttpApp } from './http/app';
import type { Catalog } from './kernel/mounts/mounts';
import { PathTree } from './kernel/mounts/path-tree';
import { SentPath } from './kernel/routing/sent-path';
import { OpenApiDocuments } from './openapi/document';
import { inFlight } from './pipeline/in-flight';
import type { Kernel } from './pipeline/kernel';
import { InputParsers } from './pipeline/parse-input';
import { handle } from './pipeline/pipeline';
import { registry as kinds, type Outside } from './registry';
import type { Path } from './sdk/path';
import { consoleEdge } from './service/console/edge';
import { standingMounts, usualMounts } from './service/first-mounts';
import { firstRun } from './service/first-run';
import { forgetOnReload } from './service/forget-on-reload';
import { addGauges } from './service/gauges';
import { buildModules, type Modules } from './service/modules';
import { Monitors } from './service/monitors';
import { runTicks } from './service/mount-ticks';
import type { ServiceParts } from './service/parts';
import { passwordPolicies } from './service/password-policies';
import { issuerBelow, pluginTokens } from './service/plugin-tokens';
import { storageTimes } from './service/storage-times';
import { systemPaths } from './service/system-paths';
import { version } from './service/version';
import { Origins } from './system/sys/browsers/origins';
import { ReleaseHistory } from './system/sys/node/release-history';
import { type InitialiseRequest, initialise } from './system/sys/seal/initialise';

/** A running service, without a listening socket. */
export interface Service {
  readonly app: Express;
  readonly kernel: Kernel;
  /** Where requests with large bodies wait for each other. */
  readonly largeBodies: Gate;
  ready(): Promise<{ ready: boolean; reasons: string[] }>;
  /** Initialises a new installation and writes its keys to a file; see `firstRun`. */
  firstRun(file: string): Promise<boolean>;
  /** Ends streamed responses, because the node is about to stop. */
  endStreams(): void;
  /** Reopens the audit files, as after log rotation. */
  reopenAudit(): Promise<void>;
  close(): Promise<void>;
}

/** A node that gets no heartbeats through the database for this long is not ready. */
const SILENCE_MS = 3000;

/** The maximum number of bodies of up to 32 MiB in memory at once; others wait without being read. */
const LARGE_BODIES = { atOnce: 3, waiting: 64, waitMs: 60_000 } as const;

const apiPage = {
  title: 'Keystead secrets service',
  document: 'v1/sys/internal/specs/openapi',
  server: 'v1',
  header: 'X-Service-Token',
  prefix: '',
  namespaceHeader: 'X-Service-Namespace',
} as const;

/** Builds a service from its configuration and gets it ready to answer. */
export async function createService(config: Config, parts: ServiceParts): Promise<Service> {
  await prepareSchema(config, parts.log);
  const makers = new Map<string, ReturnType<(typeof kinds)[number]['make']>>();
  const catalog: Catalog = {
    find(type, kind, options) {
      return makers.get(`${kind}/${type}`)?.(options);
    },
  };
  const measured = parts.registry ?? new Registry();
  const modules = await buildModules(config, { ...parts, observe: storageTimes(measured) }, catalog);
  const { storage, seal, audit, mounts, namespaces, quotas, leases } = modules;
  addGauges(measured, modules);
  const documents = new OpenApiDocuments({
    version,
    mountsVersion: () => mounts.version,
    mounts: (namespaceId) => mounts.list(namespaceId),
  });
  const origins = new Origins(storage);
  const history = new ReleaseHistory(storage, version);
  const first = [...standingMounts(), ...usualMounts(config.defaultMounts)];
  const begin = (request: InitialiseRequest) => initialise(modules, first, request);
  const monitors = new Monitors(parts.log, (follower) => followLog(parts.log, follower));
  const paths = systemPaths(modules, config, {
    initialise: begin,
    documents,
    origins,
    history,
    metrics: () => metricsOfAll(measured),
    log: parts.log,
    monitors,
    inFlight: () => inFlight(kernel),
  });
  const kernel = kernelOf(modules, config, parts.log, paths, documents);
  const outside = outsideOf(modules, config, parts.log, paths);
  forgetOnReload(modules, outside);
  for (const { type, kind, make } of kinds) makers.set(`${kind}/${type}`, make(outside));
  runTicks(modules, parts.log);
  seal.onOpen(async () => {
    await quotas.refresh();
    if (!config.standby) await history.add();
    await modules.storedAudit.refresh();
    if (!audit.active) parts.log.warn({}, NO_AUDIT);
  });
  seal.onClose(() => {
    monitors.endAll();
    mounts.clear();
    namespaces.clear();
    audit.clear();
    // The cached connections were opened with secrets of mounts.
    outside.database.databases.forgetAll();
  });
  await storage.start();
  await seal.start();
  await origins.refresh();
  const largeBodies = new Gate(LARGE_BODIES, 'large bodies');
  const app = createHttpApp({
    handle: (request) => handle(kernel, request),
    readBase64: (text) => (kernel.barrier.sealed ? undefined : SentPath.readBase64(text, namespaces, mounts)),
    rules: {
      familyHeaders: config.familyHeaders,
      trustedProxies: config.trustedProxies,
      certificateHeader: config.certificateHeader,
    },
    origins,
    log: parts.log,
    largeBodies,
    apiPage: config.apiPage ? new ApiPage(apiPage) : undefined,
    primaryUrl: config.standby?.primaryUrl,
    // There is no console on a standby, because signing in writes to the database.
    console: config.console.on && !config.standby ? consoleEdge(modules, kernel, config, parts.log) : undefined,
  });
  return {
    app,
    kernel,
    largeBodies,
    async ready() {
      const { initialised, sealed } = await seal.status();
      const silentMs = storage.changes.silenceMs;
      const reasons = [
        ...(initialised ? [] : ['not initialised']),
        ...(initialised && sealed ? ['sealed'] : []),
        ...(silentMs > SILENCE_MS ? ['the database does not answer'] : []),
        ...((await audit.devices.accepts()) ? [] : ['no audit device takes lines']),
        ...[storage.clockTrouble, storage.standbyLag?.trouble].filter((trouble) => trouble !== undefined),
      ];
      return { ready: reasons.length === 0, reasons };
    },
    firstRun: (file) => firstRun(seal, begin, file),
    endStreams: () => monitors.endAll(),
    reopenAudit: () => audit.devices.reopen(),
    async close() {
      monitors.endAll();
      leases.stop();
      await modules.reads
        .write()
        .catch((error) => parts.log.warn({ err: error }, 'the last recorded reads were not written'));
      await storage.stop();
      outside.database.databases.forgetAll();
      await audit.devices.close();
    },
  };
}

const NO_AUDIT =
  'no audit device: nothing records who reads what; SECRETS_AUDIT_STDOUT=on or SECRETS_AUDIT_FILE enables one (docs/guides/audit.md)';

/** Migrates the tables to this version, or checks that they have it. Throws if they belong to a newer version. */
async function prepareSchema({ databaseUrl: url, migrate, allowNewerSchema: allowNewer }: Config, log: Logger) {
  const options = { url, dir: migrations(), allowNewer };
  if (migrate) await ensureDatabase(url);
  await refusePoolOfTransactions(url);
  const unknown = migrate ? (await applyMigrations(options)).unknown : await requireMigrated(options);
  if (unknown.length > 0) log.warn({ migrations: unknown }, 'the database was migrated by a newer version');
}

/** The dependencies of the pipeline. */
function kernelOf(
  modules: Modules,
  config: Config,
  log: Logger,
  paths: readonly Path[],
  documents: OpenApiDocuments,
): Kernel {
  const { storage } = modules;
  return {
    ...modules,
    barrier: storage.barrier,
    clock: storage.clock,
    committer: storage.committer,
    entries: storage.entries,
    changes: storage.changes,
    chained: config.audit.table,
    inputs: new InputParsers({ refusesUnknown: config.unknownParameters === 'refuse' }),
    timeoutSeconds: config.requestTimeoutSeconds,
    silence: storage.silence,
    standby: storage.standbyLag && { lag: storage.standbyLag, primaryUrl: config.standby?.primaryUrl },
    help: (mount, declared) => documents.pathsDocument(mount, declared),
    whileSealed: new PathTree(paths.filter((declared) => declared.whileSealed)),
    log,
  };
}

/** The services that backends receive. */
function outsideOf(modules: Modules, config: Config, log: Logger, system: readonly Path[]): Outside {
  const { storage, mounts, namespaces, inBackground } = modules;
  const issuer = issuerBelow(config.publicUrl);
  const identityTokens = pluginTokens(issuer, { mounts, namespaces, inBackground });
  return {
    publicUrl: config.publicUrl,
    scheduler: new Scheduler(config.outside.scheduler, storage),
    cloudone: {
      defaults: config.outside.cloudone,
      directory: new DirectoryClient(storage.clock),
      resources: new ResourceClient(config.outside.cloudone.metadataHost, storage.clock),
    },
    cloudtwo: new CloudTwo({ ...config.outside.cloudtwo, identityTokens }, storage),
    database: { databases: new Databases(storage), policies: passwordPolicies({ mounts, inBackground }) },
    jwt: new OidcProvider({ clock: storage.clock, log }),
    kubernetes: new Cluster(storage.clock),
    accounts: new AccountsClient(storage),
    ldap: new Directory(storage.clock),
    cert: storage,
    github: new Organizations(storage.clock),
    aws: { tokenService: new TokenService(storage.clock), principals: new Principals(storage) },
    validations: new Validations(new Probe(config.outside.acme)),
    tokens: { ...modules, log },
    identity: { ...modules, issuer, publicUrl: config.publicUrl },
    system,
  };
}

function migrations(): string {
  return path.resolve(__dirname, '../../../prisma/secrets/migrations');
}
