import { createHash } from 'node:crypto';
import path from 'node:path';
import { readSealKeys } from '@keystead/keyring';
import { applyMigrations } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import type { Express } from 'express';
import { DirectoryClient } from './backends/cloudone/directory-client';
import { ResourceClient } from './backends/cloudone/resource-client';
import { CloudTwo } from './backends/cloudtwo/cloud';
import { type Outside, registry } from './backends/registry';
import { Scheduler } from './backends/scheduler/scheduler';
import { auditPaths } from './backends/sys/audit';
import { auditChainPaths } from './backends/sys/audit-chain';
import { capabilitiesPaths } from './backends/sys/capabilities';
import { corsPaths } from './backends/sys/cors';
import { explainPath } from './backends/sys/explain';
import { hostPaths } from './backends/sys/host';
import { internalUiPaths } from './backends/sys/internal-ui';
import { keyPaths } from './backends/sys/keys';
import { leasePaths } from './backends/sys/leases';
import { mfaValidatePath } from './backends/sys/mfa';
import { mountPaths } from './backends/sys/mounts';
import { namespacePaths } from './backends/sys/namespaces';
import { openapiPath } from './backends/sys/openapi';
import { policyPaths } from './backends/sys/policies';
import { quotaPaths } from './backends/sys/quotas';
import { rekeyPaths } from './backends/sys/rekey';
import { remountPaths } from './backends/sys/remount';
import { statusPaths } from './backends/sys/status';
import { toolPaths } from './backends/sys/tools';
import { wrappingPaths } from './backends/sys/wrapping';
import type { Config } from './config';
import { createHttpApp } from './http/app';
import { Audit } from './kernel/audit/audit';
import { AuditChain } from './kernel/audit/chain';
import { FileDevice } from './kernel/audit/file-device';
import { stdoutDevice } from './kernel/audit/stdout-device';
import { Identity } from './kernel/identity/identity';
import { Leases } from './kernel/leases/leases';
import type { LeaseHosts } from './kernel/leases/types';
import { Mfa } from './kernel/mfa/mfa';
import { type Catalog, Mounts } from './kernel/mounts/mounts';
import { PathTree } from './kernel/mounts/path-tree';
import { Namespaces } from './kernel/namespaces/namespaces';
import { Access } from './kernel/policy/access';
import { PolicyStore } from './kernel/policy/store';
import { Quotas } from './kernel/quotas/quotas';
import { RootGeneration } from './kernel/seal/generate-root';
import { Rekey } from './kernel/seal/rekey';
import { Rotation } from './kernel/seal/rotation';
import { Seal } from './kernel/seal/seal';
import { StorageKernel } from './kernel/storage/storage';
import type { Clock, Fault } from './kernel/storage/types';
import { StoredTokens } from './kernel/tokens/tokens';
import { Wrapping } from './kernel/wrapping/wrapping';
import { OpenApiDocuments } from './openapi/document';
import type { Kernel } from './pipeline/kernel';
import { InputParsers } from './pipeline/parse-input';
import { handle } from './pipeline/pipeline';
import { lifetime } from './sdk/lifetime';
import type { Path } from './sdk/path';
import { authorityPort } from './service/authority-port';
import { documentPort } from './service/document-port';
import { errands } from './service/errands';
import { standingMounts, usualMounts } from './service/first-mounts';
import { identityPort } from './service/identity-port';
import { leasePort } from './service/lease-port';
import { authMounts, lineageOf, mfaPaths, mfaPort } from './service/mfa-port';
import { mountPort } from './service/mount-port';
import { namespacePort } from './service/namespace-port';
import { Origins } from './service/origins';
import { preflightPort } from './service/preflight-port';
import { quotaPort } from './service/quota-port';
import { ReleaseHistory } from './service/release-history';
import { mintRootToken, sealPort } from './service/seal-port';
import { tokenPort } from './service/token-port';

/** What a service is built with besides its configuration. */
export interface ServiceParts {
  readonly log: Logger;
  readonly clock?: Clock;
  readonly fault?: Fault;
}

/** A running service, without a listening socket. */
export interface Service {
  readonly app: Express;
  readonly kernel: Kernel;
  ready(): Promise<{ ready: boolean; reasons: string[] }>;
  /** Opens the audit files anew, as after log rotation. */
  reopenAudit(): Promise<void>;
  close(): Promise<void>;
}

/** Shown in sys/health, sys/seal-status and the OpenAPI document. */
export const version = '0.1.0';

