import { useRead } from './reads';

/** A mount as this session may know of it. */
export interface Mount {
  /** With its slash; of auth methods below `auth/`. */
  readonly path: string;
  readonly type: string;
  readonly accessor: string;
  readonly description: string;
  readonly options: Readonly<Record<string, string>> | null;
}

interface MountList {
  readonly secret: Readonly<Record<string, Omit<Mount, 'path'>>>;
  readonly auth: Readonly<Record<string, Omit<Mount, 'path'>>>;
}

/** The mounts that this session may know of, by their paths. */
export function useMounts() {
  const { data, error, refetch } = useRead<MountList>('sys/internal/ui/mounts');
  const listed = (mounts: MountList['secret'] | undefined): readonly Mount[] =>
    Object.entries(mounts ?? {})
      .map(([path, mount]) => ({ ...mount, path }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { known: data !== undefined, error, refetch, secret: listed(data?.secret), auth: listed(data?.auth) };
}

/** Whether a mount can be browsed: people keep values in it. */
export const holdsValues = ({ type }: Pick<Mount, 'type'>): boolean => type === 'kv' || type === 'cubbyhole';

/** Whether a mount keeps versions. */
export const hasVersions = ({ type, options }: Mount): boolean => type === 'kv' && options?.version === '2';

/** What its kind is called. */
export const kindOf = (mount: Mount): string =>
  mount.type === 'kv' ? `kv version ${hasVersions(mount) ? 2 : 1}` : mount.type;

/** The mount that a path is in: the one with the longest path that it begins with. */
export function mountOf(mounts: readonly Mount[], at: string): Mount | undefined {
  return [...mounts].sort((a, b) => b.path.length - a.path.length).find(({ path }) => at.startsWith(path));
}
