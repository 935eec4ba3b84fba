import { createHash } from 'node:crypto';
import type { Logger } from '@keystead/server';
import type { Config } from '../config';
import type { InFlightRequest } from '../kernel/routing/in-flight';
import { RootGeneration } from '../kernel/seal/generate-root';
import { Rekey } from '../kernel/seal/rekey';
import { Rotation } from '../kernel/seal/rotation';
import { leastIntervalSeconds, leastOperations, mostOperations } from '../kernel/seal/rotation-plan';
import type { OpenApiDocuments } from '../openapi/document';
import { registry } from '../registry';
import type { Path } from '../sdk/path';
import { auditPaths } from '../system/sys/audit/audit';
import { auditChainPaths } from '../system/sys/audit/audit-chain';
import { auditReadsPath } from '../system/sys/audit/audit-reads';
import { auditedHeaderPaths } from '../system/sys/audit/audited-headers';
import { corsPaths } from '../system/sys/browsers/cors';
import { internalUiPaths } from '../system/sys/browsers/internal-ui';
import { openapiPath } from '../system/sys/browsers/openapi';
import type { Origins } from '../system/sys/browsers/origins';
import { leasePaths } from '../system/sys/leases/leases';
import { lockedUserPaths } from '../system/sys/logins/locked-users';
import { mfaValidatePath } from '../system/sys/logins/mfa';
import { mountPaths } from '../system/sys/mounts/mounts';
import { pluginReloadPath } from '../system/sys/mounts/plugin-reload';
import { remountPaths } from '../system/sys/mounts/remount';
import { namespaceChanges } from '../system/sys/namespaces/namespace-changes';
import { namespacePaths } from '../system/sys/namespaces/namespaces';
import { hostPaths } from '../system/sys/node/host';
import { inFlightPath } from '../system/sys/node/in-flight';
import { loggerPaths } from '../system/sys/node/loggers';
import { type LogMonitors, mayFollow, monitorPath } from '../system/sys/node/monitor';
import { nodePaths } from '../system/sys/node/node';
import type { ReleaseHistory } from '../system/sys/node/release-history';
import { Authority } from '../system/sys/policies/authority';
import { capabilitiesPaths } from '../system/sys/policies/capabilities';
import { explainPath } from '../system/sys/policies/explain';
import { passwordPolicyPaths } from '../system/sys/policies/password-policies';
import { policyPaths } from '../system/sys/policies/policies';
import { whoMayPath } from '../system/sys/policies/who-may';
import { quotaPaths } from '../system/sys/quotas/quotas';
import { type Initialised, type InitialiseRequest, mintRootToken } from '../system/sys/seal/initialise';
import { keyPaths } from '../system/sys/seal/keys';
import { rekeyPaths } from '../system/sys/seal/rekey';
import { rotateConfigPaths } from '../system/sys/seal/rotate-config';
import { statusPaths } from '../system/sys/seal/status';
import { toolPaths } from '../system/sys/tools/tools';
import { wrappingPaths } from '../system/sys/tools/wrapping';
import { standingMounts } from './first-mounts';
import { kvUpgrade } from './kv-upgrade';
import type { Modules } from './modules';
import { settingsOf } from './settings';
import { interfaceVersion, version } from './version';

/** The dependencies of the system's paths in addition to the kernel's modules. */
export interface SystemParts {
  readonly initialise: (request: InitialiseRequest) => Promise<Initialised>;
  readonly documents: OpenApiDocuments;
  readonly origins: Origins;
  readonly history: ReleaseHistory;
  readonly metrics: () => Promise<string>;
  readonly log: Logger;
  readonly monitors: LogMonitors;
  readonly inFlight: () => readonly InFlightRequest[];
}

/** Every path below `sys/`. */
export function systemPaths(modules: Modules, config: Config, parts: SystemParts): Path[] {
  const { storage, seal, audit, storedAudit, chain, reads, policies, mfa, tokens, wrapping, inBackground, mounts } =
    modules;
  const { barrier, jobs } = storage;
  const upgrade = kvUpgrade({ mounts, jobs, storage, inBackground });
  const mounting = { ...modules, jobs, ttls: config.ttls, upgrade, version };
  const authority = new Authority(modules);
  const rotation = new Rotation(storage, seal);
  let clusterId: string | undefined;
  return [
    ...statusPaths(seal, parts.initialise, {
      version: interfaceVersion,
      clusterName: config.clusterName,
      standby: config.standby,
      // Computed once for all health checks; rekeying does not change it.
      clusterId() {
        if (barrier.sealed) return undefined;
        clusterId ??= uuidFrom(barrier.derive('cluster-id'));
        return clusterId;
      },
    }),
    ...mountPaths(mounting, 'secret'),
    ...mountPaths(mounting, 'auth'),
    ...wrappingPaths(wrapping),
    ...remountPaths(mounting),
    ...namespacePaths(namespaceChanges({ ...modules, builtInMounts: standingMounts() })),
    ...internalUiPaths(modules),
    ...auditPaths(audit, storedAudit),
    ...auditedHeaderPaths(storedAudit),
    ...auditChainPaths(chain, audit.hash),
    auditReadsPath(reads),
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
    ...lockedUserPaths(modules),
    pluginReloadPath({ mounts, storage, kinds: registry }),
    monitorPath(parts.monitors, (token) => mayFollow(authority, token)),
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

/** A stable id derived from a key that only an unsealed node has. */
function uuidFrom(secret: Buffer): string {
  const hex = createHash('sha256').update(secret).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
