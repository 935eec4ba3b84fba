import { useRead } from './reads';

/** A mount as this session may see it. */
export interface Mount {
  /** The path with a final slash; for auth methods, it starts with `auth/`. */
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

/** The mounts that this session may see, by path. */
export function useMounts() {
  const { data, error, refetch } = useRead<MountList>('sys/internal/ui/mounts');
  const listed = (mounts: MountList['secret'] | undefined): readonly Mount[] =>
    Object.entries(mounts ?? {})
      .map(([path, mount]) => ({ ...mount, path }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { known: data !== undefined, error, refetch, secret: listed(data?.secret), auth: listed(data?.auth) };
}

/** Whether a mount stores secrets, which the browser can show. */
export const holdsValues = ({ type }: Pick<Mount, 'type'>): boolean => type === 'kv' || type === 'cubbyhole';

/** Whether a mount stores versions. */
export const hasVersions = ({ type, options }: Mount): boolean => type === 'kv' && options?.version === '2';

/** The current names of mount types, by older names of the same types. */
export const usualNames: ReadonlyMap<string, string> = new Map([
  ['cloudone', 'azure'],
  ['cloudtwo', 'aws'],
  ['scheduler', 'nomad'],
]);

/** The name of the mount's type. */
export const kindOf = (mount: Mount): string =>
  mount.type === 'kv' ? `kv version ${hasVersions(mount) ? 2 : 1}` : (usualNames.get(mount.type) ?? mount.type);

/** The mount of a path: the one with the longest matching prefix. */
export function mountOf(mounts: readonly Mount[], at: string): Mount | undefined {
  return [...mounts].sort((a, b) => b.path.length - a.path.length).find(({ path }) => at.startsWith(path));
}
