import { useQuery } from '@tanstack/react-query';
import { useSession } from '../shell/session';

/**
 * Returns those of the paths that this session may read or list; some paths also need sudo. Pages check this first, to
 * avoid refused requests. Empty while loading.
 */
export function useReadable(
  paths: readonly string[],
  sudo: readonly string[] = [],
  how: 'read' | 'list' | 'scan' = 'read',
): ReadonlySet<string> {
  const allPaths = [...paths, ...sudo];
  const { transport, session } = useSession();
  const isRoot = session.policies?.includes('root') === true;
  const { data } = useQuery<readonly string[]>({
    queryKey: ['v1', 'readable', how, allPaths],
    staleTime: 30_000,
    enabled: !isRoot && allPaths.length > 0,
    queryFn: async () => {
      const { data } = await transport.call<{ data: Readonly<Record<string, readonly string[]>> }>(
        'POST',
        '/v1/sys/capabilities-self',
        { paths: allPaths },
      );
      return allPaths.filter((path) => {
        const has = new Set(data[path]);
        return has.has('root') || (has.has(how) && (has.has('sudo') || !sudo.includes(path)));
      });
    },
  });
  return new Set(isRoot ? allPaths : data);
}
