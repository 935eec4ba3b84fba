import { Refusal } from '@keystead/refusal';
import type { QuotaPort, QuotaRequest } from '../backends/sys/quotas';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { Quotas } from '../kernel/quotas/quotas';
import type { QuotaPlace } from '../kernel/quotas/types';

interface Parts {
  readonly quotas: Quotas;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

/** Administration of quotas: finds out what the path of one means. */
export function quotaPort({ quotas, mounts, namespaces }: Parts): QuotaPort {
  const place = ({ path, role, inheritable }: QuotaRequest): QuotaPlace => {
    const { namespace, path: rest } = namespaces.resolve('', path === '' ? '' : `${path.replace(/\/+$/, '')}/`);
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
    list: (kind) => quotas.list(kind),
    find: (kind, name) => quotas.find(kind, name),
    async put(request) {
      const where = { ...place(request), name: request.name, writtenPath: request.path };
      if (request.kind === 'lease-count') {
        await quotas.put({ ...where, kind: 'lease-count', maxLeases: request.maxLeases ?? 0 });
      } else {
        const { rate = 0, intervalSeconds = 1, blockSeconds = 0 } = request;
        await quotas.put({ ...where, kind: 'rate-limit', rate, intervalSeconds, blockSeconds });
      }
    },
    delete: (kind, name) => quotas.delete(kind, name),
  };
}
