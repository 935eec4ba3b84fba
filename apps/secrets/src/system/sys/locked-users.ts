import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { NamespaceView } from '../../sdk/call';
import { string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty } from '../../sdk/reply';

/** The locked names of one login method. */
export interface LockedMount {
  readonly accessor: string;
  /** All of them; `names` may be fewer. */
  readonly count: number;
  readonly names: readonly string[];
}

/** Names that too many wrong passwords have locked. */
export interface LockedUsersPort {
  /** By namespace, this one and those below it where something is locked; of one mount where an accessor is given. */
  list(
    namespaceId: string,
    accessor: string | undefined,
  ): Promise<
    readonly { readonly namespace: Pick<NamespaceView, 'id' | 'path'>; readonly mounts: readonly LockedMount[] }[]
  >;
  /** Ends a lock; false where the namespace has no login method of that accessor. */
  unlock(namespaceId: string, accessor: string, name: string): Promise<boolean>;
}

const most = <T extends { readonly counts: number }>(a: T, b: T): number => b.counts - a.counts;

/** `sys/locked-users`: who cannot log in for a while, and ending that sooner. */
export function lockedUserPaths(locked: LockedUsersPort) {
  return [
    path('locked-users', {
      summary: 'Names that too many wrong passwords have locked.',
      read: {
        summary: 'Read which names are locked, in this namespace and those below it.',
        operationId: 'locked-users-list',
        input: z.object({ mount_accessor: string().optional().describe('Only those of this login method.') }),
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
          const found = await locked.list(namespace.uuid, input.mount_accessor || undefined);
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
            warn('more names are locked than are listed: those locked last are');
          }
          return data({ by_namespace: shown.sort(most), total: shown.reduce((sum, { counts }) => sum + counts, 0) });
        },
      },
    }),
    path('locked-users/:mount_accessor/unlock/:alias_identifier', {
      summary: 'A name that may be locked.',
      params: { mount_accessor: 'segment', alias_identifier: 'segment' },
      folds: { alias_identifier: 'case' },
      paramDocs: { mount_accessor: 'Accessor of the login method.', alias_identifier: 'The name.' },
      write: {
        summary: 'Let a name try again at once. One that is not locked stays so.',
        operationId: 'locked-users-unlock',
        async run({ namespace, params }) {
          if (await locked.unlock(namespace.uuid, params.mount_accessor, params.alias_identifier)) return empty;
          throw new Refusal('invalid', `no login method has the accessor ${JSON.stringify(params.mount_accessor)}`);
        },
      },
    }),
  ];
}
