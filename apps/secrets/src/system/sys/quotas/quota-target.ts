import { Refusal } from '@keystead/refusal';
import type { Mounts } from '../../../kernel/mounts/mounts';
import type { Namespaces } from '../../../kernel/namespaces/namespaces';
import type { QuotaTarget } from '../../../kernel/quotas/types';
import { pathProblem } from '../../../sdk/path-text';

/** A requested quota: its path is relative to its namespace. */
export interface WrittenQuota {
  readonly path: string;
  readonly role: string;
  readonly inheritable: boolean;
}

/** The target of a quota's path. Throws `invalid` if the path has no target. */
export function quotaTarget(
  { mounts, namespaces }: { readonly mounts: Mounts; readonly namespaces: Namespaces },
  ownerId: string,
  { path, role, inheritable }: WrittenQuota,
): QuotaTarget {
  const owner = namespaces.find(ownerId)!.path;
  // No request could have such a path, so nothing would ever be counted.
  if (pathProblem(path) !== undefined) throw new Refusal('invalid', `invalid path ${JSON.stringify(path)}`);
  const { namespace, path: rest } = namespaces.resolve(owner, path === '' || path.endsWith('/') ? path : `${path}/`);
  const below = rest.replace(/\/$/, '');
  if (below === '') return { namespaceId: namespace.uuid, inheritable, path: '', role };
  const found = mounts.resolve(namespace.uuid, `${below}/`);
  if (!found) throw new Refusal('invalid', `invalid mount path ${JSON.stringify(path)}`);
  if (inheritable) throw new Refusal('invalid', "'inheritable' cannot be true if the path is not that of a namespace");
  const { mount } = found;
  return {
    namespaceId: namespace.uuid,
    inheritable: false,
    mountId: mount.uuid,
    path: found.path.replace(/\/$/, ''),
    role,
  };
}
