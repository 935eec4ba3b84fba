import { Refusal } from '@keystead/refusal';
import type { Identity } from '../kernel/identity/identity';
import type { Leases } from '../kernel/leases/leases';
import type { PolicyStore } from '../kernel/policy/store';
import type { TokenRecord } from '../kernel/tokens/types';
import { authOf } from '../pipeline/issue-token';
import type { Kernel } from '../pipeline/kernel';
import type { TokenDetails, TokenPort } from '../system/token/port';

/** What the token backend is lent. */
export function tokenPort(
  kernel: () => Kernel,
  parts: { identity: Identity; leases: Leases; policies: PolicyStore },
): TokenPort {
  const { identity, leases, policies } = parts;
  const record = (token: TokenDetails) => token as TokenRecord;
  return {
    findOwn: (token) => kernel().tokens.find(token),
    find: (namespaceId, token) => kernel().tokens.findWithin(namespaceId, token),
    findByAccessor: (namespaceId, accessor) => kernel().tokens.findByAccessor(namespaceId, accessor),
    listAccessors: (namespaceId, page) => kernel().tokens.listAccessors(namespaceId, page),
    async renew(token, increment) {
      const renewed = await leases.renewal.renew(record(token), increment);
      const { entityId, mountId } = renewed.record;
      if (entityId !== undefined && mountId !== undefined) {
        const entity = await identity.views.of(entityId);
        if (entity) await identity.logins.rejoin(entity.entityId, mountId, renewed.groupAliases);
      }
      return renewed;
    },
    revoke: (token) => leases.endToken(record(token)),
    async revokeOrphan(token) {
      if (!(await leases.tokens.endAlone(record(token).hash))) {
        throw new Refusal('invalid', 'token to revoke not found');
      }
    },
    tidy() {
      for (const begun of [leases.tidy(), leases.privateTidy.start()]) {
        begun.catch((error) => kernel().log.warn({ err: error }, 'tidy failed'));
      }
    },
    describe: (token, details, ttlSeconds) => authOf(kernel(), { token, record: record(details) }, ttlSeconds),
    async identityPolicies(entityId) {
      const view = await identity.views.of(entityId);
      const external: Record<string, readonly string[]> = {};
      for (const { namespaceId, names } of view?.policies ?? []) {
        const path = kernel().namespaces.find(namespaceId)?.path;
        if (path !== undefined && namespaceId !== view!.namespaceId) external[path] = names;
      }
      return { own: view?.ownPolicies ?? [], external };
    },
    async entityOfAlias(namespaceId, mountUuid, name) {
      const mount = kernel().mounts.find(mountUuid)!;
      return identity.logins.entityOf({ namespaceId, mount, aliasName: name, metadata: {} });
    },
    missingPolicies: (namespaceId, names) => policies.missing(namespaceId, names),
    namespacePath: (namespaceId) => kernel().namespaces.find(namespaceId)?.path ?? '',
  };
}
