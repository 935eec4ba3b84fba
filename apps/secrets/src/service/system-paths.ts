import { createHash } from 'node:crypto';
import type { Config } from '../config';
import { generatePassword, parsePasswordPolicy } from '../kernel/policy/password-policy';
import { RootGeneration } from '../kernel/seal/generate-root';
import { Rekey } from '../kernel/seal/rekey';
import { Rotation } from '../kernel/seal/rotation';
import type { OpenApiDocuments } from '../openapi/document';
import type { Kernel } from '../pipeline/kernel';
import type { Path } from '../sdk/path';
import { auditPaths } from '../system/sys/audit';
import { auditChainPaths } from '../system/sys/audit-chain';
import { capabilitiesPaths } from '../system/sys/capabilities';
import { corsPaths } from '../system/sys/cors';
import { explainPath } from '../system/sys/explain';
import { hostPaths } from '../system/sys/host';
import { internalUiPaths } from '../system/sys/internal-ui';
import { keyPaths } from '../system/sys/keys';
import { leasePaths } from '../system/sys/leases';
import { type LogPort, loggerPaths } from '../system/sys/loggers';
import { mfaValidatePath } from '../system/sys/mfa';
import { mountPaths } from '../system/sys/mounts';
import { namespacePaths } from '../system/sys/namespaces';
import { nodePaths } from '../system/sys/node';
import { openapiPath } from '../system/sys/openapi';
import { passwordPolicyPaths } from '../system/sys/password-policies';
import { policyPaths } from '../system/sys/policies';
import { quotaPaths } from '../system/sys/quotas';
import { rekeyPaths } from '../system/sys/rekey';
import { remountPaths } from '../system/sys/remount';
import { type SealPort, statusPaths } from '../system/sys/status';
import { toolPaths } from '../system/sys/tools';
import { wrappingPaths } from '../system/sys/wrapping';
import { authorityPort } from './authority-port';
import { documentPort } from './document-port';
import { leasePort } from './lease-port';
import type { Modules } from './modules';
import { mountPort } from './mount-port';
import { namespacePort } from './namespace-port';
import { nodePort } from './node-port';
import type { Origins } from './origins';
import { preflightPort } from './preflight-port';
import { quotaPort } from './quota-port';
import type { ReleaseHistory } from './release-history';
import { mintRootToken } from './seal-port';
import { interfaceVersion } from './version';

/** What the system's paths need besides the kernel's modules. */
export interface SystemParts {
  readonly kernel: () => Kernel;
  readonly seal: SealPort;
  readonly documents: OpenApiDocuments;
  readonly origins: Origins;
  readonly history: ReleaseHistory;
  readonly metrics: () => Promise<string>;
  /** Its level can be changed while the node runs. */
  readonly log: { level: string };
}

/** Every path below `sys/`. */
export function systemPaths(modules: Modules, config: Config, parts: SystemParts): Path[] {
  const { storage, seal, audit, chain, namespaces, mounts, policies, identity, mfa, tokens, quotas, leases, wrapping } =
    modules;
  const { kernel, documents, origins, history } = parts;
  const { barrier } = storage;
  const statusPart = statusPaths(parts.seal, {
    version: interfaceVersion,
    clusterName: config.clusterName,
    clusterId: () => (barrier.sealed ? undefined : uuidFrom(barrier.derive('cluster-id'))),
  });
  const mountAdmin = mountPort({
    mounts,
    namespaces,
    leases,
    identity,
    jobs: storage.jobs,
    storage,
    errand: modules.errand,
    ttls: config.ttls,
  });
  const authority = authorityPort(kernel, { identity, mfa }, quotas);
  return [
    ...statusPart,
    ...mountPaths(mountAdmin, 'secret'),
    ...mountPaths(mountAdmin, 'auth'),
    ...wrappingPaths(wrapping),
    ...remountPaths(mountAdmin),
    ...namespacePaths(namespacePort({ namespaces, mounts, leases, identity, storage })),
    ...internalUiPaths(preflightPort(kernel, identity)),
    ...auditPaths(audit),
    ...auditChainPaths(chain),
    ...toolPaths,
    openapiPath(documentPort(kernel, identity, documents)),
    ...hostPaths(history),
    ...nodePaths(nodePort(modules, config, parts.metrics)),
    ...corsPaths(origins),
    ...loggerPaths(logPort(parts.log)),
    ...rekeyPaths({ recovery: new Rekey(storage, seal, 'recovery'), barrier: new Rekey(storage, seal, 'barrier') }),
    ...keyPaths(new Rotation(storage, seal), new RootGeneration(storage, seal, (set) => mintRootToken(tokens, set))),
    ...leasePaths(leasePort({ leases, tokens, mounts, namespaces })),
    ...quotaPaths(quotaPort({ quotas, mounts, namespaces })),
    ...policyPaths(policies, mfa.stepUp),
    ...passwordPolicyPaths({
      check: parsePasswordPolicy,
      generate: (text) => generatePassword(parsePasswordPolicy(text)),
    }),
    ...capabilitiesPaths(authority),
    explainPath(authority),
    mfaValidatePath(mfa.logins),
  ];
}

/** Its name is the program's, as in the lines it writes. */
function logPort(log: { level: string }): LogPort {
  const configured = log.level;
  return {
    name: 'secrets',
    configured,
    get level() {
      return log.level;
    },
    set level(level) {
      log.level = level;
    },
  };
}

/** A stable id made from a key that only an unsealed node has. */
function uuidFrom(secret: Buffer): string {
  const hex = createHash('sha256').update(secret).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
