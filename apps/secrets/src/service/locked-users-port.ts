import type { LockedUsersPort } from '../system/sys/locked-users';
import type { Modules } from './modules';

/** Locks of passwords, by the mounts they are locked at. */
export function lockedUsersPort({
  attempts,
  mounts,
  namespaces,
}: Pick<Modules, 'attempts' | 'mounts' | 'namespaces'>): LockedUsersPort {
  return {
    async list(namespaceId, accessor) {
      const own = namespaces.find(namespaceId)!;
      const all = accessor === undefined ? [own, ...namespaces.below(own)] : [own];
      const found = all.map((namespace) => ({
        namespace,
        mounts: mounts
          .list(namespace.uuid, 'auth')
          .filter((mount) => accessor === undefined || mount.accessor === accessor),
      }));
      const locks = await attempts.locked(found.flatMap((one) => one.mounts.map(({ uuid }) => uuid)));
      const shown = found.map(({ namespace, mounts: those }) => ({
        namespace,
        mounts: those.flatMap(({ uuid, accessor: its }) => {
          const lock = locks.get(uuid);
          return lock ? [{ accessor: its, ...lock }] : [];
        }),
      }));
      return shown.filter(({ namespace, mounts: locked }) => namespace === own || locked.length > 0);
    },
    async unlock(namespaceId, accessor, name) {
      const mount = mounts.list(namespaceId, 'auth').find((one) => one.accessor === accessor);
      if (!mount) return false;
      await attempts.forget({ kind: 'password', subject: `${mount.uuid}/${name}` });
      return true;
    },
  };
}
