import type { Identity } from '../kernel/identity/identity';
import type { IdentityView } from '../kernel/identity/types';
import type { Mfa } from '../kernel/mfa/mfa';
import type { Quotas } from '../kernel/quotas/quotas';
import type { TokenRecord } from '../kernel/tokens/types';
import type { Kernel } from '../pipeline/kernel';
import { askedOf, type Place } from '../pipeline/place';
import { SentPath } from '../pipeline/sent-path';
import type { Verb } from '../sdk/call';
import type { AuthorityPort, Holder } from '../system/sys/authority';

/** Looks at tokens from outside, for capabilities and explanations. */
export function authorityPort(
  kernel: () => Kernel,
  { identity, mfa }: { identity: Identity; mfa: Mfa },
  quotas: Quotas,
): AuthorityPort {
  const placeOf = (namespaceId: string, path: string, verb: Verb): Place => {
    const { namespaces, mounts } = kernel();
    return SentPath.ofField(path, 'path').locate(namespaces, mounts, verb, namespaces.find(namespaceId)?.path ?? '');
  };
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
      capabilities(namespaceId, text) {
        const { path, folding } = askedOf(placeOf(namespaceId, text, text.endsWith('/') ? 'list' : 'read'));
        return access.capabilities(path, folding);
      },
      explain: ({ namespaceId, path, ...question }) =>
        access.explain({ ...question, ...askedOf(placeOf(namespaceId, path, verbOf(question.operation))) }),
    };
  };
  return {
    byToken: async (namespaceId, token) => holder(await kernel().tokens.findWithin(namespaceId, token)),
    byAccessor: async (namespaceId, accessor) => holder(await kernel().tokens.findByAccessor(namespaceId, accessor)),
    byHash: async (hash) => holder(await kernel().tokens.findByHash(Buffer.from(hash, 'hex'))),
    needsSudo(namespaceId, path, operation) {
      const place = placeOf(namespaceId, path, verbOf(operation));
      return place.operation?.sudo ?? place.declared?.sudo ?? false;
    },
    quotaInTheWay(namespaceId, path, operation, address) {
      const { namespace, mount, path: at, folding } = placeOf(namespaceId, path, verbOf(operation));
      const question = { namespaceId: namespace.uuid, mountUuid: mount?.uuid, path: at, folding, address };
      const quota = quotas.refusing(question);
      if (!quota) return undefined;
      // Names of namespaces above are their own affair.
      return quota.ownerId === namespaceId
        ? `the rate limit ${JSON.stringify(quota.name)} is used up`
        : 'a rate limit of a namespace above is used up';
    },
  };
}

function verbOf(operation: string): Verb {
  if (operation === 'create' || operation === 'update') return 'write';
  return operation as Verb;
}
