import type { Leases } from '../kernel/leases/leases';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { Tokens } from '../kernel/tokens/types';
import type { LeaseFacts, LeasePort } from '../system/sys/leases';

interface Parts {
  readonly leases: Leases;
  readonly tokens: Tokens;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

/** Administration of leases; ids from listings that stand for tokens are understood as well. */
export function leasePort({ leases, tokens, mounts, namespaces }: Parts): LeasePort {
  return {
    async find(namespaceId, id): Promise<LeaseFacts | undefined> {
      const hash = leases.tokenOf(id);
      if (!hash) return leases.find(namespaceId, id);
      const token = await tokens.findByHash(hash);
      // The tail alone finds the row; the rest of the id must be right as well.
      if (token?.namespaceId !== namespaceId || !id.startsWith(`${token.path}/h`)) return undefined;
      return {
        id,
        path: token.path,
        mountId: token.mountId ?? '',
        issuedAtMs: token.createdAtMs,
        expiresAtMs: token.expiresAtMs,
        renewedAtMs: token.lastRenewalMs,
        renewable: token.renewable,
      };
    },
    renew: (namespaceId, id, increment) => leases.renew(namespaceId, id, increment),
    revoke: (namespaceId, id, how) => leases.revoke(namespaceId, id, how),
    revokePrefix: (namespaceId, prefix, how) => leases.revokePrefix(namespaceId, prefix, how),
    list: (namespaceId, prefix, page) => leases.list(namespaceId, prefix, page),
    irrevocable: (namespaceIds, limit) => leases.irrevocable(namespaceIds, limit),
    countIrrevocable: (namespaceIds) => leases.countIrrevocable(namespaceIds),
    replay: (namespaceId, id) => leases.replay(namespaceId, id),
    tidy: () => leases.tidy(),
    bulkJob: (namespaceId, id) => leases.bulkJob(namespaceId, id),
    namespacesBelow(namespaceId) {
      const namespace = namespaces.find(namespaceId);
      return namespace ? [namespaceId, ...namespaces.below(namespace).map(({ uuid }) => uuid)] : [namespaceId];
    },
    mountAccessor: (mountId) => mounts.find(mountId)?.accessor,
  };
}
