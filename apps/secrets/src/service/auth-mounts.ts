import type { AuthMounts } from '../kernel/mfa/enforcements';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';

/**
 * The auth mounts that enforcements can name: those of their namespace and, because enforcements also apply there,
 * those of child namespaces.
 */
export function authMounts(mounts: Mounts, namespaces: Namespaces): AuthMounts {
  const isAuth = ({ path }: { path: string }) => path.startsWith('auth/');
  return {
    hasAccessor(namespaceId, accessor) {
      const mount = mounts.findByAccessor(accessor);
      return mount !== undefined && isAuth(mount) && namespaces.within(namespaceId, mount.namespaceId);
    },
    hasType: (namespaceId, type) =>
      [...mounts.all()].some(
        (mount) => isAuth(mount) && mount.type === type && namespaces.within(namespaceId, mount.namespaceId),
      ),
  };
}
