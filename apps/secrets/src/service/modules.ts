import path from 'node:path';
import { readSealKeys } from '@keystead/keyring';
import { Reach } from '@keystead/outside';
import type { Config } from '../config';
import { Attempts } from '../kernel/attempts/attempts';
import { Audit } from '../kernel/audit/audit';
import { carrierTo } from '../kernel/audit/carriers';
import { AuditChain } from '../kernel/audit/chain';
import { DeviceFolder } from '../kernel/audit/device-folder';
import { FileDevice } from '../kernel/audit/file-device';
import { ReadTrail } from '../kernel/audit/reads';
import { ReceiverDevice } from '../kernel/audit/receiver-device';
import { stdoutDevice } from '../kernel/audit/stdout-device';
import { StoredAudit } from '../kernel/audit/stored-audit';
import { ConsoleSessions } from '../kernel/console/sessions';
import { Identity } from '../kernel/identity/identity';
import { Leases } from '../kernel/leases/leases';
import type { LeaseHosts } from '../kernel/leases/types';
import { Mfa } from '../kernel/mfa/mfa';
import { type Catalog, Mounts } from '../kernel/mounts/mounts';
import { lineageOf, subtreeOf } from '../kernel/namespaces/lineage';
import { Namespaces } from '../kernel/namespaces/namespaces';
import { Access } from '../kernel/policy/access';
import { PolicyStore } from '../kernel/policy/store';
import { Quotas } from '../kernel/quotas/quotas';
import { Seal } from '../kernel/seal/seal';
import type { ObserveStorage } from '../kernel/storage/database';
import { StorageKernel } from '../kernel/storage/storage';
import { StoredTokens } from '../kernel/tokens/tokens';
import { Wrapping } from '../kernel/wrapping/wrapping';
import { DecisionQueues } from '../pipeline/decision-queues';
import { lifetime } from '../sdk/lifetime';
import { authMounts } from './auth-mounts';
import { backgroundCalls } from './background-calls';
import type { ServiceParts } from './parts';

/**
 * How many milliseconds a caller may wait for a turn, for each second of a request's time limit. So callers get a
 * response before they disconnect.
 */
const PATIENCE_MS = 900;

/** The kernel's modules; each module gets its dependencies from the modules before it. */
export type Modules = Awaited<ReturnType<typeof buildModules>>;

