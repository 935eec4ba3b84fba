import { Refusal } from '@keystead/refusal';
import type { Identity } from '../kernel/identity/identity';
import type { IdentityPort } from '../pipeline/kernel';

/** Identity as the pipeline needs it. */
export function identityPort(identity: Identity): IdentityPort {
  return {
    find: (entityId) => identity.views.of(entityId),
    async login(namespaceId, mount, alias, groupAliases) {
      const entityId = await identity.logins.entityOf({
        namespaceId,
        mount,
        aliasName: alias.name,
        metadata: alias.metadata ?? {},
        groupAliases,
      });
      const view = await identity.views.of(entityId);
      if (!view || view.disabled) throw new Refusal('denied', 'permission denied');
      return view.entityId;
    },
  };
}
