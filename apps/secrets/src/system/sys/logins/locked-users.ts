import { z } from 'zod';
import type { Attempts } from '../../../kernel/attempts/attempts';
import type { Mounts } from '../../../kernel/mounts/mounts';
import type { Namespace, Namespaces } from '../../../kernel/namespaces/namespaces';
import { string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';

/** The locked names of one mount. */
interface LockedMount {
  readonly accessor: string;
  /** The number of all locked names; `names` may contain fewer. */
  readonly count: number;
  readonly names: readonly string[];
}

/** The kernel's modules for locked users. */
export interface LockedUsersDeps {
  readonly attempts: Attempts;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

/**
 * Locked users of this namespace and the namespaces below it, by namespace. With an accessor: only those of its mount.
 */
async function listLocked(
  { attempts, mounts, namespaces }: LockedUsersDeps,
  namespaceId: string,
  accessor: string | undefined,
): Promise<{ namespace: Namespace; mounts: LockedMount[] }[]> {
  const own = namespaces.find(namespaceId)!;
  const all = accessor === undefined ? [own, ...namespaces.below(own)] : [own];
  const found = all.map((namespace) => ({
    namespace,
    mounts: mounts.list(namespace.uuid).filter((mount) => accessor === undefined || mount.accessor === accessor),
  }));
  const locks = await attempts.locked(found.flatMap((one) => one.mounts.map(({ uuid }) => uuid)));
  const shown = found.map(({ namespace, mounts: listed }) => ({
    namespace,
    mounts: listed.flatMap(({ uuid, accessor: its }) => {
      const lock = locks.get(uuid);
      return lock ? [{ accessor: its, ...lock }] : [];
    }),
  }));
  return shown.filter(({ namespace, mounts: locked }) => namespace === own || locked.length > 0);
}

/** Ends a lock. Returns false if the namespace has no mount with this accessor. */
async function unlock(
  { attempts, mounts }: LockedUsersDeps,
  namespaceId: string,
  accessor: string,
  name: string,
): Promise<boolean> {
  const mount = mounts.list(namespaceId).find((one) => one.accessor === accessor);
  if (!mount) return false;
  await attempts.forget({ kind: 'password', subject: `${mount.uuid}/${name}` });
  return true;
}

const most = <T extends { readonly counts: number }>(a: T, b: T): number => b.counts - a.counts;

/** `sys/locked-users`: listing and unlocking locked users. */
export function lockedUserPaths(deps: LockedUsersDeps) {
  return [
    path('locked-users', {
      summary: 'Users locked after too many wrong passwords or codes.',
      read: {
        summary: 'List the locked users of this namespace and those below it.',
        operationId: 'locked-users-list',
        input: z.object({
          mount_accessor: string().optional().describe('Only users of the mount with this accessor.'),
        }),
        output: z.object({
          by_namespace: z.array(
            z.object({
              namespace_id: z.string(),
              namespace_path: z.string(),
              counts: z.int(),
              mount_accessors: z.array(
                z.object({ mount_accessor: z.string(), counts: z.int(), alias_identifiers: z.array(z.string()) }),
              ),
            }),
          ),
          total: z.int(),
        }),
        async run({ namespace, input, warn }) {
          const found = await listLocked(deps, namespace.uuid, input.mount_accessor || undefined);
          const shown = found.map(({ namespace: { id, path: at }, mounts }) => ({
            namespace_id: id,
            namespace_path: at,
            counts: mounts.reduce((sum, { count }) => sum + count, 0),
            mount_accessors: mounts
              .map(({ accessor, count, names }) => ({
                mount_accessor: accessor,
                counts: count,
                alias_identifiers: names,
              }))
              .sort(most),
          }));
          const all = found.flatMap(({ mounts }) => mounts);
          if (all.some(({ count, names }) => names.length < count)) {
            warn('more users are locked than are listed; these were locked most recently');
          }
          return data({ by_namespace: shown.sort(most), total: shown.reduce((sum, { counts }) => sum + counts, 0) });
        },
      },
    }),
    path('locked-users/:mount_accessor/unlock/:alias_identifier', {
      summary: 'A user who may be locked.',
      params: { mount_accessor: 'segment', alias_identifier: 'segment' },
      folds: { alias_identifier: 'case' },
      paramDocs: { mount_accessor: 'Accessor of the mount.', alias_identifier: 'The name.' },
      write: {
        summary: 'Unlock a user. Also succeeds if the user is not locked.',
        operationId: 'locked-users-unlock',
        async run({ namespace, params: { mount_accessor: accessor, alias_identifier: name }, warn }) {
          const isKnown = await unlock(deps, namespace.uuid, accessor, name);
          if (!isKnown) warn(`no mount of this namespace has the accessor ${JSON.stringify(accessor)}`);
          return empty;
        },
      },
    }),
  ];
}