/** Builds the kernel's modules, without starting or reading anything. */
export async function buildModules(
  config: Config,
  { log, clock, machineClock, fault, observe }: ServiceParts & { readonly observe: ObserveStorage },
  catalog: Catalog,
) {
  const storage = new StorageKernel({
    url: config.databaseUrl,
    maxConnections: config.databaseConnections,
    address: `${config.listen.host}:${config.listen.port}`,
    poll: config.databasePoll,
    standby: config.standby,
    clock,
    machineClock,
    clockToleranceMs: config.clockToleranceSeconds * 1000,
    fault,
    observe,
    log,
  });
  const { barrier, committer, changes, database, entries } = storage;
  const seal = new Seal(storage, { type: config.seal.type, sealKeys: () => readSealKeys(config.seal.key), log });
  const audit = new Audit(barrier, log);
  await addDevices(audit, config, log);
  const { directory, sync, receiversByApi } = config.audit;
  const folder = directory === undefined ? undefined : await DeviceFolder.open(directory);
  const receivers = receiversByApi && {
    reach: new Reach(receiversByApi.networks, false),
    syslog: receiversByApi.syslog,
  };
  const storedAudit = new StoredAudit({ storage, audit, folder, receivers, sync, log });
  const chain = new AuditChain({ database, barrier, clock: storage.clock, recording: config.audit.table });
  const reads = new ReadTrail({
    storage,
    line: (request) => audit.line(request),
    recording: config.audit.reads,
    days: config.audit.readsDays,
  });
  if (config.audit.table) {
    committer.chainAudit(chain.append);
    // The log is a copy of the chain heads outside the database. It is written at any log level, so that no caller can
    // suppress it by changing the level.
    const endLog = log.child({}, { level: 'info' });
    storage.background.every('audit-heads', 300_000, async () => {
      for (const head of await chain.heads()) if (head.chain === chain.id) endLog.info(head, 'end of the audit chain');
      return undefined;
    });
  }
  const namespaces = new Namespaces({ database, committer, changes, barrier, clock: storage.clock });
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
    isWithin: (outer, inner) => namespaces.within(outer, inner),
  });
  const attempts = new Attempts(storage);
  const mfa = new Mfa(
    {
      database,
      committer,
      barrier,
      notices: changes,
      clock: storage.clock,
      attempts,
      lineage: (uuid) => lineageOf(namespaces, uuid),
    },
    authMounts(mounts, namespaces),
  );
  const tokens = new StoredTokens(storage, namespaces);
  const quotas = new Quotas(storage, {
    lineage: (uuid) => lineageOf(namespaces, uuid),
    below: (uuid) => subtreeOf(namespaces, uuid),
    namespacePath: (uuid) => namespaces.find(uuid)?.path ?? '',
    mountPath: (uuid) => mounts.find(uuid)?.path,
  });
  const decisions = new DecisionQueues({
    entries,
    committer,
    amongOthers: () => changes.mustTell,
    patienceMs: config.requestTimeoutSeconds * PATIENCE_MS,
  });
  const hosts: LeaseHosts = {
    findMount: (uuid) => mounts.find(uuid),
    refreshMounts: () => mounts.refresh(),
    privateMountIds: () => [...mounts.all()].flatMap((m) => (m.backend.storage === 'per-token' ? [m.uuid] : [])),
    inBackground: backgroundCalls({ entries, committer, decisions }, storage.clock, () => leases),
    lifetime,
    quotasOf: (lease) => quotas.quotasOf(lease),
  };
  const leases: Leases = new Leases(storage, hosts);
  const wrapping = new Wrapping(storage, tokens, {
    privateMountId: (namespaceId) => mounts.at(namespaceId, 'cubbyhole/')!.uuid,
    findNamespace: (namespaceId) => namespaces.find(namespaceId),
    within: (outer, inner) => namespaces.within(outer, inner),
    endToken: (record) => leases.endToken(record),
  });
  const consoleSessions = new ConsoleSessions({
    storage,
    tokens,
    leases,
    identity,
    namespaces,
    rules: config.console.rules,
  });
  return {
    storage,
    seal,
    audit,
    storedAudit,
    chain,
    reads,
    namespaces,
    mounts,
    policies,
    access,
    identity,
    mfa,
    tokens,
    quotas,
    attempts,
    leases,
    wrapping,
    consoleSessions,
    decisions,
    inBackground: hosts.inBackground,
  };
}

async function addDevices(audit: Audit, { audit: config }: Config, log: ServiceParts['log']): Promise<void> {
  const limits = { sync: config.sync };
  const add = audit.devices.add.bind(audit.devices);
  if (config.file) {
    add(await FileDevice.open('file/', path.resolve(config.file), { description: 'lines in a file', ...limits }));
  }
  if (config.stdout) add(stdoutDevice('stdout/', 'lines on standard output', limits));
  for (const receiver of config.receivers) {
    const { type, timeoutMs } = receiver;
    const options: Record<string, string> =
      receiver.type === 'http'
        ? { uri: new URL(receiver.uri).origin }
        : { address: `${receiver.host}:${receiver.port}` };
    const carrier = carrierTo(receiver, undefined);
    const deviceOptions = {
      description: 'lines sent elsewhere',
      local: false,
      options,
      showsAccessors: false,
      prefix: '',
    };
    add(new ReceiverDevice(`${type}/`, type, { ...deviceOptions, carrier, timeoutMs, log }));
  }
}