/** Builds a service from its configuration and brings it to where it can answer. */
export async function createService(config: Config, { log, clock, fault }: ServiceParts): Promise<Service> {
  if (config.migrate) await applyMigrations({ url: config.databaseUrl, dir: migrations() });
  const storage = new StorageKernel({
    url: config.databaseUrl,
    maxConnections: config.databaseConnections,
    address: `${config.listen.host}:${config.listen.port}`,
    poll: config.databasePoll,
    clock,
    fault,
    log,
  });
  const { barrier, committer, changes, database, entries } = storage;
  const seal = new Seal(storage, { type: config.seal.type, sealKeys: () => readSealKeys(config.seal.key), log });
  const audit = new Audit(barrier, log);
  await addDevices(audit, config);
  const chain = new AuditChain({ database, barrier, clock: storage.clock });
  if (config.audit.table) {
    committer.chainAudit(chain.append);
    storage.background.every('audit-heads', 300_000, async () => {
      for (const head of await chain.heads()) if (head.chain === chain.id) log.info(head, 'end of the audit chain');
      return undefined;
    });
  }
  const namespaces = new Namespaces({ database, committer, changes, barrier, clock: storage.clock });
  const makers = new Map<string, ReturnType<(typeof registry)[number]['make']>>();
  const catalog: Catalog = {
    find(type, kind, options) {
      const backend = makers.get(type)?.(options);
      return backend && backend.kind === kind ? backend : undefined;
    },
  };
  const mounts = new Mounts({
    database,
    committer,
    changes,
    barrier,
    clock: storage.clock,
    catalog,
    ttls: config.ttls,
  });
  const policies = new PolicyStore({ database, committer, barrier, notices: changes, clock: storage.clock });
  const access = new Access({
    policies,
    notices: changes,
    clock: storage.clock,
    namespacePath: (id) => namespaces.find(id)?.path,
  });
  const identity = new Identity({
    database,
    committer,
    barrier,
    notices: changes,
    clock: storage.clock,
    isWithin(outer, inner) {
      const above = namespaces.find(outer)?.path;
      const below = namespaces.find(inner)?.path;
      return above !== undefined && below !== undefined && below.startsWith(above);
    },
  });
  const mfa = new Mfa(
    {
      database,
      committer,
      barrier,
      notices: changes,
      clock: storage.clock,
      lineage: (uuid) => lineageOf(namespaces, uuid),
    },
    authMounts(mounts, namespaces),
  );
  const tokens = new StoredTokens(storage);
  const quotas = new Quotas(storage, {
    lineage(uuid) {
      const namespace = namespaces.find(uuid);
      return namespace ? namespaces.lineage(namespace).map((one) => one.uuid) : [];
    },
    mountPath: (uuid) => mounts.find(uuid)?.path,
  });
  const hosts: LeaseHosts = {
    findMount: (uuid) => mounts.find(uuid),
    refreshMounts: () => mounts.refresh(),
    privateMountIds: () => [...mounts.all()].flatMap((m) => (m.backend.storage === 'per-token' ? [m.uuid] : [])),
    errand: errands({ entries, committer }, storage.clock),
    lifetime,
    quotasOf: (lease) => quotas.quotasOf(lease),
  };
  const leases = new Leases(storage, hosts);
  const wrapping = new Wrapping(storage, tokens, {
    privateMountId: (namespaceId) => mounts.at(namespaceId, 'cubbyhole/')!.uuid,
    findNamespace: (namespaceId) => namespaces.find(namespaceId),
    endToken: (record) => leases.endToken(record),
  });
  const statusPart = statusPaths(sealPort({ seal, tokens, mounts, storage, first: firstMounts(config) }), {
    version,
    clusterName: config.clusterName,
    clusterId: () => (barrier.sealed ? undefined : uuidFrom(barrier.derive('cluster-id'))),
  });
  const documents = new OpenApiDocuments({
    version,
    mountsVersion: () => mounts.version,
    mounts: (namespaceId) => mounts.list(namespaceId),
  });
  const origins = new Origins(storage);
  const history = new ReleaseHistory(storage, version);
  const mountAdmin = mountPort({ mounts, leases, identity, jobs: storage.jobs, ttls: config.ttls });
  const authority = authorityPort(
    () => kernel,
    identity,
    (namespaceId, at, address) => {
      const mountUuid = mounts.resolve(namespaceId, at)?.mount.uuid;
      const name = quotas.refusing({ namespaceId, mountUuid, path: at, address });
      return name === undefined ? undefined : `the rate limit ${JSON.stringify(name)} is used up`;
    },
  );
  const systemPaths: Path[] = [
    ...statusPart,
    ...mountPaths(mountAdmin, 'secret'),
    ...mountPaths(mountAdmin, 'auth'),
    ...wrappingPaths(wrapping),
    ...remountPaths(mountAdmin),
    ...namespacePaths(namespacePort({ namespaces, mounts, leases, identity, storage })),
    ...internalUiPaths(preflightPort(() => kernel, identity, policies)),
    ...auditPaths(audit),
    ...auditChainPaths(chain),
    ...toolPaths,
    openapiPath(documentPort(() => kernel, identity, documents)),
    ...hostPaths(history),
    ...corsPaths(origins),
    ...rekeyPaths({ recovery: new Rekey(storage, seal, 'recovery'), barrier: new Rekey(storage, seal, 'barrier') }),
    ...keyPaths(new Rotation(storage, seal), new RootGeneration(storage, seal, (set) => mintRootToken(tokens, set))),
    ...leasePaths(leasePort({ leases, tokens, mounts, namespaces })),
    ...quotaPaths(quotaPort({ quotas, mounts, namespaces })),
    ...policyPaths(policies),
    ...capabilitiesPaths(authority),
    explainPath(authority),
    mfaValidatePath(mfa.logins),
  ];
  const kernel: Kernel = {
    barrier,
    clock: storage.clock,
    committer,
    entries,
    namespaces,
    mounts,
    access,
    tokens,
    identity: identityPort(identity),
    mfa: mfaPort(mfa),
    leases,
    wrapping,
    quotas,
    audit,
    chained: config.audit.table,
    inputs: new InputParsers(),
    help: (mount, declared) => documents.pathDocument(mount, declared),
    whileSealed: new PathTree(systemPaths.filter((declared) => declared.whileSealed)),
    log,
  };
  const outside: Outside = {
    scheduler: new Scheduler(config.outside.scheduler),
    cloudone: {
      defaults: config.outside.cloudone,
      directory: new DirectoryClient(storage.clock),
      resources: new ResourceClient(config.outside.cloudone.metadataHost, storage.clock),
    },
    cloudtwo: new CloudTwo(config.outside.cloudtwo),
    tokens: tokenPort(() => kernel, { identity, leases, policies }),
    identity: {
      identity,
      mounts: {
        byAccessor: (accessor) => mounts.findByAccessor(accessor),
        byUuid: (uuid) => mounts.find(uuid),
        resolve: (id, at) => mounts.resolve(id, at)?.mount,
      },
      mfa: mfaPaths(mfa, { namespaces, identity }),
    },
    system: systemPaths,
  };
  for (const { type, make } of registry) makers.set(type, make(outside));
  seal.onOpen(async () => {
    await quotas.refresh();
    await history.add();
  });
  seal.onClose(() => {
    mounts.clear();
    namespaces.clear();
    audit.clear();
  });
  await storage.start();
  await seal.start();
  await origins.load();
  const app = createHttpApp({
    handle: (request) => handle(kernel, request),
    rules: { familyHeaders: config.familyHeaders, trustedProxies: config.trustedProxies },
    origins,
    log,
    timeoutSeconds: config.requestTimeoutSeconds,
  });
  return {
    app,
    kernel,
    async ready() {
      const { initialised, sealed } = await seal.status();
      const reasons = [...(initialised ? [] : ['not initialised']), ...(initialised && sealed ? ['sealed'] : [])];
      return { ready: reasons.length === 0, reasons };
    },
    reopenAudit: () => audit.reopen(),
    async close() {
      leases.stop();
      await storage.stop();
      await audit.close();
    },
  };
}

function migrations(): string {
  return path.resolve(__dirname, '../../../prisma/secrets/migrations');
}

async function addDevices(audit: Audit, { audit: config }: Config): Promise<void> {
  const limits = { sync: config.sync };
  if (config.file) audit.add(await FileDevice.open('file/', path.resolve(config.file), 'lines in a file', limits));
  if (config.stdout) audit.add(stdoutDevice('stdout/', 'lines on standard output', limits));
}

function firstMounts(config: Config) {
  return [...standingMounts(), ...usualMounts(config.defaultMounts)];
}

/** A stable id made from a key that only an unsealed node has. */
function uuidFrom(secret: Buffer): string {
  const hex = createHash('sha256').update(secret).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
