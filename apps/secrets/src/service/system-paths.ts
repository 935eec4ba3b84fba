import { createHash } from 'node:crypto';
import type { Logger } from '@keystead/server';
import type { Config } from '../config';
import { RootGeneration } from '../kernel/seal/generate-root';
import { Rekey } from '../kernel/seal/rekey';
import { Rotation } from '../kernel/seal/rotation';
import { leastIntervalSeconds, leastOperations, mostOperations } from '../kernel/seal/rotation-plan';
import type { OpenApiDocuments } from '../openapi/document';
import { registry } from '../registry';
import type { Path } from '../sdk/path';
import { auditPaths } from '../system/sys/audit';
import { auditChainPaths } from '../system/sys/audit-chain';
import { auditedHeaderPaths } from '../system/sys/audited-headers';
import { Authority } from '../system/sys/authority';
import { capabilitiesPaths } from '../system/sys/capabilities';
import { corsPaths } from '../system/sys/cors';
import { explainPath } from '../system/sys/explain';
import { hostPaths } from '../system/sys/host';
import { type InFlightPort, inFlightPath } from '../system/sys/in-flight';
import { type Initialised, type InitialiseRequest, mintRootToken } from '../system/sys/initialise';
import { internalUiPaths } from '../system/sys/internal-ui';
import { keyPaths } from '../system/sys/keys';
import { leasePaths } from '../system/sys/leases';
import { lockedUserPaths } from '../system/sys/locked-users';
import { loggerPaths } from '../system/sys/loggers';
import { mfaValidatePath } from '../system/sys/mfa';
import { type MonitorPort, monitorPath } from '../system/sys/monitor';
import { mountPaths } from '../system/sys/mounts';
import { namespaceChanges } from '../system/sys/namespace-changes';
import { namespacePaths } from '../system/sys/namespaces';
import { nodePaths } from '../system/sys/node';
import { openapiPath } from '../system/sys/openapi';
import type { Origins } from '../system/sys/origins';
import { passwordPolicyPaths } from '../system/sys/password-policies';
import { pluginReloadPath } from '../system/sys/plugin-reload';
import { policyPaths } from '../system/sys/policies';
import { quotaPaths } from '../system/sys/quotas';
import { rekeyPaths } from '../system/sys/rekey';
import type { ReleaseHistory } from '../system/sys/release-history';
import { remountPaths } from '../system/sys/remount';
import { rotateConfigPaths } from '../system/sys/rotate-config';
import { statusPaths } from '../system/sys/status';
import { toolPaths } from '../system/sys/tools';
import { whoMayPath } from '../system/sys/who-may';
import { wrappingPaths } from '../system/sys/wrapping';
import { standingMounts } from './first-mounts';
import { kvUpgrade } from './kv-upgrade';
import { lockedUsersPort } from './locked-users-port';
import type { Modules } from './modules';
import { reloadPort } from './reload-port';
import { settingsOf } from './settings';
import { interfaceVersion, version } from './version';

/** What the system's paths need besides the kernel's modules. */
export interface SystemParts {
  readonly initialise: (request: InitialiseRequest) => Promise<Initialised>;
  readonly documents: OpenApiDocuments;
  readonly origins: Origins;
  readonly history: ReleaseHistory;
  readonly metrics: () => Promise<string>;
  readonly log: Logger;
  readonly monitors: MonitorPort;
  readonly inFlight: InFlightPort;
}

/** Every path below `sys/`. */
export function systemPaths(modules: Modules, config: Config, parts: SystemParts): Path[] {
  const { storage, seal, audit, storedAudit, chain, policies, mfa, tokens, wrapping, inBackground, mounts } = modules;
  const { barrier, jobs } = storage;
  const upgrade = kvUpgrade({ mounts, jobs, storage, inBackground });
  const mounting = { ...modules, jobs, ttls: config.ttls, upgrade };
  const authority = new Authority(modules);
  const rotation = new Rotation(storage, seal);
  return [
    ...statusPaths(seal, parts.initialise, {
      version: interfaceVersion,
      clusterName: config.clusterName,
      clusterId: () => (barrier.sealed ? undefined : uuidFrom(barrier.derive('cluster-id'))),
    }),
    ...mountPaths(mounting, 'secret'),
    ...mountPaths(mounting, 'auth'),
    ...wrappingPaths(wrapping),
    ...remountPaths(mounting),
    ...namespacePaths(namespaceChanges({ ...modules, standing: standingMounts() })),
    ...internalUiPaths(modules),
    ...auditPaths(audit, storedAudit),
    ...auditedHeaderPaths(storedAudit),
    ...auditChainPaths(chain, audit.hash),
    ...toolPaths,
    openapiPath(modules, parts.documents),
    ...hostPaths(parts.history),
    ...nodePaths(modules, {
      version,
      scheme: config.listen.tls ? 'https' : 'http',
      settings: () => settingsOf(config),
      metrics: parts.metrics,
      kinds: registry,
    }),
    ...corsPaths(parts.origins),
    inFlightPath(parts.inFlight),
    ...lockedUserPaths(lockedUsersPort(modules)),
    pluginReloadPath(reloadPort(modules)),
    monitorPath(parts.monitors, async (token) => (await tokens.find(token)) !== undefined),
    ...rotateConfigPaths({
      rules: () => rotation.plan.rules(),
      change: (change) => rotation.plan.change(change),
      bounds: { leastIntervalSeconds, leastOperations, mostOperations },
    }),
    ...loggerPaths(parts.log),
    ...rekeyPaths({ recovery: new Rekey(storage, seal, 'recovery'), barrier: new Rekey(storage, seal, 'barrier') }),
    ...keyPaths(rotation, new RootGeneration(storage, seal, (set) => mintRootToken(tokens, set))),
    ...leasePaths(modules),
    ...quotaPaths(modules),
    ...policyPaths(policies, mfa.stepUp),
    ...passwordPolicyPaths(),
    ...capabilitiesPaths(authority),
    explainPath(authority),
    whoMayPath(modules),
    mfaValidatePath(mfa.logins),
  ];
}

/** A stable id made from a key that only an unsealed node has. */
function uuidFrom(secret: Buffer): string {
  const hex = createHash('sha256').update(secret).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
