import { Refusal } from '@keystead/refusal';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { Quotas } from '../kernel/quotas/quotas';
import type { QuotaPlace } from '../kernel/quotas/types';
import { pathProblem } from '../sdk/path-text';
import type { QuotaPort, QuotaRequest } from '../system/sys/quotas';

interface Parts {
  readonly quotas: Quotas;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

/** Administration of quotas: finds out what the path of one means, which leads down from where it is written. */
export function quotaPort({ quotas, mounts, namespaces }: Parts): QuotaPort {
  const place = (ownerId: string, { path, role, inheritable }: QuotaRequest): QuotaPlace => {
    const owner = namespaces.find(ownerId)!.path;
    // No request could have such a path, so nothing would ever be counted.
    if (pathProblem(path) !== undefined) throw new Refusal('invalid', `invalid path ${JSON.stringify(path)}`);
    const { namespace, path: rest } = namespaces.resolve(owner, path === '' || path.endsWith('/') ? path : `${path}/`);
    const below = rest.replace(/\/$/, '');
    if (below === '') return { namespaceId: namespace.uuid, inheritable, path: '', role };
    const found = mounts.resolve(namespace.uuid, `${below}/`);
    if (!found) throw new Refusal('invalid', `invalid mount path ${JSON.stringify(path)}`);
    const { mount } = found;
    return {
      namespaceId: namespace.uuid,
      inheritable: false,
      mountId: mount.uuid,
      path: found.path.replace(/\/$/, ''),
      role,
    };
  };
  return {
    list: (ownerId, kind) => quotas.list(ownerId, kind),
    find: (ownerId, kind, name) => quotas.find(ownerId, kind, name),
    async put(ownerId, request) {
      const where = { ...place(ownerId, request), ownerId, name: request.name, writtenPath: request.path };
      if (request.kind === 'lease-count') {
        await quotas.put({ ...where, kind: 'lease-count', maxLeases: request.maxLeases ?? 0 });
      } else {
        const { rate = 0, intervalSeconds = 1, blockSeconds = 0 } = request;
        await quotas.put({ ...where, kind: 'rate-limit', rate, intervalSeconds, blockSeconds });
      }
    },
    delete: (ownerId, kind, name) => quotas.delete(ownerId, kind, name),
  };
}
