import type { AuthorityPort, Holder } from '../backends/sys/authority';
import type { Identity } from '../kernel/identity/identity';
import type { IdentityView } from '../kernel/identity/types';
import type { Mfa } from '../kernel/mfa/mfa';
import type { TokenRecord } from '../kernel/tokens/types';
import type { Kernel } from '../pipeline/kernel';
import type { Verb } from '../sdk/call';

/** Looks at tokens from outside, for capabilities and explanations. */
export function authorityPort(
  kernel: () => Kernel,
  { identity, mfa }: { identity: Identity; mfa: Mfa },
  quotaInTheWay: AuthorityPort['quotaInTheWay'],
): AuthorityPort {
  const loginEnforcements = async ({ mountId, namespaceId }: TokenRecord, view: IdentityView | undefined) => {
    const mount = mountId === undefined ? undefined : kernel().mounts.find(mountId);
    if (!mount || !view) return [];
    const { accessor, type: mountType } = mount;
    const { entityId, groupIds } = view;
    const matching = await mfa.enforcements.matching({ namespaceId, accessor, mountType, entityId, groupIds });
    return matching.map(({ name }) => name);
  };
  const holder = async (record: TokenRecord | undefined): Promise<Holder | undefined> => {
    if (!record) return undefined;
    const view = record.entityId === undefined ? undefined : await identity.views.of(record.entityId);
    const access = await kernel().access.of({
      namespaceId: record.namespaceId,
      policies: record.policies,
      identity: view,
    });
    return {
      accessor: record.accessor,
      policies: [...new Set([...record.policies, ...(view?.policies ?? []).flatMap(({ names }) => names)])].sort(),
      usesLeft: record.usesLeft ?? 0,
      boundCidrs: record.boundCidrs,
      namespacePath: kernel().namespaces.find(record.namespaceId)?.path ?? '',
      entityInForce: record.entityId === undefined || (view !== undefined && !view.disabled),
      loginEnforcements: () => loginEnforcements(record, view),
      capabilities: (path) => access.capabilities(path),
      explain: (question) => access.explain(question),
    };
  };
  return {
    byToken: async (namespaceId, token) => holder(await kernel().tokens.findWithin(namespaceId, token)),
    byAccessor: async (namespaceId, accessor) => holder(await kernel().tokens.findByAccessor(namespaceId, accessor)),
    byHash: async (hash) => holder(await kernel().tokens.findByHash(Buffer.from(hash, 'hex'))),
    needsSudo(namespaceId, path, operation) {
      const verb = verbOf(operation);
      const resolved = kernel().mounts.resolve(namespaceId, path);
      const declared = resolved?.mount.tree.match(resolved.path, verb)?.path;
      return declared?.operations[verb]?.sudo ?? declared?.sudo ?? false;
    },
    quotaInTheWay,
  };
}

function verbOf(operation: string): Verb {
  if (operation === 'create' || operation === 'update') return 'write';
  return operation === 'scan' ? 'list' : (operation as Verb);
}
